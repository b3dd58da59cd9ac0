"""The report as Markdown, to be read anywhere or pasted into an issue, and its tables as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator

from mlagentbench.reporting.model import Cell, Document, Section, Table
from mlagentbench.reporting.texts import for_latex, for_markdown


def markdown(document: Document) -> str:
    """Figures are linked at the end, so that nothing is broken where there are none."""
    lines = [f"# {for_markdown(document.title)}", "", for_markdown(document.lead), ""]
    several = len(document.chapters) > 1
    for chapter in document.chapters:
        lines += [f"## In short{f' ({for_markdown(chapter.variant)})' if several else ''}", ""]
        for answer in chapter.answers:
            lines += [f"**{answer.question}** {' '.join(_sentence(each) for each in answer.sentences)}", ""]
        for section in chapter.sections:
            lines += _section(section, chapter.variant if several else "")
    for section in document.sections:
        lines += _section(section, "")
    figures = document.figures()
    if figures:
        lines += ["## Figures", ""]
        lines += [
            f"- [{for_markdown(each.title)}](figures/{each.key}.svg): {_sentence(each.caption)}"
            for each in figures
        ]
    return "\n".join(lines).rstrip() + "\n"


def latex(table: Table) -> str:
    """A table for `booktabs`."""
    kinds = "".join("r" if column.numeric else "l" for column in table.columns)
    head = " & ".join(for_latex(column.name) for column in table.columns)
    body = "\n".join(" & ".join(for_latex(_words(cell)) for cell in row) + r" \\" for row in table.rows)
    notes = "".join(f"\n\\par\\footnotesize {for_latex(note)}" for note in table.notes)
    return (
        "% Needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\small\n"
        f"\\caption{{{for_latex(table.title)}}}\n\\label{{tab:{table.key}}}\n"
        f"\\begin{{tabular}}{{{kinds}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}"
        f"{notes}\n\\end{{table}}\n"
    )


def _section(section: Section, variant: str) -> Iterator[str]:
    tables = [part for part in section.parts if isinstance(part, Table)]
    if not section.text and not tables:
        return
    yield f"## {for_markdown(section.title)}{f' ({for_markdown(variant)})' if variant else ''}"
    yield ""
    for sentence in section.text:
        yield from (_sentence(sentence), "")
    for table in tables:
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{for_markdown(table.title)}**", "")
    yield _row(for_markdown(column.name) for column in table.columns)
    yield _row("---:" if column.numeric else "---" for column in table.columns)
    for row in table.rows:
        yield _row(_cell(cell) for cell in row)
    yield ""
    for note in table.notes:
        yield from (_sentence(note), "")


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: str | Cell) -> str:
    """Numbers are ours, and need no care."""
    return cell.text if isinstance(cell, Cell) else for_markdown(cell)


def _words(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _sentence(text: str) -> str:
    return for_markdown(text)
