"""What can be set of the agent that follows a recipe."""

from __future__ import annotations

from pydantic import Field

from mlagentbench.agent.spec import Settings


class RecipeSettings(Settings):
    seconds: float = Field(
        180.0, ge=0, description="CPU time of all experiments, the starter's own runs included"
    )
    times: float = Field(
        15.0, ge=0, description="the same as a multiple of the starter's CPU time; the larger of both counts"
    )
    again: int = Field(
        1,
        ge=0,
        description="how often what may be better is run again, each time with another SEED, before it is kept",
    )
    most_experiments: int = Field(100, ge=0, description="besides the starter; the limits usually come first")
