"""A tiny study in the form of the competition's four files."""

from __future__ import annotations

import random
from pathlib import Path

CLINICAL = (
    "visit_id,patient_id,visit_month,updrs_1,updrs_2,updrs_3,updrs_4,upd23b_clinical_state_on_medication"
)
PROTEINS = "visit_id,visit_month,patient_id,UniProt,NPX"
PEPTIDES = "visit_id,visit_month,patient_id,UniProt,Peptide,PeptideAbundance"
PATIENTS, OTHERS, MONTHS = 40, 15, (0, 3, 6, 12, 24)
FILES = (
    "train_clinical_data.csv",
    "train_proteins.csv",
    "train_peptides.csv",
    "supplemental_clinical_data.csv",
)
SIZES = {
    "FULL_PATIENTS": PATIENTS,
    "FULL_ROWS": {
        "train_clinical_data.csv": PATIENTS * len(MONTHS),
        "supplemental_clinical_data.csv": OTHERS * len(MONTHS),
        "train_proteins.csv": PATIENTS * 2 * 3,
        "train_peptides.csv": PATIENTS * 2 * 3 * 2,
    },
}
"""What prepare.py must take for the published sizes."""


def publish(folder: Path) -> Path:
    """`folder`, which afterwards holds what the competition has."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    everybody = rng.sample(range(1, 65000), PATIENTS + OTHERS)
    write(folder / "train_clinical_data.csv", CLINICAL, rated(rng, everybody[:PATIENTS]))
    write(folder / "supplemental_clinical_data.csv", CLINICAL, rated(rng, everybody[PATIENTS:]))
    sampled = [
        (f"{patient}_{month}", month, patient) for patient in everybody[:PATIENTS] for month in (0, 12)
    ]
    proteins = [(*visit, name) for visit in sampled for name in ("O00391", "O00533", "Q9Y6R7")]
    peptides = [(*protein, sequence) for protein in proteins for sequence in ("NEQEQPLGQWHLS", "GNPEPTFSWTK")]
    for file, header, names in (("proteins", PROTEINS, proteins), ("peptides", PEPTIDES, peptides)):
        measured = [",".join(map(str, (*name, rng.choice([11254.3, 732430.0, 39585.8])))) for name in names]
        write(folder / f"train_{file}.csv", header, measured)
    return folder


def rated(rng: random.Random, patients: list[int]) -> list[str]:
    lines = []
    for patient in patients:
        for month in MONTHS:
            ratings = [rng.choice([f"{rng.randrange(40)}.0", ""]) for _ in range(4)]
            state = rng.choice(["On", "Off", ""])
            lines.append(",".join([f"{patient}_{month}", str(patient), str(month), *ratings, state]))
    return lines


def write(file: Path, header: str, lines: list[str]) -> None:
    file.write_text("\n".join([header, *lines]) + "\n")
