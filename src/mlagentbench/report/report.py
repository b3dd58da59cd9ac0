"""`report`: read the runs once, and write everything into one folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.report.answers import answers
from mlagentbench.report.cards import A_PAGE, ON_PAGE
from mlagentbench.report.competence import competence
from mlagentbench.report.conduct import conduct
from mlagentbench.report.context import context
from mlagentbench.report.courses import courses
from mlagentbench.report.efficiency import efficiency
from mlagentbench.report.model import Chapter, Document, Section
from mlagentbench.report.page import WIDE, cards_page, page, page_name, tallies_of
from mlagentbench.report.plain import latex, markdown
from mlagentbench.report.png import as_png, check_png
from mlagentbench.report.reading import Gathered, gather
from mlagentbench.report.rows import Rows
from mlagentbench.report.setting import setting, span_of
from mlagentbench.report.svg import as_file
from mlagentbench.report.tally import Field
from mlagentbench.report.wording import counted

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
    target.mkdir(parents=True, exist_ok=True)
    _clear(target)
    rows = Rows(target)
    try:
        found = gather(places or (folder,), Path(folder), rows.take, progress)
    finally:
        files = rows.close()
    progress("writing")
    document = replace(make_document(found, title), links=files)
    return _write(document, found, target)


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


def _write(document: Document, found: Gathered, target: Path) -> Written:
    files = [target / name for name in document.links]
    missing = []
    pictures = True
    try:
        check_png()
    except UsageError as error:
        pictures = False
        missing.append(str(error))
    if not (target / "runs.parquet").exists():
        missing.append("Parquet needs pyarrow: pip install 'mlagentbench[report]'.")
    (target / "figures").mkdir(exist_ok=True)
    for figure in document.figures():
        picture = figure.draw(WIDE)
        files.append(_put(target / "figures" / f"{figure.key}.svg", as_file(picture).encode()))
        if pictures:
            files.append(_put(target / "figures" / f"{figure.key}.png", as_png(picture)))
    (target / "latex").mkdir(exist_ok=True)
    for table in document.tables():
        files.append(_put(target / "latex" / f"{table.key}.tex", latex(table).encode()))
    files.append(_put(target / "report.md", markdown(document).encode()))
    links = document.links | {
        "report.md": "this page as Markdown",
        "latex/": "its tables for LaTeX, with booktabs",
        "figures/": f"its figures as SVG{' and PNG' if pictures else ''}",
    }
    whole = replace(document, links=links)
    chunks = [found.runs[start : start + A_PAGE] for start in range(0, len(found.runs), A_PAGE)]
    names = [page_name(number) for number in range(1, len(chunks) + 1)] if len(found.runs) > ON_PAGE else []
    tallies = tallies_of(found.runs)
    for number, name in enumerate(names, start=1):
        with (target / name).open("w", encoding="utf-8", newline="\n") as stream:
            page_of = chunks[number - 1]
            stream.writelines(cards_page(document.title, page_of, target, number, len(names), tallies))
        files.append(target / name)
    index = target / "index.html"
    with index.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(page(whole, found.runs, target, names))
    return Written(
        folder=target,
        page=index,
        files=(index, *sorted(files)),
        runs=len(found.runs),
        left_out=tuple(found.left_out),
        missing=tuple(missing),
    )


def _put(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    return file


def _clear(target: Path) -> None:
    """What an earlier report left there, and nothing else."""
    tables = [f"{name}.{kind}" for name in ("runs", "steps", "claims") for kind in ("csv", "parquet")]
    drawn = ("figures/*.svg", "figures/*.png", "latex/*.tex")
    for pattern in ("index.html", "report.md", "runs-[0-9][0-9][0-9].html", *tables, *drawn):
        for file in target.glob(pattern):
            file.unlink()
