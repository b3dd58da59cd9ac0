"""From step to step: what the model is shown, replies that cannot be used, prompts that are too long, limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.acting import events_of, listing, reading, steps_of, submitting, writing
from telling import EDIT, STORY, Told, completion, entries_for, replies, reply

from mlagentbench import Action, Run, run
from mlagentbench.errors import UsageError
from mlagentbench.model.errors import TooLongError, UnavailableError
from mlagentbench.model.spec import Completion, ToolCall, Usage
from mlagentbench.record.events import ModelCalled, Note

Play = Callable[..., Run]


@pytest.fixture
def play(tiny_task: Path, runs: Path, speak_with: Callable[..., None]) -> Play:
    """A run of an agent with a model that is told what to say."""

    def play_one(act: Told, agent: str = "react", fast: Told | None = None, **settings: Any) -> Run:
        options = settings.pop("options", {})
        speak_with(
            act, Told([completion(EDIT)] * 9), fast or Told(lambda call: completion(f"summary {call}"))
        )
        return run(tiny_task, agent, "test/told", settings=settings, runs=runs, **options)

    return play_one


def notes(done: Run) -> list[str]:
    return [event.text for event in events_of(done) if isinstance(event, Note)]


def saying(*said: Completion | Action | BaseException, agent: str = "react", protocol: str = "text") -> Told:
    return Told(
        [
            reply(protocol, entries_for(agent, number), each, number) if isinstance(each, Action) else each
            for number, each in enumerate(said, start=1)
        ]
    )


def test_a_call_has_the_published_settings(play):
    act, fast = Told(replies("text")), Told(lambda call: completion("summary"))
    play(act, "research", fast, retrieval=True)
    sampling = act.asked[0][1]
    assert (sampling.temperature, sampling.max_tokens, sampling.stop) == (0.5, 2000, ("Observation:",))
    assert (fast.asked[0][1].temperature, fast.asked[0][1].max_tokens) == (0.01, 2000)


def test_the_prompt_has_the_problem_the_actions_and_the_entries_in_order(play):
    act = Told(replies("text"))
    play(act, "research")
    system = act.asked[0][0][0].content
    assert "Predict how far a ball flies" in system
    assert "- List Files: List what is in a folder" in system and "Read File:" not in system
    places = [
        system.rindex(f"\n{entry}: ") for entry in [*entries_for("research", 1), "Action", "Action Input"]
    ]
    assert places == sorted(places)
    assert [asked[0][0] for asked in act.asked] == [act.asked[0][0][0]] * len(act.asked), "it stays the same"


def test_retrieval_shows_the_action_reflection_which_reads_the_log(play):
    things = {"things_to_reflect_on": "what worked"}
    fast = Told(lambda call: completion(f"summary {call}"))
    act = saying(listing(), reading("train.py"), Action("Reflection", things), submitting(), agent="research")
    done = play(act, "research", fast, retrieval=True)
    assert "- Reflection: " in act.asked[0][0][0].content
    assert steps_of(done)[2].action.args == things, "the model's own words"
    asked = fast.asked[2][0][0].content
    assert "Step 1:\nsummary 0\n\nStep 2:\nsummary 1\n" in asked and "what worked\n" in asked
    assert "- Reflection: " not in _system(play(Told(replies("text")), "research"))


def _system(done: Run) -> str:
    from mlagentbench.environment.desk import Request
    from mlagentbench.record.folder import RunFolder

    call = next(event for event in events_of(done) if isinstance(event, ModelCalled))
    stored = RunFolder.open(done.folder).store().get(call.request)
    return Request.model_validate_json(stored).messages[0].content


def test_retrieval_takes_no_steps_and_shows_what_the_log_says_of_older_ones(play):
    story = [listing()] * 5
    fast = Told(lambda call: completion(f"summary {call}"))
    act = saying(*story, submitting(), agent="research")
    done = play(act, "research", fast, retrieval=True, options={"limits": {"steps": 6}})
    assert len(steps_of(done)) == 6 and done.summary.ended == "submitted"
    first = [asked[0][1].content for asked in act.asked]
    assert all("research log" not in text for text in first[:4])
    assert "summary 4" in first[4], "the fifth call of the fast model retrieves, for the fifth decision"
    retrieved = fast.asked[4][0][0].content
    assert all(f"Step {number}:\nsummary {number - 1}\n" in retrieved for number in range(1, 5)), (
        "the whole log"
    )
    assert "Predict how far a ball flies" in retrieved, "and the problem"
    assert "research plan and status 4, new" in retrieved


def test_the_last_three_steps_are_shown_and_plans_are_carried_without_their_marks(play):
    act = Told(replies("text"))
    play(act, "research")
    messages = act.asked[4][0]
    assert [message.role for message in messages] == ["system", "user", *["assistant", "user"] * 3]
    said = [message.content for message in messages if message.role == "assistant"]
    assert [f"Thought: thought {number}, **new**" in text for number, text in enumerate(said, 2)] == [
        True
    ] * 3
    assert "Research Plan and Status: research plan and status 4, new\n" in said[-1]
    assert messages[3].content.startswith('Observation:\n"""Predicts how far balls fly')


