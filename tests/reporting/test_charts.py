"""Drawings: axes, colours, and that SVG and PNG are of the same picture."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.evaluation.anytime import Axis, Point, curve
from mlagentbench.evaluation.statistics import UNKNOWN, Estimate, wilson
from mlagentbench.reporting import charts
from mlagentbench.reporting.png import as_png
from mlagentbench.reporting.reading import _changes
from mlagentbench.reporting.scene import COLOURS, SERIES, SHAPES, Dot, Picture
from mlagentbench.reporting.svg import as_file, in_page

NAMES = ("one", "two · <b>", "a name that is much too long to be shown in full anywhere on a small screen")


def _pictures(width: int) -> list[Picture]:
    series = charts.series_of(NAMES)
    rows = [(each, wilson(index, 3), "1 %") for index, each in enumerate(series)]
    line = [(x / 10, Estimate(x / 10, x / 10 - 0.1, x / 10 + 0.1)) for x in range(11)]
    words = (str, str)
    return [
        charts.intervals(width, "a <label>", [("task", rows), ("other", rows[:1])], (0.0, 1.0), str),
        charts.intervals(width, "none", [("task", [(series[0], UNKNOWN, "–")])], (0.0, 1.0), str),
        charts.curves(width, "curves", [(series[0], line), (series[1], [])], ("x", "y"), words),
        charts.plane(width, "plane", [(series[0], 0.0, wilson(1, 3), "said")], [(0.0, 0.3)], ("x", "y"), words),
        charts.bars(width, "bars", [("a", "blue"), ("b", "sky")], [(NAMES[2], [1, 0], "x"), ("n", [0, 0], "")], str),
    ]  # fmt: skip


@pytest.mark.parametrize("width", [346, 760])
def test_drawings_are_well_formed_and_stay_inside(width: int) -> None:
    for picture in _pictures(width):
        for text in (as_file(picture), in_page(picture)):
            drawn = ElementTree.fromstring(text)
            assert "style" not in {name for each in drawn.iter() for name in each.attrib}
        assert picture.width == width
        for mark in picture.marks:
            places = [(mark.x, mark.y)] if not hasattr(mark, "points") else mark.points
            assert all(0 <= x <= width and 0 <= y <= picture.height for x, y in places)


def test_a_drawing_gives_the_same_png_each_time() -> None:
    image = pytest.importorskip("PIL.Image")
    for picture in _pictures(760)[:2]:
        data = as_png(picture)
        assert data == as_png(picture)
        opened = image.open(io.BytesIO(data))
        assert opened.size == (1520, round(picture.height * 2))
        assert opened.convert("RGB").getcolors(10**6) and len(opened.convert("RGB").getcolors(10**6)) > 3


def test_every_series_has_a_colour_and_a_shape_of_its_own() -> None:
    assert len({COLOURS[paint] for paint in SERIES}) == len(SERIES) == len(set(SHAPES)) == 8
    assert len(charts.series_of([str(number) for number in range(20)])) == 8
    dots = [Dot(0, 0, "blue", shape) for shape in SHAPES]
    assert len({in_page(Picture(10, 10, "", (dot,))) for dot in dots}) == 8


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 9))
def test_ticks_are_few_inside_and_evenly_apart(low: float, span: float, most: int) -> None:
    found = charts.ticks(low, low + span, most)
    assert len(found) <= most + 2
    room = 1e-6 * max(1.0, abs(low), span)
    assert all(low - room <= tick <= low + span + room for tick in found)
    gaps = [b - a for a, b in pairwise(found)]
    assert all(abs(gap - gaps[0]) <= room for gap in gaps)


_POINTS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.2, 0.5]), st.booleans()), min_size=1, max_size=30
)


@given(st.lists(_POINTS, min_size=1, max_size=4), st.sampled_from(["steps", "time", "tokens", "cost"]))
def test_curves_need_only_the_moments_at_which_something_changed(
    runs: list[list[tuple[bool, float, bool]]], axis: Axis
) -> None:
    whole = [
        tuple(
            Point(
                step=i,
                elapsed=2.0 * i,
                tokens=10 * i,
                cost=0.1 * i,
                valid=v,
                improvement=g if v else None,
                success=s,
            )
            for i, (v, g, s) in enumerate(run)
        )
        for run in runs
    ]
    budgets = [0, 0.5, 1, 3, 7, 20, 80, 400]
    small = [_changes(points) for points in whole]
    assert sum(map(len, small)) <= sum(map(len, whole))
    assert curve([("t", each) for each in small], axis, budgets) == curve(
        [("t", each) for each in whole], axis, budgets
    )
