"""What a command line can hold: no program can be started with more."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_ARGUMENT = 131_071
"""Bytes of one argument, as Linux has it."""
LONGEST_LINE = 1_000_000
"""Bytes of all of them together; half of what Linux takes, because the sandbox's own arguments are beside them."""
MOST_ARGUMENTS = 4_000
"""bubblewrap takes 9,000, its own included."""


def check_command_line(arguments: Sequence[str]) -> None:
    """Raises ValueError, with the end of a sentence, for arguments that no program can be started with."""
    if any("\0" in argument for argument in arguments):
        raise ValueError("it holds a NUL character")
    sizes = [len(argument.encode("utf-8", "surrogateescape")) for argument in arguments]
    if max(sizes, default=0) > LONGEST_ARGUMENT:
        raise ValueError(
            f"an argument has {max(sizes):,} bytes, and the system takes {LONGEST_ARGUMENT:,} at most; "
            "write the content to a file and give its name"
        )
    if len(sizes) > MOST_ARGUMENTS or sum(sizes) > LONGEST_LINE:
        raise ValueError(
            f"{len(sizes):,} arguments with {sum(sizes):,} bytes are more than a command line holds; "
            "write them to a file and give its name"
        )