def test_steps_beyond_the_observations_in_context_are_shown_without_theirs(play):
    act = Told(replies("text"))
    play(act, "research", observations_in_context=1)
    observed = [message.content for message in act.asked[4][0][2:] if message.role == "user"]
    assert observed[:2] == ["Observation:\n[left out]"] * 2 and "train.py is saved" in observed[2]


def test_a_plan_stays_when_no_step_is_shown(play):
    act = Told(replies("text"))
    play(act, "research", steps_in_context=0)
    messages = act.asked[3][0]
    assert len(messages) == 2 and "research plan and status 3, new" in messages[1].content


def test_tool_calls_are_given_back_as_they_came(play):
    act = Told(replies("tools"))
    play(act, "research", protocol="tools")
    messages, sampling, tools = act.asked[1]
    assert [tool.name for tool in tools][:2] == ["list_files", "copy_file"] and sampling.stop == ()
    (call,) = messages[2].tool_calls
    assert (call.id, call.name, call.signature) == ("call-1", "list_files", "sig-1")
    assert (messages[3].role, messages[3].tool_call_id) == ("tool", "call-1") and "train.py" in messages[
        3
    ].content
    assert "Thought: thought 1" in messages[2].content


def test_a_format_error_is_told_and_another_reply_asked_for(play):
    good = replies("text", "react")
    act = Told([completion("Thought: hm"), completion(""), *good])
    done = play(act)
    assert [step.action for step in steps_of(done)] == STORY, "a wrong reply takes no step"
    last = act.asked[1][0]
    assert last[-2].content == "Thought: hm" and "ends before the entry 'Action'" in last[-1].content
    assert (
        act.asked[2][0][-2].content == "(nothing)" and "'Thought' is missing" in act.asked[2][0][-1].content
    )
    assert len(act.asked[3][0]) == 4, "and forgotten once it is right"
    calls = [event for event in events_of(done) if isinstance(event, ModelCalled) and event.role == "act"]
    assert len(calls) == len(STORY) + 2, "every reply is in the record"


@pytest.mark.parametrize(
    ("protocol", "bad", "reason"),
    [
        ("text", completion("Thought: a\nAction: Lst Files\nAction Input: {}"), "no action 'Lst Files'"),
        (
            "text",
            completion('Thought: a\nAction: List Files\nAction Input: {"dir', stop_reason="length"),
            "The reply reached the limit of output tokens.",
        ),
        ("text", completion("", stop_reason="refused"), "would not answer"),
        ("tools", completion("I am done."), "No tool was called"),
        ("tools", completion("", ToolCall(id="a", name="run", arguments="{}")), "no tool 'run'"),
        (
            "tools",
            completion("", ToolCall(id="a", name="list_files", arguments='{"dir')),
            "could not be read",
        ),
        ("tools", completion("", ToolCall(id="a", name="list_files", arguments="{} {}")), "More follows"),
        (
            "tools",
            completion("", *(ToolCall(id=str(i), name="list_files", arguments="{}") for i in range(2))),
            "2 tools were called",
        ),
        ("json", completion('{"thought": "x", "action": "List Files"}'), "exactly these names"),
        (
            "json",
            completion('{"thought": "x", "action": "List Files", "action_input": "."}'),
            "must be an object",
        ),
        (
            "json",
            completion('{"thought": 1, "action": "List Files", "action_input": {}}'),
            "must be a string",
        ),
        ("json", completion('{"thought": "", "action": "Lst", "action_input": {}}'), "no action 'Lst'"),
        ("json", completion('{"thought": "", "action": "List Files", "action_input": {}} x'), "More follows"),
        ("json", completion('{"thought": "x", "act'), "cut off"),
    ],
)
def test_each_protocol_says_what_is_wrong(play, protocol, bad, reason):
    act = saying(bad, submitting(), protocol=protocol)
    done = play(act, protocol=protocol)
    assert done.summary.ended == "submitted"
    messages = act.asked[1][0]
    assert reason in messages[-1].content
    if bad.tool_calls and all(call.arguments == "{}" for call in bad.tool_calls):
        answers = [message.tool_call_id for message in messages if message.role == "tool"]
        assert answers == [call.id for call in bad.tool_calls], "each call is answered"


