"""What a report says, as files. They are written aside; an earlier report stays whole until the new one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.reporting.cards import A_PAGE, ON_PAGE
from mlagentbench.reporting.model import Document
from mlagentbench.reporting.page import WIDE, cards_page, page, page_name, tallies_of
from mlagentbench.reporting.plain import latex, markdown
from mlagentbench.reporting.png import as_png, check_png
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.svg import as_file

_TABLES = tuple(f"{name}.{kind}" for name in ("runs", "steps", "claims") for kind in ("csv", "parquet"))
_OURS = (
    "index.html", "report.md", "runs-[0-9][0-9][0-9].html", *_TABLES,
    "figures/*.svg", "figures/*.png", "latex/*.tex",
)  # fmt: skip
"""All that a report can consist of."""


def write_document(
    document: Document, runs: Sequence[Seen], tables: dict[str, str], aside: Path, target: Path
) -> list[str]:
    """Everything but the tables of rows, which are there already; and what is missing, with what to install for it."""
    missing = []
    if "runs.parquet" not in tables:
        missing.append("Parquet needs pyarrow: pip install 'mlagentbench[report]'.")
    pictures = True
    try:
        check_png()
    except UsageError as error:
        pictures = False
        missing.append(str(error))
    _figures(document, aside / "figures", pictures)
    (aside / "latex").mkdir()
    for table in document.tables():
        (aside / "latex" / f"{table.key}.tex").write_bytes(latex(table).encode())
    (aside / "report.md").write_bytes(markdown(document).encode())
    links = tables | {
        "report.md": "this page as Markdown",
        "latex/": "its tables for LaTeX, with booktabs",
        "figures/": f"its figures as SVG{' and PNG' if pictures else ''}",
    }
    _pages(replace(document, links=links), runs, aside, target)
    return missing


def take_place(aside: Path, target: Path) -> list[Path]:
    """Move what was written to its place; what an earlier report left there goes, and nothing else."""
    for pattern in _OURS:
        for file in target.glob(pattern):
            file.unlink()
    files = []
    for file in sorted(path for path in aside.rglob("*") if path.is_file()):
        place = target / file.relative_to(aside)
        place.parent.mkdir(exist_ok=True)
        files.append(file.replace(place))
    return files


def _figures(document: Document, folder: Path, pictures: bool) -> None:
    folder.mkdir()
    for figure in document.figures():
        picture = figure.draw(WIDE)
        (folder / f"{figure.key}.svg").write_bytes(as_file(picture).encode())
        if pictures:
            (folder / f"{figure.key}.png").write_bytes(as_png(picture))


def _pages(document: Document, runs: Sequence[Seen], aside: Path, target: Path) -> None:
    """The page, and further ones where there are more cards than it can hold."""
    chunks = (
        [runs[start : start + A_PAGE] for start in range(0, len(runs), A_PAGE)] if len(runs) > ON_PAGE else []
    )
    names = [page_name(number) for number in range(1, len(chunks) + 1)]
    tallies = tallies_of(runs)
    for number, (name, chunk) in enumerate(zip(names, chunks, strict=True), start=1):
        with (aside / name).open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(cards_page(document.title, chunk, target, number, len(names), tallies))
    with (aside / "index.html").open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(page(document, runs, target, names))
