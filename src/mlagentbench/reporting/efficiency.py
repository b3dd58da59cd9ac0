"""What agents used: money, tokens, time; and what they got for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean

from mlagentbench.reporting import charts
from mlagentbench.reporting.drawing import drawn, told_of_drawn
from mlagentbench.reporting.model import Figure, Section, Table, columns
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.scene import Paint, Picture
from mlagentbench.reporting.tally import Field, Tally, cost_of, known, seconds_of, tokens_of
from mlagentbench.reporting.wording import (
    NOTHING,
    clock,
    count,
    counted,
    dollars,
    duration,
    listed,
    rate,
    tokens,
)

_TIMES: tuple[tuple[str, Paint], ...] = (
    ("model", "blue"),
    ("waiting for it", "sky"),
    ("programs", "orange"),
    ("the rest", "grey"),
)
_TOKENS: tuple[tuple[str, Paint], ...] = (("in", "blue"), ("in, cached", "sky"), ("out", "orange"))


def efficiency(field: Field) -> Section:
    text = list(_unpriced(field))
    by, unit = clock(_longest(field))
    figures: list[Table | Figure] = []
    if any(each.cost for each in field.agents):
        figures.append(
            _against(
                "cost",
                "Cost against success",
                field,
                lambda each: each.cost,
                "US dollars a run",
                lambda value: f"${value:.3g}",
            )
        )
    if any(each.mean(seconds_of) is not None for each in field.agents):
        figures.append(
            _against(
                "time",
                "Time against success",
                field,
                lambda each: None if (used := each.mean(seconds_of)) is None else used / by,
                f"{unit} a run",
                lambda value: f"{value:.3g}",
            )
        )
    if any(tokens_of(run) for run in field.runs):
        figures.append(_tokens(field))
    if any(run.profile.times for run in field.runs):
        figures.append(_times(field))
    else:
        text.append("Where the time went is not known of any run, so that it is not drawn.")
    return Section("efficiency", "Cost and time", tuple(text), (*figures, _table(field)))


def _unpriced(field: Field) -> Iterator[str]:
    """Whose cost is not known, and why."""
    imported: list[str] = []
    missing: list[str] = []
    for each in field.agents:
        if each.cost is None:
            kept_none = any(run.imported and cost_of(run) is None for run in each.runs)
            (imported if kept_none else missing).append(each.who)
    if missing:
        yield f"What {listed(missing)} cost is not known, since a price is missing; it is not taken for zero."
    if imported:
        yield f"What {listed(imported)} cost is not known: imported runs do not tell it. It is not taken for zero."


def _against(
    key: str, title: str, field: Field, used: Callable[[Tally], float | None], axis: str, words: charts.Words
) -> Figure:
    def draw(width: int) -> Picture:
        points = [
            (series, cost, each.success, f"{words(cost)}, {rate(each.success).text}")
            for series, each in drawn(field)
            if (cost := used(each)) is not None
        ]
        front = [(cost, each.success.value) for each in field.front(used) if (cost := used(each)) is not None]
        return charts.plane(
            width,
            f"{title} ({field.variant})",
            points,
            front,
            (axis, "success"),
            (words, lambda value: f"{100 * value:.0f} %"),
        )

    front = listed([each.who for each in field.front(used)])
    caption = (
        "Higher and further left is better. The dashed line is the Pareto front: nobody succeeds as often "
        "for less than "
        f"{front}."
    )
    lacking = [each.who for each in field.agents if used(each) is None]
    if lacking:
        caption += f" Not drawn, since the {key} is not known of each of their runs: {listed(lacking)}."
    return Figure(f"{key}-against-success", title, caption + told_of_drawn(field), draw)


def _of_known(field: Field, tells: Callable[[Seen], bool]) -> tuple[list[Tally], str]:
    """The drawn agents with those of their runs that tell what is drawn, and what a caption says of the others."""
    kept = []
    for _, each in drawn(field):
        tasks = {task: [run for run in runs if tells(run)] for task, runs in each.tasks.items()}
        if any(tasks.values()):
            kept.append(Tally(each.who, {task: runs for task, runs in tasks.items() if runs}))
    lacking = sum(not tells(run) for run in field.runs)
    told = (
        f" {counted(lacking, 'run')} of which this is not known {'is' if lacking == 1 else 'are'} left out."
    )
    return kept, (told if lacking else "") + told_of_drawn(field)


def _parts(each: Tally, value: Callable[[Seen], tuple[float, ...]]) -> list[float]:
    """The mean over tasks of each part."""
    by_task = [
        [fmean(part) for part in zip(*(value(run) for run in runs), strict=True)]
        for runs in each.tasks.values()
    ]
    return [fmean(part) for part in zip(*by_task, strict=True)]


def _tokens(field: Field) -> Figure:
    def of(run: Seen) -> tuple[float, ...]:
        summary = run.summary
        cached = min(summary.tokens_cached, summary.tokens_in)
        return float(summary.tokens_in - cached), float(cached), float(summary.tokens_out)

    known_of, told = _of_known(field, lambda run: tokens_of(run) is not None)

    def draw(width: int) -> Picture:
        rows = [(each.who, parts := _parts(each, of), f"{sum(parts):,.0f} a run") for each in known_of]
        return charts.bars(width, f"Tokens by agent ({field.variant})", _TOKENS, rows, _thousands)

    return Figure(
        "tokens-by-agent",
        "Tokens by agent",
        f"Tokens of a run on average, as providers count them.{told}",
        draw,
    )


def _times(field: Field) -> Figure:
    by, unit = clock(_longest(field))

    def of(run: Seen) -> tuple[float, ...]:
        times = run.profile.times
        assert times is not None
        return times.model / by, times.waiting / by, times.execution / by, times.harness / by

    known_of, told = _of_known(field, lambda run: run.profile.times is not None)

    def draw(width: int) -> Picture:
        rows = [
            (each.who, _parts(each, of), f"{duration(each.mean(seconds_of)).text} a run") for each in known_of
        ]
        return charts.bars(
            width, f"Time by agent ({field.variant})", _TIMES, rows, lambda value: f"{value:.3g} {unit}"
        )

    caption = (
        "Where the time of a run went on average: the model, waiting for it, the agent's programs, and the "
        "rest, which is "
        f"the harness and the agent's own work. Calls of models side by side count each.{told}"
    )
    return Figure("time-by-agent", "Time by agent", caption, draw)


def _table(field: Field) -> Table:
    names = (
        "agent",
        ">cost a run",
        ">cost a success",
        ">tokens in",
        ">of them cached",
        ">tokens out",
        ">time",
        ">model",
        ">programs",
        ">CPU of programs",
        ">steps",
        ">model calls",
    )
    rows = []
    for each in field.agents:
        wins = sum(run.profile.success for run in each.runs)
        spent = [run.summary.cost for run in each.runs]
        told = [cost for cost in spent if cost is not None]
        whole = sum(told) if each.cost is not None else None
        calls = each.mean(known("tokens", lambda run: run.summary.model_calls))
        rows.append(
            (
                each.who,
                dollars(each.cost),
                dollars(whole / wins if whole is not None else None) if wins else NOTHING,
                tokens(each.mean(known("tokens", lambda run: run.summary.tokens_in))),
                tokens(each.mean(known("tokens", lambda run: run.summary.tokens_cached))),
                tokens(each.mean(known("tokens", lambda run: run.summary.tokens_out))),
                duration(each.mean(seconds_of)),
                duration(each.mean(_model_seconds)),
                duration(each.mean(_program_seconds)),
                duration(each.mean(known("execution", lambda run: run.summary.execution_cpu))),
                count(round(each.mean(lambda run: run.summary.steps) or 0)),
                NOTHING if calls is None else count(round(calls)),
            )
        )
    notes = (
        "Means over tasks of means over runs. A cost is not known where a price is missing; it is never "
        "taken for zero. A dash stands where something is not known of each run, as of imported ones.",
    )
    return Table("efficiency", "What a run takes", columns(*names), tuple(rows), notes)


def _model_seconds(run: Seen) -> float | None:
    times = run.profile.times
    return None if times is None else times.model + times.waiting


def _program_seconds(run: Seen) -> float | None:
    times = run.profile.times
    return None if times is None else times.execution


def _longest(field: Field) -> float:
    return max((used for each in field.agents if (used := each.mean(seconds_of)) is not None), default=0.0)


def _thousands(value: float) -> str:
    return (
        f"{value / 1e6:,.1f} M"
        if value >= 1e6
        else f"{value / 1e3:,.0f} k"
        if value >= 10_000
        else f"{value:,.0f}"
    )