def test_five_replies_that_cannot_be_used_end_the_run_with_a_note(play):
    act = Told(lambda call: completion(f"no {call}"))
    done = play(act)
    assert act.said == 5 and done.summary.ended == "stopped" and done.grade is not None
    assert any("None of 5 replies could be used" in note and "stops here" in note for note in notes(done))


def test_a_lost_decision_counts_as_a_step_where_the_agent_goes_on(play):
    bad = completion("no")
    act = saying(listing(), *[bad] * 5, *[bad] * 4, listing(), *[bad] * 15)
    done = play(act, lost_decisions=3, options={"limits": {"steps": 20}})
    assert [step.action.name for step in steps_of(done)] == [
        "List Files", "No Action", "List Files", "No Action", "No Action",
    ]  # fmt: skip
    assert (
        "a step was lost" in act.asked[6][0][-1].content
        and "'Thought' is missing" in act.asked[6][0][-1].content
    )
    assert "a step was lost" not in act.asked[11][0][-1].content
    assert len([note for note in notes(done) if "None of 5" in note]) == 4 and done.summary.ended == "stopped"


def test_a_limit_that_a_reply_reaches_ends_the_run_before_the_action(play):
    many = {"usage": Usage(input=10_000, output=10)}
    act = Told([each.model_copy(update=many) for each in replies("text", "react")])
    done = play(act, options={"limits": {"tokens": 30_000}})
    assert act.said == 3 and len(steps_of(done)) == 2 and done.summary.ended == "limit"
    act = Told(lambda call: completion("no").model_copy(update=many))
    done = play(act, options={"limits": {"tokens": 30_000}})
    assert act.said == 3 and not steps_of(done) and done.summary.ended == "limit"


LONG = "".join(f"line {number}\n" for number in range(3_000))


