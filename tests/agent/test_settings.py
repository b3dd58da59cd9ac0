"""The settings that the documentation lists are those that there are, and the published values are the defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench.agent.act import ActAgent
from mlagentbench.agent.prompting import entry_list, prompt
from mlagentbench.agent.react import ReactAgent
from mlagentbench.agent.research import ResearchAgent
from mlagentbench.agent.settings import SMALL, LanguageSettings, ResearchSettings, settings_table
from mlagentbench.agent.spec import AGENTS, build_agent
from mlagentbench.agent.tool_protocol import tool_name
from mlagentbench.agent.tree import settings as tree
from mlagentbench.agent.tree.settings import TreeSettings
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.errors import UsageError

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"


def test_the_page_lists_every_setting_as_it_is():
    page = PAGE.read_text(encoding="utf-8")
    assert settings_table(ResearchSettings) in page and settings_table(LanguageSettings) in page
    assert settings_table(TreeSettings, tree.SMALL) in page
    assert all(f"`{name}`" in page for name in AGENTS)


def test_the_defaults_are_the_published_values():
    published = ResearchSettings()
    assert (published.steps_in_context, published.observations_in_context) == (3, 3)
    assert (published.observation_limit, published.observation_block) == (5_000, 10_000)
    assert (published.temperature, published.fast_temperature) == (0.5, 0.01)
    assert (published.max_tokens, published.max_tries) == (2_000, 5)
    assert (published.protocol, published.retrieval) == ("text", False)
    assert published.entries == ("Reflection", "Research Plan and Status", "Fact Check", "Thought")
    assert (ReactAgent.entries, ActAgent.entries) == (("Thought",), ())


def test_the_entries_of_a_reply_can_be_chosen_by_the_published_name_too():
    chosen = ["Thought", "Action", "Action Input"]
    for name in ("entries", "valid_format_entires"):
        agent, kept = build_agent("research", {name: chosen})
        assert isinstance(agent, ResearchAgent) and kept["entries"] == ["Thought"]
        assert build_agent("research", kept)[1] == kept
    for wrong, reason in {
        ("Thougt",): "did you mean 'Thought'",
        ("Action", "Thought"): "last two",
        ("Thought", "Thought"): "once",
    }.items():
        with pytest.raises(UsageError, match=reason):
            build_agent("research", {"entries": wrong})


def test_a_profile_sets_what_was_not_said_and_survives_the_record():
    _, kept = build_agent("react", {"profile": "small", "temperature": 0.7})
    assert kept["temperature"] == 0.7 and kept["max_tokens"] == SMALL["max_tokens"]
    assert kept["actions"] == list(SMALL["actions"])
    assert build_agent("react", kept)[1] == kept


def test_every_action_has_its_own_tool_name_that_providers_take():
    names = [tool_name(name) for name in all_actions()]
    assert len(set(names)) == len(names)
    assert all(name.isascii() and name.replace("_", "").isalnum() and len(name) <= 64 for name in names)


def test_the_prompts_ask_for_what_the_published_ones_ask_for():
    system = prompt("system_full", problem="P", instructions="I")
    for asked in (
        "plan before",
        "baseline",
        "executed",
        "Nothing can be installed",
        "You submit once",
        "check",
    ):
        assert asked in system
    assert "guessed" in entry_list(["Fact Check"], short=False)
    assert "confirmed only what an observation" in entry_list(["Research Plan and Status"], short=False)
