"""A small task whose submission is a program with weights, which the grader runs."""

from __future__ import annotations

from pathlib import Path

TASK = """
name = "guess"
title = "Guess numbers"
modality = "numbers"
submission = "model.py"
entry = "train.py"
requirements = []
metric = { name = "share right", goal = "maximize", ceiling = 1.0 }
program = { time = "1m", control = "weights.txt" }
variants = { mini = { description = "Ten numbers." } }
"""
PREPARE = """
import json
def prepare(variant, public, private, seed):
    (public / "seen.json").write_text(json.dumps([1, 2]))
    (private / "inputs").mkdir()
    (private / "inputs" / "numbers.json").write_text(json.dumps(list(range(10))))
"""
INFER = """
import json, sys
from pathlib import Path
sys.path.insert(0, ".")
from model import predict
numbers = json.loads((Path(sys.argv[1]) / "numbers.json").read_text())
weight = float(Path("weights.txt").read_text())
(Path(sys.argv[2]) / "out.json").write_text(json.dumps([predict(number, weight) for number in numbers]))
"""
GRADE = """
import json
from mlagentbench.errors import SubmissionRefusedError

def control(artefact, changed):
    try:
        changed.write_text(str(float(artefact.read_text()) + 100))
    except ValueError:
        raise SubmissionRefusedError("weights.txt holds no number.")

def share(folder):
    found = json.loads((folder / "out.json").read_text())
    return sum(value == 3 * number for number, value in enumerate(found)) / 10

def grade(submission, private, control):
    verdict = {"score": share(submission), "notes": [f"with other weights {share(control)}"]}
    if share(control) > 0.5:
        verdict["withheld"] = "The weights do not matter."
    return verdict
"""
LEARNED = "def predict(number, weight): return number * weight\n"
COMPUTED = "def predict(number, weight): return number * 3\n"
TRAIN = "open('weights.txt', 'w').write('2')\nprint('validation share: 0.1')\n"
WELL = TRAIN.replace("'2'", "'3'")


def program_task(folder: Path) -> Path:
    """Write it into `folder`."""
    (folder / "starter").mkdir(parents=True)
    files = {
        "task.toml": TASK,
        "prepare.py": PREPARE,
        "infer.py": INFER,
        "grade.py": GRADE,
        "problem.md": "Edit model.py.",
        "starter/model.py": LEARNED,
        "starter/train.py": TRAIN,
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder
