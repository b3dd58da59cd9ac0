"""Settings of agents of one's own: a name that is not there is refused; aliases hold, also when a run is resumed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from mlagentbench import Environment
from mlagentbench.agent.spec import build_agent, needs_model
from mlagentbench.errors import UsageError
from mlagentbench.launch.checking import draft
from mlagentbench.launch.reading import make_plan


class Trying:
    class Settings(BaseModel):
        tries: int = 3
        rate: float = Field(0.1, alias="learning-rate")
        depth: int = Field(1, validation_alias=AliasChoices("depth-of-tree", "levels"))

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def run(self, env: Environment) -> None: ...


class Open(Trying):
    class Settings(BaseModel):
        model_config = ConfigDict(extra="allow")

    def __init__(self, settings: Settings) -> None: ...


class Quiet(Trying):
    needs_model = False


def asks(env: Environment) -> None: ...


def asks_nothing(env: Environment) -> None: ...


asks_nothing.needs_model = False  # type: ignore[attr-defined]


def test_a_mistyped_setting_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UsageError, match=r"'try' .*no such setting\. Did you mean 'tries'\? Its settings are: tries"
    ):
        build_agent(f"{__name__}:Trying", {"try": 3})
    with pytest.raises(UsageError, match=r"'flie' .* Did you mean 'file'"):
        build_agent("scripted", {"flie": "x", "file": __file__})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"learning-rate": 0.5}, {"rate": 0.5}),
        ({"rate": 0.5}, {"rate": 0.5}),
        ({"levels": 2}, {"depth": 2}),
        ({"depth-of-tree": 2, "tries": 5}, {"depth": 2, "tries": 5}),
    ],
)
def test_aliases_hold_and_what_is_recorded_makes_the_same_agent_again(
    given: dict[str, Any], kept: dict[str, Any]
) -> None:
    _, recorded = build_agent(f"{__name__}:Trying", given)
    assert recorded == {"tries": 3, "rate": 0.1, "depth": 1} | kept
    assert build_agent(f"{__name__}:Trying", recorded)[1] == recorded


def test_a_model_that_takes_any_name_may() -> None:
    assert build_agent(f"{__name__}:Open", {"anything": 1})[1] == {"anything": 1}


def test_a_class_and_a_function_can_say_that_they_ask_no_model() -> None:
    own = {name: needs_model(f"{__name__}:{name}") for name in ("Trying", "Quiet", "asks", "asks_nothing")}
    assert own == {"Trying": True, "Quiet": False, "asks": True, "asks_nothing": False}


def test_an_experiment_names_what_an_agent_without_a_model_has_to_say() -> None:
    plan = make_plan(
        {"tasks": ["house-price"], "agents": [f"{__name__}:{n}" for n in ("asks", "Quiet")]}, "This"
    )
    (problem,) = draft(plan).problems
    assert ":asks needs a model" in problem and "`needs_model = False`" in problem
