"""What can be set of the agents that speak with a model, and the profiles that set several things at once."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, Field, field_validator, model_validator
from pydantic_core import PydanticUndefined

from mlagentbench.agent.protocol import ACTION, ACTION_INPUT
from mlagentbench.agent.spec import Settings
from mlagentbench.environment.actions.registry import all_actions

SMALL: dict[str, Any] = {
    "protocol": "json",
    "prompt": "short",
    "actions": ("Read File", "Edit Script (AI)", "Undo Edit Script", "Execute Script", "Final Answer"),
    "steps_in_context": 2,
    "observations_in_context": 2,
    "observation_limit": 1_500,
    "long_observations": "cut",
    "guided": True,
    "directed": True,
    "informed_edits": True,
    "lost_decisions": 3,
    "temperature": 0.2,
    "retry_temperature": 0.8,
    "edit_temperature": 0.4,
    "fast_temperature": 0.0,
    "max_tokens": 700,
    "edit_tokens": 700,
    "fast_tokens": 300,
    "entry_limit": 300,
}
PROFILES: dict[str, dict[str, Any]] = {"published": {}, "small": SMALL}


class LanguageSettings(Settings):
    """Of every agent that speaks with a model. The defaults are the published values."""

    profile: Literal["published", "small"] = Field(
        "published",
        description="where the other settings come from unless they are given: the published values, or ours for "
        "models of a few billion parameters or less",
    )
    protocol: Literal["text", "tools", "json", "auto"] = Field(
        "text",
        description="how decisions are written: the published text, native tool calls, one JSON object to which "
        "decoding is constrained where the model can, or tools if the model has them and else text",
    )
    prompt: Literal["full", "short"] = Field(
        "full", description="the long or the short wording of the prompt"
    )
    actions: tuple[str, ...] = Field(
        (),
        description="the actions in the prompt, instead of those that the run shows; none: those of the run",
    )
    steps_in_context: int = Field(3, ge=0, description="the last steps that the model is shown")
    observations_in_context: int = Field(
        3, ge=0, description="of these, the last ones with what was observed"
    )
    observation_limit: int = Field(
        5_000, ge=100, description="characters of an observation beyond which it is shortened"
    )
    observation_block: int = Field(
        10_000, ge=1_000, description="characters of a long observation that are summed up at once"
    )
    long_observations: Literal["summarise", "cut"] = Field(
        "summarise",
        description="whether the fast model sums up what is too long, or its middle is left out",
    )
    guided: bool = Field(
        False,
        description="offer only what can lead on: no edit before a first run, nothing again while nothing has changed, "
        "after an edit a run, nothing again exactly as it failed (edits: twice), nothing but undoing where repairs "
        "failed twice, and no final answer before an edited script has run without an error and with another score",
    )
    directed: bool = Field(
        False,
        description="say which kind of change the next edit should make, unless it is a repair: a stronger method, "
        "then its settings, then the input, and again",
    )
    informed_edits: bool = Field(
        False,
        description="show the model that edits what other file was read last, and how the script failed, where it did "
        "when it was last run",
    )
    max_tries: int = Field(
        5, ge=1, description="replies for one decision; after each that cannot be used, the reason is told"
    )
    lost_decisions: int = Field(
        1, ge=1, description="decisions in a row without a reply that can be used, at which the agent stops"
    )
    temperature: float = Field(0.5, ge=0, description="of the model that decides")
    retry_temperature: float | None = Field(
        None, ge=0, description="the same, after a reply that could not be used; null: no other"
    )
    max_tokens: int = Field(2_000, ge=1, description="output tokens of one decision")
    edit_temperature: float = Field(0.5, ge=0, description="of the model that edits")
    edit_tokens: int = Field(4_000, ge=1, description="output tokens of one edit, before it is gone on with")
    fast_temperature: float = Field(0.01, ge=0, description="of the model that sums up")
    fast_tokens: int = Field(2_000, ge=1, description="output tokens of one summary")
    entry_limit: int | None = Field(
        None, ge=1, description="characters of one entry, where decoding is constrained; null: no limit"
    )

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, given: Any) -> Any:
        """What a profile says holds where nothing else was said. A record keeps all of it."""
        if isinstance(given, dict) and given.get("profile") in PROFILES:
            return PROFILES[given["profile"]] | given
        return given

    @field_validator("actions")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in all_actions():
                near = get_close_matches(name, all_actions(), 1)
                raise ValueError(
                    f"there is no action {name!r}{f'; did you mean {near[0]!r}?' if near else ''}"
                )
        return names


RESEARCH_ENTRIES = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")


class ResearchSettings(LanguageSettings):
    entries: tuple[str, ...] = Field(
        RESEARCH_ENTRIES,
        validation_alias=AliasChoices("entries", "valid_format_entires"),
        description="what a reply has before its action, in order; the original calls it valid_format_entires",
    )
    retrieval: bool = Field(
        False,
        description="keep a research log of all steps, and show what in it matters when steps leave the context",
    )

    @field_validator("entries")
    @classmethod
    def _before_the_action(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """The action and its input may be named, as in the original: every reply has them, and they are the last."""
        named = tuple(name for name in names if name not in (ACTION, ACTION_INPUT))
        if names[len(named) :] not in ((), (ACTION, ACTION_INPUT)):
            raise ValueError(f"{ACTION} and {ACTION_INPUT} are the last two, in this order")
        for name in named:
            if name not in RESEARCH_ENTRIES:
                near = get_close_matches(name, RESEARCH_ENTRIES, 1)
                raise ValueError(
                    f"there is no entry {name!r}; {f'did you mean {near[0]!r}?' if near else 'they are '}"
                    f"{'' if near else ', '.join(RESEARCH_ENTRIES)}"
                )
        if len(set(named)) < len(named):
            raise ValueError("each entry can be named once")
        return named


def settings_table(model: type[BaseModel], small: Mapping[str, Any] = SMALL) -> str:
    """The settings as a Markdown table, for the documentation."""
    lines = ["| setting | default | `small` | is |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        default = "" if field.default is PydanticUndefined else _shown(field.default)
        instead = _shown(small[name]) if name in small else ""
        lines.append(f"| `{name}` | {default} | {instead} | {field.description} |")
    return "\n".join(lines)


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(value) or "none"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
