"""Sizes and durations as people write them: `4GB`, `90s`, `5h`."""

from __future__ import annotations

import re

from mlagentbench.errors import UsageError

_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES |= {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_BYTES |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(text: str | int) -> int:
    """Bytes in `text`: `512MB`, `4GiB`, or a bare number of bytes."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    match = _NUMBER_AND_UNIT.fullmatch(text) if isinstance(text, str) else None
    if not match or match[2].upper() not in _BYTES:
        raise UsageError(f"{text!r} is not a size; write it like 512MB or 4GiB.")
    return int(float(match[1]) * _BYTES[match[2].upper()])


def parse_duration(text: str | float) -> float:
    """Seconds in `text`: `90s`, `10m`, `5h`, `1h30m`, or a bare number of seconds."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return float(text)
    if not isinstance(text, str):
        raise UsageError(f"{text!r} is not a duration; write it like 90s, 10m or 5h.")
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    spelled = "".join(number + unit for number, unit in parts)
    if not parts or spelled != re.sub(r"\s+", "", text) or any(unit not in _SECONDS for _, unit in parts):
        raise UsageError(f"{text!r} is not a duration; write it like 90s, 10m or 5h.")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def format_size(size: float) -> str:
    """`size` bytes in the largest decimal unit that keeps it at or above one: `1.5 GB`."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"


def format_duration(seconds: float) -> str:
    """`seconds` in words as short as they stay readable: `0.35 s`, `12 s`, `4 m 10 s`, `2 h 5 m`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} m {rest} s" if rest else f"{minutes} m"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} m" if minutes else f"{hours} h"
