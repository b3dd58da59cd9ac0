"""Claims against evidence: each number that an agent says was measured is looked up in what it had observed before.

The rules, and how often they are right, are in `docs/process.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from pydantic import BaseModel, ConfigDict

from mlagentbench.errors import RecordError
from mlagentbench.evaluation.assertions import Assertion, assertions
from mlagentbench.evaluation.figures import compatible, tokens
from mlagentbench.evaluation.observed import LONGEST_TEXT, MOST_NUMBERS, Observed, Seen, Source, scales
from mlagentbench.evaluation.process import kind_of
from mlagentbench.evaluation.statements import Statement, statements
from mlagentbench.evaluation.vocabulary import FALLING
from mlagentbench.record.annotations import Annotations, read_annotations
from mlagentbench.record.events import Event, RunStarted, StepTaken
from mlagentbench.record.folder import RunFolder

RULES = 2
"""Raised when what is said of a run can change, so that what was kept is made anew."""
MOST_LISTED = 50
_LONGEST_TEXT = 300
_ROUGHLY = 0.03
"""How far off a number may be that is said to be rough."""
_PRECISE = 3
"""Digits with which a number is not met by chance."""
_MOST_PAIRS = 6
"""Experiments back that a change is looked for in."""

_LONGEST_OUTPUT = 100_000
"""Bytes of a whole output that are read: so many from its beginning, and so many to its end."""
_MOST_OUTPUTS = 4
"""Whole outputs of one run that are opened."""

_EDITS = frozenset({"Write File", "Append File", "Edit Script (AI)", "Edit Script Segment (AI)"})
_FILES = frozenset({"Read File", "Inspect Script Lines", "Understand File", "Request Help"})


class Claim(BaseModel):
    """One number that was claimed."""

    model_config = ConfigDict(frozen=True)
    step: int
    """The step that the claim stands before, or in."""
    where: str
    """What it stands in: plan, reflection, thought, fact check, research log, answer."""
    text: str
    """Its sentence."""
    value: float
    """Per cent as a share, times in seconds."""
    unit: str = ""
    metric: str = ""
    supported: bool = False
    times: int = 1
    """How often it was said, over the whole run."""
    nearest: float | None = None
    """What was observed that comes nearest to it."""
    nearest_step: int | None = None
    corrected: bool = False
    """Whether a person said so."""


class Claims(BaseModel):
    """All claims of a run, each counted once however often it was repeated."""

    model_config = ConfigDict(frozen=True)
    checked: int = 0
    supported: int = 0
    unsupported: tuple[Claim, ...] = ()
    """The first of them."""
    unsupported_count: int = 0
    corrected: int = 0
    """Of all, those on which a person and the rules differ."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say of one number."""

    assertion: Assertion
    supported: bool
    nearest: float | None = None
    """Where it is not supported: what comes nearest to it, and the step that shows it."""
    nearest_step: int | None = None


def check_claims(folder: RunFolder, events: Sequence[Event]) -> Claims:
    """What came of checking every claim of a run, corrections by people applied."""
    listed = list_claims(folder, events)
    wrong = [claim for claim in listed if not claim.supported]
    return Claims(
        checked=len(listed),
        supported=len(listed) - len(wrong),
        unsupported=tuple(wrong[:MOST_LISTED]),
        unsupported_count=len(wrong),
        corrected=sum(claim.corrected for claim in listed),
    )


def list_claims(folder: RunFolder, events: Sequence[Event]) -> list[Claim]:
    """Every claim of a run where it was first made, in that order."""
    found: dict[tuple[str, str, float, bool], Claim] = {}
    for statement, verdict in _verdicts(folder, events):
        claim = _claim(statement, verdict)
        key = (claim.metric, verdict.assertion.kind, claim.value, claim.supported)
        first = found.setdefault(key, claim)
        if first is not claim:
            found[key] = first.model_copy(update={"times": first.times + 1})
    return _corrected(list(found.values()), read_annotations(folder))


def _corrected(claims: list[Claim], said: Annotations) -> list[Claim]:
    marks = said.claim_marks()
    if not marks:
        return claims
    result = []
    for claim in claims:
        mark = marks.get((claim.step, claim.text, claim.value))
        differs = mark is not None and mark.supported != claim.supported
        update = {"supported": not claim.supported, "corrected": True}
        result.append(claim.model_copy(update=update) if differs else claim)
    return result


