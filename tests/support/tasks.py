"""Task folders for tests."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

import mlagentbench
from mlagentbench import new_task

_TEMPLATE = Path(mlagentbench.__file__).parent / "task" / "template"


def shared_task(folder: Path) -> Path:
    """What `new-task ball` makes, made once for as long as the template stays as it is."""
    content = hashlib.sha256()
    for file in sorted(path for path in _TEMPLATE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        content.update(file.read_bytes())
    place = folder / content.hexdigest()[:12]
    if not place.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            new_task("ball", Path(aside) / "made")
            try:
                (Path(aside) / "made").rename(place)
            except OSError:
                assert place.is_dir()
    return place / "ball"


def original_task(
    folder: Path, *, starter: str, grader: str, files: dict[str, str] | None = None, additions: str = ""
) -> Path:
    """A folder in the original's layout: `env/` and `scripts/`, with `eval.py`. Beside them it is said that its code
    needs no library, because installing the usual ones takes a while."""
    (folder / "env").mkdir(parents=True)
    (folder / "scripts").mkdir()
    (folder / "env" / "train.py").write_text(starter)
    (folder / "env" / "data.csv").write_text("id,y\n" + "".join(f"{i},{i * 3 % 7}\n" for i in range(20)))
    (folder / "scripts" / "research_problem.txt").write_text("Improve train.py; it writes submission.csv.")
    (folder / "scripts" / "read_only_files.txt").write_text("./data.csv\n")
    (folder / "scripts" / "eval.py").write_text(grader)
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "mlagentbench.toml").write_text(f"requirements = []\n{additions}")
    return folder


def replace_in(file: Path, old: str, new: str) -> None:
    """Change a task's file; that the old text is there is part of the test."""
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{file} has changed: {old!r} is not in it"
    file.write_text(text.replace(old, new), encoding="utf-8")


def without_folder(task: Path, name: str) -> None:
    shutil.rmtree(task / name)
