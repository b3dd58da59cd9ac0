"""The steps of a run as rows, read from its events without building what a row does not need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from mlagentbench.errors import RecordError
from mlagentbench.evaluation.anytime import Point
from mlagentbench.evaluation.process import Kind, kind_of
from mlagentbench.record.log import read_lines
from mlagentbench.reporting.texts import line_of
from mlagentbench.validation import problems_of

LETTERS: dict[Kind, str] = {
    "look": "l",
    "edit": "e",
    "execute": "x",
    "think": "t",
    "submit": "s",
    "lost": "n",
    "other": "o",
}
"""A step in one letter, large where it failed."""


class _Usage(TypedDict, total=False):
    input: int
    output: int


class _Completion(TypedDict, total=False):
    usage: _Usage


class _Action(TypedDict):
    name: str


class _Execution(TypedDict, total=False):
    exit_status: int | None
    wall_seconds: float
    cpu_seconds: float
    peak_memory: int


class _Observation(TypedDict, total=False):
    ok: bool
    execution: _Execution | None


class _Event(TypedDict, total=False):
    type: str
    index: int
    action: _Action
    observation: _Observation
    seconds: float
    elapsed: float
    completion: _Completion | None
    cost: float | None


class _Line(TypedDict):
    event: _Event


_LINE = TypeAdapter(_Line)


@dataclass(frozen=True, slots=True)
class Step:
    run: str
    step: int
    action: str
    kind: Kind
    ok: bool
    exit_status: int | None
    wall_seconds: float | None
    cpu_seconds: float | None
    peak_memory: int | None
    seconds: float | None
    elapsed: float | None
    model_calls: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    """Of the calls since the step before."""
    valid: bool | None
    score: float | None
    improvement: float | None
    """Of the workspace after the step, where that was graded."""

    @property
    def letter(self) -> str:
        letter = LETTERS[self.kind]
        return letter if self.ok else letter.upper()


def steps_in(
    events_file: Path, run: str, points: Sequence[Point], unknown: Collection[str] = ()
) -> Iterator[Step]:
    """The chain of hashes is not checked here: the profile that stands beside it is of this very record. Of `unknown`
    (`time`, `tokens`, `cost`, `execution`), the record tells nothing."""
    timed, counted = "time" not in unknown, "tokens" not in unknown
    priced, measured = "cost" not in unknown, "execution" not in unknown
    graded = {point.step: point for point in points}
    calls = tokens_in = tokens_out = 0
    cost: float | None = 0.0
    for number, line in enumerate(read_lines(events_file), start=1):
        if not line.endswith(b"\n"):
            return  # torn by a kill
        if b'"type":"step"' not in line and b'"type":"model_call"' not in line:
            continue
        try:
            event = _LINE.validate_json(line)["event"]
        except ValidationError as error:
            problem = problems_of(error, _Line)[0].rstrip(".")
            raise RecordError(f"{events_file}, line {number} cannot be read ({problem}).") from None
        if event["type"] == "model_call":
            calls += 1
            usage = (event.get("completion") or {}).get("usage") or {}
            if event.get("completion") is not None:
                tokens_in += usage.get("input", 0)
                tokens_out += usage.get("output", 0)
                spent = event.get("cost")
                cost = None if cost is None or spent is None else cost + spent
        elif event["type"] == "step":
            observation = event["observation"]
            execution = observation.get("execution") if measured else None
            point = graded.get(event["index"])
            name = event["action"]["name"]
            yield Step(
                run=run,
                step=event["index"],
                action=line_of(name, 80),
                kind=kind_of(name),
                ok=observation.get("ok", True),
                exit_status=execution.get("exit_status") if execution else None,
                wall_seconds=execution.get("wall_seconds") if execution else None,
                cpu_seconds=execution.get("cpu_seconds") if execution else None,
                peak_memory=execution.get("peak_memory") if execution else None,
                seconds=event.get("seconds", 0.0) if measured else None,
                elapsed=event.get("elapsed", 0.0) if timed else None,
                model_calls=calls if counted else None,
                tokens_in=tokens_in if counted else None,
                tokens_out=tokens_out if counted else None,
                cost=cost if priced else None,
                valid=point.valid if point else None,
                score=point.score if point else None,
                improvement=point.improvement if point else None,
            )
            calls = tokens_in = tokens_out = 0
            cost = 0.0
