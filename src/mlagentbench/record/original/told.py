"""What a folder tells of the run as a whole: the flags it was started with, how long it took, how it ended."""

from __future__ import annotations

import ast
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from mlagentbench.record.original.folder import OldFolder, clean, plain

_LARGEST_STATE = 64 * 2**20
_LARGEST_TEXT = 16 * 2**20
_LONGEST = 1e9
"""Seconds that a run can have taken."""
_ATTEMPTS = 3
"""States of the agent that are tried before its flags count as unknown."""
_STATE = re.compile(r"agent_(\d{1,6})_(\d{1,6})\.json")
_NAMESPACE = re.compile(r"^Namespace\((.{1,20000})\)$", re.MULTILINE)
_TASK = re.compile(r"^Benchmark folder name: +(\S{1,200})$", re.MULTILINE)
ERROR, TIME = "env_log/error.txt", "env_log/overall_time.txt"


@dataclass(frozen=True)
class Told:
    flags: dict[str, Any] = field(default_factory=dict)
    """By the names that the original's command line has for them."""
    seconds: float | None = None
    """From start to end."""
    error: str = ""
    """The traceback that ended it."""
    ended: bool = False
    """Whether it came to its own end, well or with an error."""


def read_told(folder: OldFolder) -> Told:
    error = folder.text(ERROR, _LARGEST_TEXT)
    written = folder.text(TIME, 10_000)
    seconds = _seconds(written)
    if written is None:
        folder.findings.missing.append(f"There is no {TIME}: the run was killed, or its end is not known.")
    elif seconds is None:
        folder.findings.damaged.append(f"{TIME} holds {clean(written)[:40]!r}, which is no time.")
    return Told(_flags(folder), seconds, clean(error or ""), error is not None or written is not None)


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number <= _LONGEST else None


def _flags(folder: OldFolder) -> dict[str, Any]:
    """Out of the last state of the agent; else out of what the program printed, where that was kept as `log`."""
    states = sorted(
        ((int(match[1]), int(match[2])), name)
        for name in folder.names("agent_log")
        if (match := _STATE.fullmatch(name))
    )
    for _, name in states[: -_ATTEMPTS - 1 : -1]:
        place = f"agent_log/{name}"
        text = folder.text(place, _LARGEST_STATE)
        try:
            state = json.loads(text or "")
        except (ValueError, RecursionError):
            folder.findings.damaged.append(f"{place} is no whole JSON.")
            continue
        if isinstance(state, dict) and isinstance(state.get("args"), dict):
            flags: dict[str, Any] = plain(state["args"])
            return flags
    if printed := _printed(folder):
        return printed
    folder.findings.missing.append("Nothing tells the flags of the run: its task, agent, models and limits.")
    return {}


def _printed(folder: OldFolder) -> dict[str, Any]:
    text = folder.text("log", _LARGEST_TEXT) or ""
    flags: dict[str, Any] = {}
    if namespace := _NAMESPACE.search(text):
        try:
            call = ast.parse(f"f({namespace[1]})", mode="eval").body
            assert isinstance(call, ast.Call)
            flags = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
        except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
            folder.findings.damaged.append("The flags in `log` cannot be read.")
    if task := _TASK.search(text):
        flags.setdefault("task", task[1])
    read: dict[str, Any] = plain(flags)
    return read