def test_a_long_observation_is_summed_up_in_blocks(play):
    fast = Told(lambda call: completion(f"summary {call}"))
    act = saying(writing("long.txt", LONG), reading("long.txt"), submitting())
    play(act, fast=fast)
    count = -(-len(LONG) // 10_000)
    assert fast.said == count + 1
    assert all(len(asked[0][0].content) < 11_000 for asked in fast.asked)
    assert LONG[10_000:20_000] in fast.asked[1][0][0].content
    shown = act.asked[2][0][-1].content
    assert shown == f"Observation:\n[a summary of {len(LONG):,} characters]\nsummary {count}"


def test_an_observation_of_up_to_5000_characters_is_shown_as_it_is(play):
    fast = Told(lambda call: completion(f"summary {call}"))
    act = saying(
        writing("a.txt", "a" * 5_000),
        reading("a.txt"),
        writing("a.txt", "b" * 5_001),
        reading("a.txt"),
        submitting(),
    )
    play(act, fast=fast)
    assert act.asked[2][0][-1].content == "Observation:\n" + "a" * 5_000
    assert fast.said == 1 and "summary 0" in act.asked[4][0][-1].content


def test_blocks_that_are_too_long_for_the_fast_model_are_halved(play):
    answers = [TooLongError("too long"), completion("one"), completion("two")]
    act = saying(writing("a.txt", "x" * 6_000), reading("a.txt"), submitting())
    fast = Told(answers)
    play(act, fast=fast)
    assert "one\ntwo" in act.asked[2][0][-1].content and fast.said == 3


def test_a_small_profile_cuts_instead_and_shows_few_actions(play):
    act = saying(writing("long.txt", LONG), reading("long.txt"), submitting(), protocol="json")
    done = play(act, profile="small", guided=False, directed=False)
    system = act.asked[0][0][0].content
    assert "- Read File: " in system and "- List Files: " not in system
    shown = act.asked[2][0][-1].content
    assert len(shown) < 1_700 and "characters left out" in shown and shown.endswith("line 2999\n")
    schema = act.asked[0][1].json_schema
    assert [each["properties"]["action"]["const"] for each in schema["anyOf"]] == [
        "Read File", "Edit Script (AI)", "Undo Edit Script", "Execute Script", "Final Answer",
    ]  # fmt: skip
    assert schema["anyOf"][0]["properties"]["thought"]["maxLength"] == 300
    names = schema["anyOf"][1]["properties"]["action_input"]["properties"]
    assert {each["maxLength"] for each in names.values()} == {300}
    assert done.summary.ended == "submitted"


class Narrow(Told):
    """Takes no prompt beyond `limit` characters."""

    limit = 0

    def complete(self, messages, sampling, tools=()):
        size = sum(len(message.content) for message in messages)
        if size > self.limit:
            raise TooLongError(f"{size} characters are too many.")
        return super().complete(messages, sampling, tools)


def test_a_prompt_that_is_too_long_is_shortened_from_its_oldest_step_on(play):
    probe = Told(replies("text", "react"))
    play(probe)
    system = len(probe.asked[0][0][0].content)
    act = Narrow(replies("text", "react"))
    act.limit = system + 1_500
    done = play(act)
    assert [step.action for step in steps_of(done)] == STORY and done.summary.ended == "submitted"
    sizes = [sum(len(message.content) for message in asked[0]) for asked in act.asked]
    assert max(sizes) <= act.limit
    refused = [event for event in events_of(done) if isinstance(event, ModelCalled) and event.error]
    assert refused and {event.error_kind for event in refused} == {"TooLongError"}, (
        "and the record tells of it"
    )


def test_a_problem_that_does_not_fit_at_all_ends_the_run_with_a_note(play):
    act = Narrow([])
    done = play(act)
    assert done.summary.ended == "stopped" and done.grade is not None
    assert any("too long for the model" in note and "characters are too many" in note for note in notes(done))


def test_other_errors_of_a_model_leave_the_run_to_be_resumed(play):
    with pytest.raises(UnavailableError, match="gone"):
        play(saying(listing(), UnavailableError("gone")))


def test_wrong_use_is_told_before_anything_is_asked(play):
    act = Told([])
    with pytest.raises(UsageError, match="did you mean 'List Files'"):
        play(act, actions=["List File"])
    with pytest.raises(UsageError, match="--show-action 'Run Command'"):
        play(act, actions=["Run Command"])
    act.speaks_tools = False
    with pytest.raises(UsageError, match="no native tool calling"):
        play(act, protocol="tools")
    with pytest.raises(UsageError, match="'profile'"):
        play(act, profile="tiny")
    assert not act.asked


@pytest.mark.parametrize(("able", "protocol"), [(True, "tools"), (False, "text")])
def test_auto_takes_tools_where_the_model_has_them(play, able, protocol):
    act = saying(submitting(), protocol=protocol)
    act.speaks_tools = able
    assert play(act, protocol="auto").summary.ended == "submitted"
    assert bool(act.asked[0][2]) == able


def test_a_guided_agent_is_told_what_leads_on_and_refused_the_rest(play):
    act = saying(reading("train.py"), *STORY[1:], protocol="json")
    done = play(act, profile="small", max_tries=2)
    asked = [call[0][-1].content for call in act.asked]
    assert asked[0].endswith("next action among these: Read File, Execute Script.")
    assert asked[1].endswith("next action among these: Execute Script.")
    assert "Read File leads nowhere now. Choose among: Execute Script." in asked[2]
    assert [step.action for step in steps_of(done)] == STORY[1:]
    assert done.summary.ended == "submitted"


def test_an_agent_settles_how_edits_are_asked_for(tiny_task, runs, speak_with):
    edit = Told([completion(EDIT)])
    speak_with(Told(replies("text", "react")), edit)
    run(tiny_task, "react", "test/told", settings={"edit_tokens": 123, "edit_temperature": 0.1}, runs=runs)
    ((_, sampling, _),) = edit.asked
    assert (sampling.max_tokens, sampling.temperature) == (123, 0.1)


def test_who_asks_the_same_again_asks_with_another_seed(play):
    act = Told([completion("Nothing.") for _ in range(4)])
    done = play(act, max_tries=4)
    assert done.summary.ended == "stopped"
    assert [messages for messages, _, _ in act.asked[2:]] == [act.asked[1][0]] * 2
    assert [sampling.seed for _, sampling, _ in act.asked] == [0, 0, 1, 2]
