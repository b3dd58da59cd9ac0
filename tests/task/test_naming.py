"""Wanted names against those that an archive has, which may be anything."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.errors import PreparationError
from mlagentbench.task.sources.naming import choose, is_safe, matches

PART = st.sampled_from(["a", "b", "..", ".", "", "a b", "x\\y", "C:", "train.csv", "\0", "~"])
NAME = st.lists(PART, min_size=1, max_size=4).map("/".join)
WANTED = st.sampled_from(["a", "a/*", "b/", "*", "train.csv", "a/train.csv", "*/train.csv"])


@given(st.lists(WANTED, min_size=1, max_size=3), st.lists(NAME, max_size=8))
def test_nothing_is_ever_put_outside_of_the_folder(wanted: list[str], names: list[str]) -> None:
    try:
        choice = choose(wanted, names, "it")
    except PreparationError:
        return
    for place, name in choice.found.items():
        assert name in names
        assert Path("/folder", place).is_relative_to("/folder") and ".." not in PurePosixPath(place).parts
        assert any(matches(each, place) for each in wanted)
    assert all(not any(matches(each, place) for place in choice.found) for each in choice.missing)


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../up", "a/../b", "a//b", "./a", "a\\b", "C:/x", "a\0b"]
)
def test_what_leads_elsewhere_is_not_safe(name: str) -> None:
    assert not is_safe(name)


@pytest.mark.parametrize(
    ("wanted", "name", "hit"),
    [
        ("a/*.csv", "a/b.csv", True),
        ("a/*.csv", "a/b/c.csv", False),
        ("a/", "a/b/c.csv", True),
        ("a/", "a", False),
        ("a/", "ab/c", False),
        ("*/x", "a/x", True),
        ("A", "a", False),
    ],
)
def test_a_star_stays_in_its_folder_and_a_folder_is_all_below_it(wanted: str, name: str, hit: bool) -> None:
    assert matches(wanted, name) is hit


@pytest.mark.parametrize(
    "names",
    [["top/a/1", "top/a/2"], ["a/1", "a/2", "top/a/1"], ["1", "2"], ["x/y/a/1", "x/y/a/2", "x/other"]],
)
def test_files_are_found_as_they_are_called_deeper_down_or_one_folder_higher(names: list[str]) -> None:
    choice = choose(["a/1", "a/2"], names, "it")
    assert sorted(choice.found) == ["a/1", "a/2"] and not choice.missing


def test_what_is_missing_is_named() -> None:
    assert choose(["a", "b", "c/*"], ["a"], "it").missing == ["b", "c/*"]
