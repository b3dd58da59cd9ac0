"""Runs and grades in the few words that fit on a line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mlagentbench.cli.screen import Part, Screen
from mlagentbench.grading import Grade
from mlagentbench.record import Action, RunLimits, RunRequest
from mlagentbench.units import format_duration, format_size

if TYPE_CHECKING:
    from mlagentbench.evaluation.statistics import Estimate
    from mlagentbench.record.events import ModelCalled
    from mlagentbench.record.request import Imported

_SHORT = 72


def shortened(text: str, limit: int = _SHORT) -> str:
    """The text on one line, cut where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def arguments_of(action: Action) -> str:
    """`train.py, content: 113 lines`: the first argument as it is, the others by name."""
    words = []
    for number, (name, value) in enumerate(action.args.items()):
        shown = _value(value)
        words.append(shown if number == 0 else f"{name}: {shown}")
    return shortened(", ".join(words), 100)


def call_in_words(call: ModelCalled) -> str:
    """`act model local/x: 1,200 tokens in, 300 out, 2.1 s`: what a call of a model used, or why it failed."""
    who = f"{call.role} model {call.model}"
    answer = call.completion
    if answer is None:
        return f"{who} failed: {shortened(call.error, 200)}"
    waited = f" after {format_duration(answer.waited)} of waiting" if answer.waited >= 1 else ""
    cut = ", cut at its budget" if answer.stop_reason == "length" else ""
    tokens = f"{answer.usage.input:,} tokens in, {answer.usage.output:,} out"
    took = f", {format_duration(answer.latency)}" if answer.latency else ""
    return f"{who}: {tokens}{took}{waited}{cut}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        lines = value.count("\n") + (not value.endswith("\n"))
        return f"{lines} lines" if lines > 1 else shortened(value)
    return shortened(json.dumps(value, ensure_ascii=False))


def limits_of(limits: RunLimits) -> str:
    words = [
        f"{limits.steps} steps" if limits.steps is not None else "any number of steps",
        format_duration(limits.time) if limits.time is not None else "no time limit",
        f"{format_duration(limits.execution_time)} an execution",
        f"{format_size(limits.memory)} memory",
        f"{limits.processes} processes",
        f"{format_size(limits.disk)} disk",
    ]
    if limits.tokens is not None:
        words.append(f"{limits.tokens:,} tokens")
    if limits.cost is not None:
        words.append(f"{limits.cost:g} dollars")
    return ", ".join(words)


def head_of(screen: Screen, request: RunRequest) -> None:
    """The two lines that every picture of a run begins with."""
    who = f"{request.agent} · {request.model}" if request.model else request.agent
    network: Part = ("network on", "warn") if request.network else "network off"
    sandbox = request.sandbox if request.imported is None else "none"
    screen.line(
        (request.task, "title"),
        f" ({request.variant})  ",
        (who, "name"),
        f"  seed {request.seed}  sandbox {sandbox}, ",
        network,
        ("  " + request.id, "dim"),
    )
    if request.imported is not None:
        _tell_origin(screen, request.limits, request.imported)
        return
    screen.line(("limits  ", "label"), limits_of(request.limits))
    if request.origin:
        screen.line(("forked  ", "label"), f"from {request.origin.run} after step {request.origin.step}")


def _tell_origin(screen: Screen, limits: RunLimits, imported: Imported) -> None:
    """What is known of a run that was made elsewhere, and what is not."""
    steps = "steps not known" if limits.steps is None else f"{limits.steps} steps"
    seconds = "time not known" if limits.time is None else format_duration(limits.time)
    screen.line(("limits  ", "label"), f"{steps}, {seconds}")
    when = time.strftime("%Y-%m-%d", time.localtime(imported.time))
    screen.line(("imported ", "label"), f"on {when} from {imported.source}, where it ran without a sandbox")
    if imported.unknown:
        screen.line(("unknown ", "warn"), ", ".join(imported.unknown))
    for word, sentences in (("missing ", imported.missing), ("damaged ", imported.damaged)):
        for sentence in sentences:
            screen.line((word, "warn"), sentence)


def tell_grade(screen: Screen, grade: Grade | None) -> None:
    if grade is None:
        screen.line(("grade   ", "label"), ("none yet", "warn"))
        return
    if not grade.valid:
        screen.line(("grade   ", "label"), ("not valid: ", "bad"), grade.reason)
        return
    interval = f" [{number(grade.interval.low)}, {number(grade.interval.high)}]" if grade.interval else ""
    words: list[Part] = [("grade   ", "label"), "score ", (number(grade.score) + interval, "title")]
    if grade.baseline is not None:
        spread = f" ± {grade.baseline.spread:.3g}" if grade.baseline.spread else ""
        words.append(f"  baseline {number(grade.baseline.mean)}{spread}")
    if grade.improvement is not None:
        words += [f"  improvement {percent(grade.improvement)}  ", verdict(grade)]
    screen.line(*words)
    for note in grade.notes:
        screen.line(("        ", "label"), (note, "dim"))


def verdict(grade: Grade | None) -> Part:
    """Success as published, and whether it is beyond the starter's noise."""
    if grade is None:
        return ("not graded", "warn")
    if not grade.valid:
        return ("not valid", "bad")
    if not grade.success:
        return ("no success", "dim")
    return ("success", "good") if grade.decided else ("success, within the starter's noise", "warn")


def number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.5g}"


def percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{100 * value:+.1f} %"


def estimate(value: Estimate, *, rate: bool = False, signed: bool = False) -> str:
    """`38 % [14, 69]`: a number with its interval."""
    if value.value != value.value:
        return "–"
    if not (rate or signed):
        ends = f" [{number(value.low)}, {number(value.high)}]" if value.low is not None else ""
        return number(value.value) + ends
    sign = "+" if signed else ""
    digits = 1 if signed else 0
    low, high = value.low, value.high
    ends = (
        f" [{100 * low:.{digits}f}, {100 * high:.{digits}f}]" if low is not None and high is not None else ""
    )
    return f"{100 * value.value:{sign}.{digits}f} %{ends}"


def changed_paths(paths: Iterable[str], limit: int = 6) -> str:
    listed = list(paths)
    more = f", and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(shortened(path) for path in listed[:limit]) + more
