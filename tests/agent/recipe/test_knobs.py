"""Numbers of a script are found by name and changed where they stand, and nothing else is."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.agent.recipe.book import book
from mlagentbench.agent.recipe.knobs import Knob, is_script, knobs_of, turned, with_constants

SCRIPT = '''"""Größe und 50 Wörter."""

EPOCHS = 3
NAME, OTHER = "ä", True
rates = {"lr": 0.5}


def search(text, count):
    return text[:count]


class Model:
    depth = 2


print("über", search("äöü", 3), model(lr=1e-3, bias=False, names=["EPOCHS = 3"])); HIDDEN = 2_000
optimizer = Adam(lr=0.1, betas=(0.9, 0.99))
'''


def test_numbers_are_found_as_constants_as_named_arguments_and_by_the_parameters_of_functions():
    found = [(knob.name, knob.index, knob.value) for knob in knobs_of(SCRIPT)]
    assert found == [
        ("EPOCHS", 0, 3),
        ("count", 0, 3),
        ("lr", 0, 0.001),
        ("HIDDEN", 0, 2000),
        ("lr", 1, 0.1),
    ]


def test_one_number_is_turned_where_it_stands_also_behind_letters_of_several_bytes():
    knobs = knobs_of(SCRIPT)
    changed = turned(SCRIPT, knobs[1], 6)
    assert changed == SCRIPT.replace('search("äöü", 3)', 'search("äöü", 6)')
    changed = turned(changed, knobs[4], 0.25)
    assert changed.count("lr=0.25") == 1 and "lr=1e-3" in changed
    assert turned(SCRIPT, knobs[3], 4000) == SCRIPT.replace("2_000", "4000")


@given(st.integers(1, 10**9) | st.floats(1e-9, 1e9), st.sampled_from([2.0, 0.5, 2.5, 0.4, 0.1, 10.0]))
def test_a_turned_number_is_of_its_kind_and_another_one_or_none(value, factor):
    after = Knob("x", 0, value).times(factor)
    assert after is None or (type(after) is type(value) and after > 0 and after != value)
    if after is not None:
        script = f"# ü\nx = {value!r}\n"
        assert knobs_of(turned(script, knobs_of(script)[0], after)) == [Knob("x", 0, after)]


def test_constants_are_set_and_a_missing_one_is_an_error():
    changed = with_constants(SCRIPT, {"EPOCHS": ["a", 2]})
    assert changed == SCRIPT.replace("EPOCHS = 3\nNAME", "EPOCHS = ['a', 2]\nNAME")
    with pytest.raises(KeyError):
        with_constants(SCRIPT, {"MISSING": 1})


@pytest.mark.parametrize("text", ["def (", "a = '\0'", "x = 1\n" * 30_000, "(" * 5_000])
def test_what_is_no_script_or_too_long_is_left_alone(text):
    assert not is_script(text)


def test_only_numbers_whose_names_say_what_they_are_for_are_turned():
    def meant(name):
        return any(turn.means(name) for turn in book().turns)

    assert all(
        map(meant, ["EPOCHS", "lr", "LEARNING_RATE", "n_layer", "HIDDEN", "max_features", "BATCH_SIZE"])
    )
    assert not any(
        map(meant, ["SEED", "random_state", "test_size", "LIKELY", "n_head", "HELD_OUT", "n_splits"])
    )


def test_every_experiment_of_a_family_sets_constants_that_its_script_has():
    for family in book().families:
        for values in family.experiments:
            ast.parse(with_constants(family.script, {"METRIC": "accuracy"} | values))
