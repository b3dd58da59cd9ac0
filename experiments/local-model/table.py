"""Prints the table of docs/local-model.md from the packed runs beside this file.

A submission counts as the model's own when the script that wrote it differs from the starter's, and the submission too.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from mlagentbench import load_task, unpack
from mlagentbench import run as run_agent
from mlagentbench.record.events import ModelCalled, RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.summary import read_summary
from mlagentbench.workspace import find

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    cells: tuple[str, ...]
    order: tuple[str, str, int]


def hash_of(folder: RunFolder, snapshot: str, name: str) -> str:
    entry = find(folder.store(), snapshot, name)
    return entry.hash if entry else ""


def own(folder: RunFolder, starters: Path) -> bool:
    """Whether what was graded was made by code that the model changed, and is not what the starter makes."""
    request = folder.request()
    definition = load_task(request.task.partition("@")[0]).definition
    events = folder.history().events
    (begin,) = (event.snapshot for event in events if isinstance(event, RunStarted))
    (end,) = (event.snapshot for event in events if isinstance(event, RunEnded))
    made = hash_of(folder, end, definition.submission)
    if definition.program is not None:
        return bool(made) and made != hash_of(folder, begin, definition.submission)
    writing = [
        step
        for step in events
        if isinstance(step, StepTaken)
        and any(change.path == definition.submission for change in step.changes)
    ]
    if not writing:
        return False
    script = str(writing[-1].action.args.get("script_name", definition.entry))
    changed = hash_of(folder, writing[-1].snapshot, script) != hash_of(folder, begin, definition.entry)
    starter = RunFolder.open(run_agent(definition.name, "starter", seed=request.seed, runs=starters).folder)
    (submitted,) = (event.snapshot for event in starter.history().events if isinstance(event, RunEnded))
    return changed and made != hash_of(starter, submitted, definition.submission)


def row(folder: RunFolder, starters: Path) -> Row:
    request, summary = folder.request(), read_summary(folder)
    events = folder.history().events
    steps = [event for event in events if isinstance(event, StepTaken)]
    runs = [step for step in steps if step.action.name == "Execute Script"]
    entry = load_task(request.task.partition("@")[0]).definition.entry
    edits = [
        step
        for step in steps
        if step.action.name.startswith("Edit Script")
        or (step.action.name == "Write File" and step.action.args["file_name"] == entry)
    ]
    calls = [event for event in events if isinstance(event, ModelCalled) and event.role == "act"]
    refused = len(calls) - sum(step.action.name != "No Action" for step in steps)
    grade = summary.grade
    assert grade is not None
    improvement = "" if grade.improvement is None else f"{grade.improvement:+.1%}"
    cells = (
        request.task.partition("@")[0],
        request.agent,
        str(request.seed),
        str(len(steps)),
        summary.ended,
        "yes" if grade.valid else "no",
        "yes" if grade.valid and own(folder, starters) else "no",
        improvement,
        "yes" if grade.success else "no",
        f"{sum(step.observation.ok for step in edits)}/{len(edits)}",
        f"{sum(step.observation.ok for step in runs)}/{len(runs)}",
        str(max(0, refused)) if calls else "",
        f"{summary.tokens_in:,} / {summary.tokens_out:,}",
        f"{summary.elapsed / 60:.0f}",
    )
    return Row(cells, (cells[0], cells[1], request.seed))


HEADERS = (
    *("task", "agent", "seed", "steps", "ended", "valid", "its own", "improvement", "success"),
    *("edits saved", "scripts that ran", "replies refused", "tokens in / out", "minutes"),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        starters = Path(place) / "starters"
        rows = [
            row(RunFolder.open(unpack(file, Path(place) / "runs")), starters)
            for file in sorted(HERE.glob("*.tar.gz"))
        ]
    print(f"| {' | '.join(HEADERS)} |\n|{'---|' * len(HEADERS)}")
    for each in sorted(rows, key=lambda row: row.order):
        print(f"| {' | '.join(each.cells)} |")


if __name__ == "__main__":
    main()
