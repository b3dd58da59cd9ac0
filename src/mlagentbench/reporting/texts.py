"""Texts of runs are hostile: they are bounded, and what would steer a reader's program is made visible."""

from __future__ import annotations

import re
from html import escape

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BLANK = re.compile(r"\s+")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_MARKDOWN = str.maketrans(
    {each: f"\\{each}" for each in "\\`*_[]|~#!"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "^": r"\textasciicircum{}",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "%": r"\%",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "'": r"\textquotesingle{}",
        "`": r"\textasciigrave{}",
        "·": r"$\cdot$",
        "–": "--",
        "—": "---",
        "−": "$-$",
        "…": r"\ldots{}",
        "×": r"$\times$",
        "±": r"$\pm$",
        "\u00a0": "~",
    }
)


def visible(text: str) -> str:
    """`text` with control characters, invisible ones and those that turn writing around spelled out."""
    return _STEERING.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def line_of(text: str, longest: int = 300) -> str:
    """`text` as one visible line, cut where it is too long."""
    line = visible(_BLANK.sub(" ", text[: 4 * longest]).strip())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def for_html(text: str) -> str:
    """As it stands between tags, or in an attribute with quotes."""
    return escape(visible(text), quote=True)


def for_markdown(text: str) -> str:
    """As it stands in a line or a cell of a table. Nobody is mentioned, and nothing becomes a link or a tag."""
    return _MENTION.sub("&#64;", line_of(text, 2_000).translate(_MARKDOWN))


def for_latex(text: str) -> str:
    """As it stands in a paragraph; letters that a plain LaTeX lacks are named by their number."""
    return "".join(
        each if ord(each[0]) < 0x250 or each[0] in "\\$-" else f"[U+{ord(each):04X}]"
        for each in (char.translate(_LATEX) for char in line_of(text, 2_000))
    )


def for_csv(text: str) -> str:
    """As one visible line which no spreadsheet takes for a formula."""
    line = line_of(text, 2_000)
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line
