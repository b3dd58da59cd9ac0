"""`trace.json`: the steps, whole or as far as they can be read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from mlagentbench.record.original.folder import Findings, OldFolder, clean, plain

PLACE = "env_log/trace.json"
_LARGEST = 128 * 2**20
_STEPS = re.compile(r'"steps"\s*:\s*\[')
_GAP = re.compile(r"[\s,]*")
MOST_STEPS = 20_000
_LATEST = 4e9
"""Seconds since 1970 that can be when something happened."""


@dataclass(frozen=True)
class OldStep:
    """An action and what came of it. What is no object of arguments is kept as the argument that it stands for."""

    name: str
    args: dict[str, Any]
    text: str
    time: float | None
    """When it was over."""
    refused: bool = False
    """Its arguments were no object, which the original answered with an error."""


@dataclass(frozen=True)
class Trace:
    steps: tuple[OldStep, ...] = ()
    inner: tuple[OldStep, ...] = ()
    """The primitive steps, of all steps in one row."""
    problem: str = ""
    actions: tuple[str, ...] = ()
    torn: bool = False
    """Whether there may have been more steps."""


def read_trace(folder: OldFolder) -> Trace:
    findings = folder.findings
    text = folder.text(PLACE, _LARGEST)
    if text is None:
        if not any(PLACE in each for each in findings.damaged):
            findings.missing.append(f"There is no {PLACE}, so there are no steps.")
        return Trace()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = (
            f" at character {error.pos:,} of {len(text):,}" if isinstance(error, json.JSONDecodeError) else ""
        )
        steps = _salvaged(text, findings)
        findings.damaged.append(
            f"{PLACE} is no whole JSON{where}; {len(steps)} steps could be read, and what comes after them is lost."
        )
        return Trace(steps, torn=True)
    if not isinstance(content, dict):
        findings.damaged.append(f"{PLACE} holds no trace.")
        return Trace()
    infos = content.get("action_infos")
    return Trace(
        steps=_steps(content.get("steps"), "step", findings),
        inner=_steps(content.get("low_level_steps"), "primitive step", findings),
        problem=_problem(content, findings),
        actions=tuple(map(clean, infos)) if isinstance(infos, dict) else (),
    )


def _salvaged(text: str, findings: Findings) -> tuple[OldStep, ...]:
    """The steps before the place where the text is torn."""
    begin = _STEPS.search(text)
    if begin is None:
        return ()
    found: list[Any] = []
    decoder, place = json.JSONDecoder(), begin.end()
    while True:
        gap = _GAP.match(text, place)
        place = gap.end() if gap else place
        if text[place : place + 1] != "{":
            break
        try:
            step, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(step)
    return _steps(found, "step", findings)


def _steps(value: Any, what: str, findings: Findings) -> tuple[OldStep, ...]:
    if not isinstance(value, list):
        findings.damaged.append(f"{PLACE} lists no {what}s.")
        return ()
    if len(value) > MOST_STEPS:
        findings.damaged.append(f"{PLACE} lists {len(value):,} {what}s; the first {MOST_STEPS:,} are read.")
    return tuple(_step(each, f"{what} {number}", findings) for number, each in enumerate(value[:MOST_STEPS]))


def _step(value: Any, which: str, findings: Findings) -> OldStep:
    """One step; one that is nothing of the kind stays in its place, empty, and is told."""
    record = value if isinstance(value, dict) else {}
    action = record.get("action")
    action = action if isinstance(action, dict) else {}
    name, args, text = action.get("name"), action.get("args"), record.get("observation")
    lacking = [
        lack
        for lack, value in (("action", name), ("observation", text))
        if not isinstance(value, str)
    ]  # fmt: skip
    if lacking:
        findings.damaged.append(f"In {PLACE}, {which} has no {' and no '.join(lacking)}.")
    name = clean(name) if isinstance(name, str) else ""
    refused = not isinstance(args, dict)
    if refused:
        args = {} if args is None else {"final_answer" if name == "Final Answer" else "input": args}
    return OldStep(
        name=name or "unknown",
        args=plain(args),
        text=clean(text) if isinstance(text, str) else "",
        time=_time(record.get("timestamp")),
        refused=refused and name != "Final Answer",
    )


def _time(value: Any) -> float | None:
    number = float(value) if isinstance(value, int | float) and abs(value) < _LATEST else math.nan
    return number if 0 < number < _LATEST else None


def _problem(content: dict[str, Any], findings: Findings) -> str:
    problem = content.get("task_description")
    if not isinstance(problem, str):
        findings.missing.append(f"{PLACE} does not tell the problem.")
        return ""
    return clean(problem)
