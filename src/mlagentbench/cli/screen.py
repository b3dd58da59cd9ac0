"""Where words for people go: coloured on a terminal, plain lines elsewhere. No text can steer the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

from mlagentbench.environment.output import plain_text

if TYPE_CHECKING:
    from rich.console import Console

Style = Literal["", "title", "name", "label", "dim", "good", "bad", "warn"]
Part = str | tuple[str, Style]

_UNREAD = "mlagentbench: nobody reads the output any more. The work goes on; Ctrl-C stops it."
_RICH_STYLES: dict[Style, str] = {
    "title": "bold",
    "name": "bold cyan",
    "label": "dim",
    "dim": "dim",
    "good": "green",
    "bad": "red",
    "warn": "bold yellow",
}


class Screen(Protocol):
    """Every text that is given to it is taken for hostile."""

    shows_passing: bool
    """Whether `passing` shows anything."""

    def line(self, *parts: Part) -> None:
        """One line, or several if the text has several; nothing gives an empty one."""

    def passing(self, text: str) -> None:
        """A line that the next one writes over; shown on terminals only. An empty text takes it away."""

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        """A column whose name starts with `>` is aligned to the right."""


def open_screen(*, json: bool = False, lasting: bool = False) -> Screen:
    """Standard output, or standard error where standard output is for a machine. A `lasting` one outlives whoever reads
    it: what is shown is work that goes on."""
    stream = sys.stderr if json else sys.stdout
    if not stream.isatty():
        return LastingScreen(stream) if lasting else PlainScreen(stream)
    from rich.console import Console

    return RichScreen(Console(file=stream, highlight=False))


# Control characters of 8 bits, and those that turn the direction of writing around.
_ALSO_STEERING = dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def cleaned(text: str) -> str:
    """`text` in valid Unicode, without anything that steers a terminal."""
    return plain_text(text.encode("utf-8", "backslashreplace").decode()).translate(_ALSO_STEERING)


def visible(text: str) -> str:
    """`text` with what cannot be seen, or steers a terminal, written out: `\\x1b`. For what somebody is to agree to."""
    return "\n".join(map(visible_line, text.split("\n")))


def visible_line(line: str) -> str:
    """The same, on one line: line breaks are written out too."""
    if line.isprintable():
        return line
    return "".join(c if c == "\t" or c.isprintable() else _written_out(c) for c in line)


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _split(part: Part) -> tuple[str, Style]:
    return (part, "") if isinstance(part, str) else part


class PlainScreen:
    """Plain text, flushed line by line."""

    shows_passing = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def line(self, *parts: Part) -> None:
        print("".join(cleaned(_split(part)[0]) for part in parts).rstrip(), file=self._stream, flush=True)

    def passing(self, text: str) -> None:
        pass

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        cells = [[cleaned(_split(part)[0]) for part in row] for row in rows]
        heads = [column.lstrip(">") for column in columns]
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        for row in [heads, *cells]:
            padded = [
                cell.rjust(width) if column.startswith(">") else cell.ljust(width)
                for cell, width, column in zip(row, widths, columns, strict=True)
            ]
            self.line("  ".join(padded))


class LastingScreen(PlainScreen):
    """When nobody reads any more, that is told once, and what follows goes nowhere."""

    def line(self, *parts: Part) -> None:
        try:
            super().line(*parts)
        except BrokenPipeError:
            silence(self._stream)
            if self._stream is not sys.stderr:
                print(_UNREAD, file=sys.stderr, flush=True)


def silence(stream: TextIO) -> None:
    """From now on, what is written to it goes nowhere, also what is written when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class RichScreen:
    """A terminal. Text is never read as markup."""

    shows_passing = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._passing = False

    def line(self, *parts: Part) -> None:
        from rich.text import Text

        self.passing("")
        text = Text()
        for part in parts:
            words, style = _split(part)
            text.append(cleaned(words), _RICH_STYLES.get(style, ""))
        self._console.print(text, soft_wrap=True)

    def passing(self, text: str) -> None:
        if self._passing or text:
            width = max(self._console.width - 1, 1)
            shown = "".join(c for c in cleaned(text) if c.isprintable())[:width]
            self._console.file.write(f"\r\x1b[2K\x1b[2m{shown}\x1b[0m" if shown else "\r\x1b[2K")
            self._console.file.flush()
            self._passing = bool(shown)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        from rich.table import Table
        from rich.text import Text

        self.passing("")
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
        for row in rows:
            table.add_row(
                *(
                    Text(cleaned(words), _RICH_STYLES.get(style, ""))
                    for words, style in (_split(part) for part in row)
                )
            )
        self._console.print(table)
