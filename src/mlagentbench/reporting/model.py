"""What a report says, apart from how it looks: sections of sentences, tables and figures. Every format is made of it,
so that numbers agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mlagentbench.reporting.scene import Picture


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in words, and what it is sorted by."""

    text: str
    value: float | None


Row = tuple[str | Cell, ...]


@dataclass(frozen=True)
class Column:
    name: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    key: str
    """Names the file and the anchor."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    foot: int = 0
    """So many of its last rows sum up the others, and stay below them."""
    folded: bool = False
    """Whether the page shows it only when it is asked for."""


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    caption: str
    draw: Callable[[int], Picture]
    """For a width in pixels; the page has one for phones as well."""


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    text: tuple[str, ...] = ()
    parts: tuple[Table | Figure, ...] = ()


@dataclass(frozen=True)
class Answer:
    question: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Chapter:
    """All that is said of the runs of one variant."""

    variant: str
    names: tuple[str, ...]
    """Of the agents."""
    answers: tuple[Answer, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Document:
    title: str
    lead: str
    chapters: tuple[Chapter, ...]
    sections: tuple[Section, ...]
    """Of all variants together: the conditions, and what was left out."""
    links: dict[str, str] = field(default_factory=dict)
    """Files beside the page, with what is in them."""

    def all_sections(self) -> list[Section]:
        return [section for chapter in self.chapters for section in chapter.sections] + list(self.sections)

    def tables(self) -> list[Table]:
        return [part for each in self.all_sections() for part in each.parts if isinstance(part, Table)]

    def figures(self) -> list[Figure]:
        return [part for each in self.all_sections() for part in each.parts if isinstance(part, Figure)]


def columns(*names: str) -> tuple[Column, ...]:
    """Columns by their names; `>` before one says that it holds numbers."""
    return tuple(Column(name.lstrip(">"), name.startswith(">")) for name in names)
