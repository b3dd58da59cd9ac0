"""Taking one block of code out of a model's reply, exactly."""

from __future__ import annotations

import re

_OPENING = re.compile(r"^(`{3,}|~{3,})[^\S\n]*([^`\n]*)$")


class NoSingleBlockError(Exception):
    """The reply does not hold exactly one whole block; the message says in words what it holds."""


def only_block(reply: str, *, may_stay_open: bool = False) -> str:
    """The content of the one fenced block in `reply`, not a byte changed. Where it `may_stay_open`, a last block
    without its closing fence ends with the reply.

    Fences are as in CommonMark: a block ends at a fence of the same character that is at least as long as the one
    that opened it, so a longer fence can hold shorter ones.
    """
    blocks: list[str] = []
    fence = ""
    inside: list[str] = []
    for line in reply.replace("\r\n", "\n").split("\n"):
        if not fence:
            if found := _OPENING.match(line):
                fence = found[1]
                inside = []
        elif (bare := line.rstrip()) and set(bare) == {fence[0]} and len(bare) >= len(fence):
            blocks.append("".join(f"{each}\n" for each in inside))
            fence = ""
        else:
            inside.append(line)
    if fence and may_stay_open:
        text = "\n".join(inside).rstrip("\n")
        blocks.append(f"{text}\n" if text else "")
    elif fence:
        raise NoSingleBlockError("its code block is never closed")
    if len(blocks) != 1:
        raise NoSingleBlockError(
            "it holds no fenced code block" if not blocks else f"it holds {len(blocks)} code blocks"
        )
    return blocks[0]
