"""What can be set of the agent that searches over whole solutions."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from mlagentbench.agent.spec import Settings
from mlagentbench.agent.tree.search import Policy

SMALL: dict[str, Any] = {
    "drafts": 1,
    "debug_depth": 1,
    "remembered": 0,
    "output_limit": 800,
    "tokens": 1_500,
    "temperature": 0.4,
    "directed": True,
    "planned": True,
    "preview": 1,
}


class TreeSettings(Settings):
    profile: Literal["published", "small"] = Field(
        "published",
        description="where the other settings come from unless they are given: our own defaults, or those for models "
        "of a few billion parameters or less",
    )
    drafts: int = Field(
        3, ge=0, description="solutions made from the problem alone, before others are improved"
    )
    debug_depth: int = Field(3, ge=0, description="repairs in a row, after which a solution is given up")
    debug_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="how often something broken is repaired rather than something good improved",
    )
    policy: Policy = Field(
        "greedy",
        description="improve the best, or each with half the probability of the one that ranks before it",
    )
    candidates: int = Field(2, ge=1, description="of the best, how many are run again before one is chosen")
    again: int = Field(
        2,
        ge=0,
        description="how often each of them is run again, each time with another SEED; 0: the best as it stands",
    )
    most_nodes: int = Field(100, ge=1, description="solutions in all; the run's limits usually come first")
    remembered: int = Field(20, ge=0, description="of the solutions tried, how many the model is told of")
    directed: bool = Field(
        False,
        description="say which kind of change the next solution should make, unless it is a repair: a stronger method, "
        "then its settings, then the input, and again",
    )
    planned: bool = Field(
        False,
        description="ask for a plan by itself first, and then for a script that carries it out and for nothing else",
    )
    plan_tokens: int = Field(120, ge=1, description="output tokens of such a plan")
    preview: int = Field(
        3, ge=0, description="data files whose first lines the model is shown, the largest first; 0: none"
    )
    output_limit: int = Field(
        3_000, ge=100, description="characters of a script's output that the model is shown"
    )
    max_tries: int = Field(
        3, ge=1, description="replies for one solution; after each without code, the reason is told"
    )
    temperature: float = Field(0.5, ge=0, description="of the model that writes solutions")
    tokens: int = Field(4_000, ge=1, description="output tokens of one solution, before it is gone on with")

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("profile") == "small":
            return SMALL | given
        return given
