"""The report as one HTML page that needs nothing else: no network, no other file, no style or script but its own."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlagentbench.reporting.cards import ON_PAGE, card, examples, legend
from mlagentbench.reporting.html import Markup, join, joined, tag
from mlagentbench.reporting.model import Cell, Chapter, Document, Figure, Section, Table
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.svg import in_page
from mlagentbench.reporting.wording import counted

WIDE, NARROW = 760, 346
_ASSETS = Path(__file__).parent / "assets"
_WORDY = 16
"""Letters of a text in a table that asks for room."""
_OPEN_CARDS = 24
"""Cards that are shown unfolded."""


def page(document: Document, runs: Sequence[Seen], folder: Path, pages: Sequence[str]) -> Iterator[str]:
    """The page, piece by piece. `pages` are the names of further pages, where not all cards are on this one."""
    yield _opening(document.title)
    yield tag("header", tag("h1", document.title), tag("p", document.lead, class_="lead"), class_="top")
    yield _contents(document)
    several = len(document.chapters) > 1
    yield "<main>"
    for chapter in document.chapters:
        prefix = f"{chapter.variant}-" if several else ""
        yield _answers(chapter, several)
        for section in chapter.sections:
            yield _section(section, prefix, chapter.variant if several else "")
    for section in document.sections:
        yield _section(section, "", "")
    yield from _cards(runs, folder, pages)
    yield _files(document)
    yield "</main>"
    yield _closing()


def cards_page(
    title: str, runs: Sequence[Seen], folder: Path, number: int, of: int, tallies: Tallies
) -> Iterator[str]:
    """One of the further pages."""
    yield _opening(f"{title}: runs")
    about = f"Page {number} of {of}. "
    links = [tag("a", "the report", href="index.html")]
    if number > 1:
        links.append(tag("a", "the page before", href=page_name(number - 1)))
    if number < of:
        links.append(tag("a", "the next page", href=page_name(number + 1)))
    listed = joined(part for link in links for part in (link, " "))
    yield tag("header", tag("h1", f"{title}: runs"), tag("p", about, listed, class_="lead"), class_="top")
    yield f"<main><section>{legend()}{_FILTER}"
    yield from _folded(runs, folder, tallies)
    yield "</section></main>"
    yield _closing()


def page_name(number: int) -> str:
    return f"runs-{number:03d}.html"


def _opening(title: str) -> str:
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = join(
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>'


def _closing() -> str:
    return f"<script>{_asset('page.js')}</script></body></html>\n"


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _contents(document: Document) -> Markup:
    several = len(document.chapters) > 1
    links = []
    for chapter in document.chapters:
        prefix = f"{chapter.variant}-" if several else ""
        links.append(("#" + prefix + "answers", f"In short ({chapter.variant})" if several else "In short"))
        links += [(f"#{prefix}{each.key}", each.title) for each in chapter.sections if not several]
    links += [(f"#{each.key}", each.title) for each in document.sections]
    links.append(("#runs", "Runs"))
    return tag(
        "nav",
        tag("ul", *(tag("li", tag("a", words, href=href)) for href, words in links)),
        aria_label="Contents",
    )


def _answers(chapter: Chapter, several: bool) -> Markup:
    prefix = f"{chapter.variant}-" if several else ""
    title = f"In short: the variant {chapter.variant}" if several else "In short"
    parts = [
        tag(
            "div",
            tag("h3", answer.question),
            *(tag("p", _emphasised(sentence, chapter.names)) for sentence in answer.sentences),
            class_="answer",
        )
        for answer in chapter.answers
    ]
    return tag("section", tag("h2", title), tag("div", *parts, class_="answers"), id=f"{prefix}answers")


def _emphasised(sentence: str, names: Sequence[str]) -> Markup:
    """With the names of agents in bold."""
    longest = sorted(names, key=len, reverse=True)
    parts = re.split("(" + "|".join(map(re.escape, longest)) + ")", sentence) if longest else [sentence]
    return joined(tag("b", part) if index % 2 else part for index, part in enumerate(parts))


def _section(section: Section, prefix: str, variant: str) -> Markup:
    title = f"{section.title} ({variant})" if variant else section.title
    parts = [_figure(part) if isinstance(part, Figure) else _table(part) for part in section.parts]
    return tag(
        "section",
        tag("h2", title),
        *(tag("p", sentence) for sentence in section.text),
        *parts,
        id=prefix + section.key,
    )


def _figure(figure: Figure) -> Markup:
    """Twice, for wide and for narrow screens: letters keep their size."""
    wide, narrow = in_page(figure.draw(WIDE), "wide"), in_page(figure.draw(NARROW), "narrow")
    return tag(
        "figure", Markup(wide + narrow), tag("figcaption", tag("b", f"{figure.title}."), " ", figure.caption)
    )


def _table(table: Table) -> Markup:
    heads = [
        tag("th", column.name, scope="col", class_="n" if column.numeric else "") for column in table.columns
    ]
    rows = [tag("tr", *map(_cell, row)) for row in table.rows]
    body, foot = rows[: len(rows) - table.foot], rows[len(rows) - table.foot :]
    grid = tag(
        "table",
        tag("caption", table.title),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        *([tag("tfoot", *foot)] if foot else []),
        class_="sortable",
    )
    whole = [tag("div", grid, class_="scroll", tabindex="0", role="region", aria_label=table.title)]
    whole += [tag("p", note, class_="note") for note in table.notes]
    return tag("details", tag("summary", table.title), *whole) if table.folded else join(*whole)


def _cell(cell: str | Cell) -> Markup:
    if isinstance(cell, str):
        return tag("td", cell, class_="w" if len(cell) > _WORDY else "")
    return tag("td", cell.text, class_="n", data_v="" if cell.value is None else f"{cell.value:.10g}")


_FILTER = Markup(
    '<p class="filter" hidden><label>Show runs with <input type="search"></label> <output></output></p>'
)


def _cards(runs: Sequence[Seen], folder: Path, pages: Sequence[str]) -> Iterator[str]:
    shown = examples(runs, ON_PAGE)
    if pages:
        about = (
            f"There are {counted(len(runs), 'run')}. Here are {ON_PAGE}, chosen so that each task, agent and "
            "outcome is there; all of "
            f"them have their card on {counted(len(pages), 'further page')}, and their row in runs.csv."
        )
    else:
        about = f"All {counted(len(runs), 'run')}."
    links = [join(tag("a", str(number), href=name), " ") for number, name in enumerate(pages, start=1)]
    yield f'<section id="runs">{tag("h2", "Runs")}{tag("p", about)}'
    if links:
        yield tag("p", "All runs, by task and agent: ", *links)
    yield f"{legend()}{_FILTER}"
    yield from _folded(shown, folder, tallies_of(runs))
    yield "</section>"


def _folded(runs: Sequence[Seen], folder: Path, tallies: Tallies) -> Iterator[str]:
    """By task and agent; shown at once where there are few."""
    groups: dict[str, list[Seen]] = {}
    for run in runs:
        groups.setdefault(_group(run), []).append(run)
    for name, members in groups.items():
        won, whole = tallies[name]
        told = f"{won:,} of {counted(whole, 'run')} succeeded"
        here = f", {len(members):,} of them here" if len(members) < whole else ""
        yield "<details open>" if len(runs) <= _OPEN_CARDS else "<details>"
        yield tag("summary", name, " ", tag("span", told + here, class_="faint"))
        yield '<div class="cards">'
        for run in members:
            yield card(run, folder)
        yield "</div></details>"


Tallies = dict[str, tuple[int, int]]
"""Of each group of runs, how many succeeded and how many there are."""


def tallies_of(runs: Sequence[Seen]) -> Tallies:
    found: Tallies = {}
    for run in runs:
        won, whole = found.get(_group(run), (0, 0))
        found[_group(run)] = won + run.profile.success, whole + 1
    return found


def _group(run: Seen) -> str:
    return f"{run.summary.task} ({run.summary.variant}) · {run.who}"


def _files(document: Document) -> Markup:
    items = [tag("li", tag("a", name, href=name), f": {what}") for name, what in document.links.items()]
    return tag("section", tag("h2", "Files beside this page"), tag("ul", *items), id="files")