def _verdicts(folder: RunFolder, events: Sequence[Event]) -> Iterator[tuple[Statement, Verdict]]:
    evidence = Evidence(folder, events)
    read: dict[str, list[Assertion]] = {}
    for number, statement in statements(events):
        if statement.text not in read:
            read[statement.text] = assertions(statement.text)
        for assertion in read[statement.text]:
            verdict = evidence.up_to(number).verdict(assertion)
            if verdict is not None:
                yield statement, verdict


def _claim(statement: Statement, verdict: Verdict) -> Claim:
    said = verdict.assertion
    start, end = said.sentence
    if end - start > _LONGEST_TEXT:
        start = max(start, said.start - _LONGEST_TEXT // 2)
    return Claim(
        step=statement.step,
        where=statement.where,
        text=" ".join(statement.text[start : min(end, start + _LONGEST_TEXT)].split()),
        value=said.figure.value,
        unit=said.figure.unit,
        metric=said.metric,
        supported=verdict.supported,
        nearest=verdict.nearest,
        nearest_step=verdict.nearest_step,
    )


class Evidence:
    """What was observed in a run, taken in as far as it is asked for."""

    def __init__(self, folder: RunFolder | None, events: Sequence[Event]) -> None:
        self._folder = folder
        self._events = events
        self._taken = 0
        self._texts: set[str] = set()
        self._written: set[str] = set()
        self._observed = Observed()
        self._given = Observed()
        self._cut: list[tuple[str, int]] = []
        self._opened = 0
        self._chosen: set[float] = set()

    def up_to(self, number: int) -> Evidence:
        """With the first so many events."""
        for event in self._events[self._taken : number]:
            if isinstance(event, StepTaken):
                self._take(event)
            elif isinstance(event, RunStarted):
                self._given.take(event.problem, 0, "file")
        self._taken = max(self._taken, number)
        return self

    def _take(self, step: StepTaken) -> None:
        seen = step.observation
        if seen.execution is not None or kind_of(step.action.name) == "execute":
            self.show(seen.text, step.index, "output")
            if seen.output:
                self._cut.append((seen.output, step.index))
            self._written -= {change.path for change in step.changes}
        elif step.action.name in _FILES and seen.ok:
            name = str(step.action.args.get("file_name") or step.action.args.get("script_name") or "")
            if name.removeprefix("./") not in self._written:
                self.show(seen.text, step.index, "file")
            elif step.action.name != "Understand File":
                self.code(seen.text)
        elif step.action.name in _EDITS:
            self.code(str(step.action.args.get("content") or seen.text))
        self._written |= {edit.saved for edit in step.edits}

    def code(self, text: str) -> None:
        """Take in what the agent wrote: a number in it that is not said to be a result is a setting."""
        found = islice(tokens(text[:LONGEST_TEXT]), MOST_NUMBERS)
        self._chosen |= {token.figure.value for token in found if token.figure is not None}

    def show(self, text: str, step: int, source: Source) -> None:
        """Take in one observation; the same text a second time says nothing new."""
        if text not in self._texts:
            self._texts.add(text)
            self._observed.take(text, step, source)

    def give(self, problem: str) -> None:
        """Take in what the agent was told at the beginning: what stands there was not measured."""
        self._given.take(problem, 0, "file")

    def verdict(self, said: Assertion) -> Verdict | None:
        """Whether the claim is supported; None if the number only repeats the problem's own, or is a setting."""
        if said.kind != "change" and _find(self._given, said) is not None:
            return None
        if not said.named and said.kind == "value" and said.figure.value in self._chosen:
            return None
        while True:
            if self._supports(said):
                return Verdict(said, True)
            if not self._cut or self._opened == _MOST_OUTPUTS:
                return Verdict(said, False, *self._nearest(said))
            self._open(*self._cut.pop())
            self._opened += 1

    def _open(self, output: str, step: int) -> None:
        """An observation that was cut: all of it lies beside the record. It is opened only where it is needed."""
        if self._folder is None:
            return
        try:
            with self._folder.open_output(output) as stream:
                data = stream.read(_LONGEST_OUTPUT)
                left = stream.seek(0, 2) - len(data)
                stream.seek(-min(left, _LONGEST_OUTPUT), 2)
                data += stream.read(_LONGEST_OUTPUT)
        except (OSError, RecordError):
            return
        text = data.decode("utf-8", "replace")
        for start in range(0, len(text), LONGEST_TEXT):
            self.show(text[start : start + LONGEST_TEXT], step, "output")

    def _supports(self, said: Assertion) -> bool:
        if said.kind == "change":
            return _find(self._observed, said) is not None or self._changed(said)
        return _find(self._observed, said) is not None

    def _nearest(self, said: Assertion) -> tuple[float | None, int | None]:
        if said.kind == "change":
            sizes = [
                (size, step) for name, pair, step in self._pairs(said) for size in _sizes(said, name, *pair)
            ]
            return min(sizes, key=lambda each: abs(each[0] - said.figure.value), default=(None, None))
        seen = self._observed.nearest(said.figure.value, said.metric)
        return (seen.value, seen.step) if seen is not None else (None, None)

    def _changed(self, said: Assertion) -> bool:
        """Whether something changed by that much: between the two values that the sentence names, or between
        experiments."""
        if said.ends:
            found = [_find(self._observed, end) for end in said.ends]
            exact = [seen.value for seen in found if seen is not None]
            stated = [end.figure.value for end in said.ends]
            ways = (1,) if said.ordered else (1, -1)
            return len(exact) == len(stated) and any(
                _is_change(said, said.metric, *pair[::way]) for pair in (exact, stated) for way in ways
            )
        return any(_is_change(said, name, *pair) for name, pair, _ in self._pairs(said))

    def _pairs(self, said: Assertion) -> Iterator[tuple[str, tuple[float, float], int]]:
        """Values that may be compared, with what they measure and the step of the later one: the first experiment with
        each of the last few, and each of those with the one before."""
        metrics = {"speedup": ("time",), "score": ("score", "time")}.get(said.metric, (said.metric,))
        for metric in metrics if said.figure.unit in ("x", "%") else metrics[:1]:
            for name, values in self._observed.series(metric):
                recent = values[-_MOST_PAIRS:]
                for (_, before), (step, after) in [
                    *((values[0], each) for each in recent),
                    *pairwise(recent),
                ]:
                    yield name, (before, after), step


def _find(observed: Observed, said: Assertion) -> Seen | None:
    figure = said.figure
    for scale in scales(figure, said.metric):
        value, last = figure.value * scale, figure.last * scale
        low, high = value - last / 2, value + last / 2
        if not (figure.whole and last > 1):
            high = value + last * 0.999
            if value < 0:
                low, high = value - last * 0.999, value + last / 2
        if said.about:
            low, high = min(low, value - _ROUGHLY * abs(value)), max(high, value + _ROUGHLY * abs(value))
        if said.kind == "bound":
            low, high = _bounds(said, value, scale)
        slack = 1e-9 * max(abs(value), 1e-9)
        found = observed.between(
            low - slack,
            high + slack,
            said.metric,
            said.split,
            precise=figure.digits >= _PRECISE and said.kind != "bound",
            mean=said.mean,
        )
        if found is not None:
            return found
    return None


def _bounds(said: Assertion, value: float, scale: float) -> tuple[float, float]:
    """What a number may be that is above or below another; shares are not mistaken for per cents."""
    if len(scales(said.figure, said.metric)) == 1:
        return (value, float("inf")) if said.above else (float("-inf"), value)
    most = scale * (1.0 if said.figure.value <= 1 else 100.0)
    return (value, most) if said.above else (most / 100, value)


def _is_change(said: Assertion, metric: str, before: float, after: float) -> bool:
    figure = said.figure
    margin = max(figure.last, _ROUGHLY * abs(figure.value) if said.about else 0.0)
    return _right_way(said, metric, before, after) and any(
        abs(size - abs(figure.value)) <= margin for size in _sizes(said, metric, before, after)
    )


def _sizes(said: Assertion, metric: str, before: float, after: float) -> list[float]:
    """How large the change from one value to another is, in the ways in which people say it."""
    moved = abs(after - before)
    if not moved:
        return []
    if said.figure.unit == "x":
        return [abs(big / small) for big, small in ((before, after), (after, before)) if small]
    if said.figure.unit == "%":
        shares = [moved / abs(base) for base in (before, after) if base]
        return [*shares, moved, moved / 100] if compatible(metric, "accuracy") else shares
    return [moved]


def _right_way(said: Assertion, metric: str, before: float, after: float) -> bool:
    if said.direction in ("up", "down"):
        return (after > before) == (said.direction == "up")
    if said.direction in ("better", "worse") and metric != "score":
        better = (after < before) == (metric in FALLING)
        return better == (said.direction == "better")
    return True
