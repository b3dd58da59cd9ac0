"""`report`: read the runs once, say what they came to, and write it in every format."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.reporting.answers import answers
from mlagentbench.reporting.competence import competence
from mlagentbench.reporting.conduct import conduct
from mlagentbench.reporting.context import context
from mlagentbench.reporting.courses import courses
from mlagentbench.reporting.efficiency import efficiency
from mlagentbench.reporting.model import Chapter, Document, Section
from mlagentbench.reporting.reading import Gathered, gather
from mlagentbench.reporting.rows import Rows
from mlagentbench.reporting.setting import setting, span_of
from mlagentbench.reporting.tally import Field
from mlagentbench.reporting.wording import counted
from mlagentbench.reporting.writing import take_place, write_document

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Written:
    """Where what lies."""

    folder: Path
    page: Path
    files: tuple[Path, ...]
    """All of them."""
    runs: int
    left_out: tuple[str, ...]
    missing: tuple[str, ...]
    """What could not be written, and what to install for it."""


def report(
    *places: str | Path,
    output: str | Path = "report",
    folder: str | Path = "runs",
    title: str = "MLAgentBench report",
    progress: Progress = lambda line: None,
) -> Written:
    """A report of all runs in `places`: folders of runs, experiments in `folder`, or agents with runs in it.

    >>> import mlagentbench
    >>> mlagentbench.report("runs/demo", output="report").page                                 # doctest: +SKIP
    PosixPath('report/index.html')
    """
    target = Path(output)
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; give a folder to write the report into.")
    if (target / "run.json").exists():
        raise UsageError(f"{target} is a run's own folder; give another one to write the report into.")
    new = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".report-", dir=target) as aside:
            found, missing = _write(Path(aside), target, places or (folder,), Path(folder), title, progress)
            files = take_place(Path(aside), target)
    finally:
        if new and not any(target.iterdir()):
            target.rmdir()
    return Written(
        folder=target,
        page=target / "index.html",
        files=tuple(files),
        runs=len(found.runs),
        left_out=tuple(found.left_out),
        missing=tuple(missing),
    )


def _write(
    aside: Path, target: Path, places: Sequence[str | Path], folder: Path, title: str, progress: Progress
) -> tuple[Gathered, list[str]]:
    """Everything, into a folder from which it is moved to its place; and what could not be written."""
    rows = Rows(aside)
    try:
        found = gather(places, folder, rows.take, progress)
    finally:
        tables = rows.close()
    progress("writing")
    return found, write_document(make_document(found, title), found.runs, tables, aside, target)


def make_document(found: Gathered, title: str) -> Document:
    """What the report says."""
    variants = sorted({run.summary.variant for run in found.runs})
    chapters = []
    for variant in variants:
        field = Field(variant, [run for run in found.runs if run.summary.variant == variant])
        sections = (*competence(field), *courses(field), efficiency(field), *conduct(field), context(field))
        chapters.append(
            Chapter(
                variant,
                tuple(each.who for each in field.agents),
                answers(field),
                _told_apart(sections, variant, len(variants) > 1),
            )
        )
    agents = sorted({run.who for run in found.runs})
    tasks = {run.summary.task for run in found.runs}
    lead = (
        f"{counted(len(found.runs), 'run')} of {counted(len(agents), 'agent')} on {counted(len(tasks), 'task')}, "
        f"variant {' and '.join(variants)}, begun {span_of(found.runs)}."
    )
    return Document(title, lead, tuple(chapters), tuple(setting(found)))


def _told_apart(sections: Sequence[Section], variant: str, several: bool) -> tuple[Section, ...]:
    """Of several variants, figures and tables have the variant in their names."""
    if not several:
        return tuple(sections)
    name = "".join(each if each.isalnum() else "-" for each in variant)
    return tuple(
        replace(
            section,
            parts=tuple(
                replace(part, key=f"{name}-{part.key}", title=f"{part.title} ({variant})")
                for part in section.parts
            ),
        )
        for section in sections
    )
