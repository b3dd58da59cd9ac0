"""Results as curves: how many runs reach how much, and what runs were worth at every budget."""

from __future__ import annotations

from typing import get_args

from mlagentbench.evaluation.anytime import Axis, Mark, curve
from mlagentbench.evaluation.statistics import performance_profile
from mlagentbench.reporting import charts
from mlagentbench.reporting.drawing import drawn, told_of_drawn, whole
from mlagentbench.reporting.model import Figure, Section
from mlagentbench.reporting.scene import Picture
from mlagentbench.reporting.tally import Field
from mlagentbench.reporting.wording import clock, counted

_MARKS = 20
"""Budgets of an anytime curve."""
_LEFT, _RIGHT, _THRESHOLDS = -0.2, 1.0, 48
"""The part of the performance profile that is drawn."""
_AXES: dict[Axis, tuple[str, str, charts.Words]] = {
    "steps": ("steps", "after so many steps", lambda value: f"{value:.0f}"),
    "time": ("time", "after so much time", lambda value: f"{value:g}"),
    "tokens": (
        "tokens",
        "after so many tokens",
        lambda value: f"{value / 1000:,.0f} k" if value >= 10_000 else f"{value:,.0f}",
    ),
    "cost": ("cost", "when runs had cost so much", lambda value: f"${value:.3g}"),
}
_USED: dict[Axis, str] = {"steps": "step", "time": "elapsed", "tokens": "tokens", "cost": "cost"}


def courses(field: Field) -> list[Section]:
    return [_profile(field), _anytime(field)]


def _profile(field: Field) -> Section:
    thresholds = [_LEFT + (_RIGHT - _LEFT) * index / _THRESHOLDS for index in range(_THRESHOLDS + 1)]
    lines = [
        (series, performance_profile([gains for gains in each.gains if gains], thresholds))
        for series, each in drawn(field)
    ]

    def draw(width: int) -> Picture:
        names = ("improvement of more than", "share of runs")
        label = f"Performance profile ({field.variant})"
        return charts.curves(width, label, lines, names, (whole, whole), (0.0, 1.0))

    caption = (
        "For each improvement over the starter, the share of runs that reach more, as the mean over tasks; a curve "
        f"that lies above another is better throughout. Bands are 95 % intervals.{told_of_drawn(field)}"
    )
    figure = Figure("performance-profile", "Performance profile", caption, draw)
    return Section("profile", "Performance profile", (), (figure,))


def _anytime(field: Field) -> Section:
    graded = [run for run in field.runs if run.profile.every_step and run.profile.points]
    if not graded:
        text = (
            "No run had each of its steps graded, so that there is nothing to draw; mlagentbench grade --every-step "
            "grades them."
        )
        return Section("anytime", "Over time", (text,))
    figures = []
    for axis in get_args(Axis):
        ends = [getattr(run.profile.points[-1], _USED[axis]) for run in graded]
        most = max((end for end in ends if end is not None), default=0.0)
        if most > 0:
            figures.append(_over(field, axis, most))
    told = (
        f"{len(graded):,} of {counted(len(field.runs), 'run')} had each of their steps graded; the curves "
        "are of these."
    )
    return Section("anytime", "Over time", (told,), tuple(figures))


def _over(field: Field, axis: Axis, most: float) -> Figure:
    name, after, words = _AXES[axis]
    by, unit = clock(most) if axis == "time" else (1.0, name)
    steps = axis == "steps"
    budgets = sorted(
        {round(at) if steps else at for at in (most * index / _MARKS for index in range(_MARKS + 1))}
    )
    marks: dict[str, list[Mark]] = {}
    dropped = 0
    for _, each in drawn(field):
        graded = [run for run in each.runs if run.profile.every_step and run.profile.points]
        if graded:
            found, without = curve(((run.summary.task, run.profile.points) for run in graded), axis, budgets)
            dropped += without
            if found[0].runs:
                marks[each.who] = found

    def draw(width: int) -> Picture:
        lines = [
            (series, [(mark.budget / by, mark.last) for mark in marks[each.who]])
            for series, each in drawn(field)
            if each.who in marks
        ]
        label = f"Improvement over {name} ({field.variant})"
        return charts.curves(width, label, lines, (unit, "mean improvement"), (words, whole))

    missing = (
        f" {counted(dropped, 'run')} whose {name} is not known in full cannot be drawn." if dropped else ""
    )
    caption = (
        f"By how much the workspaces were better than the starter, on average, {after}. Bands are 95 % intervals."
        f"{missing}{told_of_drawn(field)}"
    )
    return Figure(f"anytime-{axis}", f"Improvement over {name}", caption, draw)
