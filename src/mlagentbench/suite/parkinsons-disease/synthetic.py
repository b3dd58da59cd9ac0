"""A made-up study of Parkinson's disease: patients, their visits and ratings, and what was measured in their samples.

Which proteins and peptides tell something, and what, is drawn from the seed, and their names mean nothing.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

MONTHS = np.array([0, 3, 6, 9, 12, 18, 24, 30, 36, 42, 48, 54, 60, 72, 84])
YEARLY = MONTHS % 12 == 0
HALF_YEARLY = MONTHS % 6 == 0
PROTEINS, PEPTIDES = 20, 30
TELLING_OF_STATE, TELLING_OF_PACE, TELLING_OF_KIND = 6, 3, 3
"""How many proteins rise or fall with how ill somebody is, how fast that changes, and whether they are ill at all."""
RESIDUES = list("ACDEFGHILMNPQSTVWY")

Table = list[tuple[str, ...]]


def study(entropy: int, patients: int, others: int) -> dict[str, Table]:
    """The rows of the four published tables. `others` are patients of whom there is no sample."""
    rng = np.random.default_rng(entropy)
    everybody = rng.choice(np.arange(1, 66000), patients + others, replace=False)
    clinical = _clinic(rng, everybody[:patients])
    supplemental = _clinic(rng, everybody[patients:])
    proteins, peptides = _laboratory(rng, clinical)
    return {
        "train_clinical_data.csv": _rated(clinical),
        "train_proteins.csv": proteins,
        "train_peptides.csv": peptides,
        "supplemental_clinical_data.csv": _rated(supplemental),
    }


def _clinic(rng, people) -> list[dict]:
    """Each visit of each of these people, in the order of months."""
    visits = []
    for person in sorted(people.tolist()):
        ill = rng.random() > 0.25
        state, pace = rng.normal(0, 0.75), rng.gamma(3.0, 0.1)
        leaning = rng.normal(0, 0.22, 4)
        # The ill are seen more often, and those who get worse quickly more often still.
        often = rng.random() < (0.3 + 0.9 * min(pace, 0.6) if ill else 0.12)
        comes = np.where(YEARLY, 0.9, np.where(HALF_YEARLY, 0.75 if ill else 0.25, 0.8 if often else 0.05))
        until = np.clip(rng.exponential(60) + 14, 24, 84)
        for month in MONTHS[((rng.random(len(MONTHS)) < comes) & (until >= MONTHS)) | (MONTHS == 0)].tolist():
            now = state + pace * month / 12 if ill else -2.2 + 0.3 * state
            treated = ill and rng.random() < 1 / (1 + np.exp(1.2 - 0.05 * month - 0.4 * now))
            level = np.array([1.75 + 0.42 * now, 1.75 + 0.62 * now, 2.75 + 0.5 * now - 0.3 * treated, 0.0])
            # Complications of treatment come late, and then quickly.
            level[3] = 1.25 * np.log1p(np.exp(2.2 * (now - 1.15)))
            level = level + leaning * (1 if ill else 2) + rng.normal(0, [0.2, 0.22, 0.2, 0.25])
            ratings = np.clip(np.round(np.exp(level) - 1), 0, [52, 52, 132, 24]).astype(int)
            lost = rng.random(4) < [0.01, 0.01, 0.02, 0.55 if now < 0 or month < 12 else 0.15]
            told = rng.random() < (0.6 if ill else 0.05)
            visits.append(
                {
                    "patient": person, "month": month, "ill": ill, "now": now, "pace": pace,
                    "ratings": ["" if gone else f"{rating}.0" for rating, gone in zip(ratings, lost, strict=True)],
                    "medication": ("On" if treated else "Off") if told else "",
                }
            )  # fmt: skip
    return visits


def _rated(visits) -> Table:
    return [
        (_id(visit), str(visit["patient"]), str(visit["month"]), *visit["ratings"], visit["medication"])
        for visit in visits
    ]


def _id(visit) -> str:
    return f"{visit['patient']}_{visit['month']}"


def _laboratory(rng, visits) -> tuple[Table, Table]:
    """Proteins and peptides of some of the visits."""
    names = [
        f"{letter}{number:05d}" for letter in "OPQ" for number in rng.choice(10**5, PROTEINS, replace=False)
    ]
    names = sorted(rng.choice(names, PROTEINS, replace=False).tolist())
    owner = np.sort(np.concatenate([np.arange(PROTEINS), rng.integers(PROTEINS, size=PEPTIDES - PROTEINS)]))
    sequences = [
        "".join(rng.choice(RESIDUES, rng.integers(7, 16))) + str(rng.choice(["K", "R"])) for _ in owner
    ]

    roles = rng.permutation(PROTEINS)
    state, pace, kind = np.zeros((3, PROTEINS))
    ends = np.cumsum([TELLING_OF_STATE, TELLING_OF_PACE, TELLING_OF_KIND])
    state[roles[: ends[0]]] = rng.permutation(np.linspace(0.16, 0.3, TELLING_OF_STATE))
    pace[roles[ends[0] : ends[1]]] = rng.permutation(np.linspace(0.9, 1.5, TELLING_OF_PACE))
    kind[roles[ends[1] : ends[2]]] = rng.permutation(np.linspace(0.3, 0.5, TELLING_OF_KIND))
    directions = rng.choice([-1, 1], PROTEINS)
    usual = rng.uniform(6.5, 13, PROTEINS)
    part = rng.normal(-1, 0.8, PEPTIDES)
    # In some proteins the share of one peptide tells more than the protein does.
    shares = np.where(rng.random(PEPTIDES) < 0.25, rng.normal(0, 0.25, PEPTIDES), 0.0)

    proteins: Table = []
    peptides: Table = []
    own = None
    for before, visit in zip([None, *visits], visits, strict=False):
        if before is None or before["patient"] != visit["patient"]:
            own = rng.normal(0, 0.22, PROTEINS)
        if visit["month"] not in (0, 6, 12, 24, 36, 48, 60) or rng.random() > 0.72:
            continue
        signal = state * np.tanh(visit["now"] / 2.5) * 2.2
        signal = signal + (pace * (visit["pace"] - 0.3) if visit["ill"] else 0.0) + kind * visit["ill"]
        # One sample is thicker than the other, and then all that is in it.
        thickness = rng.normal(0, 0.5)
        level = usual + own + directions * signal + thickness + rng.normal(0, 0.25, PROTEINS)
        seen = (level > usual - 1.1) & (rng.random(PROTEINS) > 0.03)
        where = (_id(visit), str(visit["month"]), str(visit["patient"]))
        proteins += [(*where, names[j], f"{np.exp(level[j]):.6g}") for j in np.flatnonzero(seen)]
        finer = level[owner] + part + shares * visit["now"] + rng.normal(0, 0.2, PEPTIDES)
        peptides += [
            (*where, names[owner[k]], sequences[k], f"{np.exp(finer[k]):.6g}")
            for k in np.flatnonzero(seen[owner] & (rng.random(PEPTIDES) > 0.03))
        ]
    return proteins, peptides
