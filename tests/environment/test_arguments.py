"""An agent's mistake is an observation in words; whatever it sends, the run goes on and its record can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.acting import content, listing, reading, steps_of, writing

from mlagentbench import Action, Environment
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.errors import UsageError

RIGHT: dict[str, dict[str, Any]] = {
    "List Files": {"dir_path": "."},
    "Read File": {"file_name": "train.py"},
    "Write File": {"file_name": "x.py", "content": "x"},
    "Append File": {"file_name": "x.py", "content": "x"},
    "Copy File": {"source": "train.py", "destination": "y.py"},
    "Inspect Script Lines": {"script_name": "train.py", "start_line_number": 1, "end_line_number": 2},
    "Undo Edit Script": {"script_name": "x.py"},
    "Execute Script": {"script_name": "train.py"},
    "Python REPL": {"command": "1"},
    "Request Help": {"request": "?"},
    "Final Answer": {"final_answer": "!"},
    "Understand File": {"file_name": "train.py", "things_to_look_for": "the model"},
    "Edit Script (AI)": {"script_name": "train.py", "edit_instruction": "none", "save_name": "z.py"},
    "Edit Script Segment (AI)": {
        "script_name": "train.py", "start_line_number": 1, "end_line_number": 2,
        "edit_instruction": "none", "save_name": "z.py",
    },
    "Reflection": {"things_to_reflect_on": "it"},
    "Append Summary to Research Log": {"content": "nothing yet"},
    "Retrieval from Research Log": {"current_plan": "none"},
    "Run Command": {"command": "true"},
}  # fmt: skip
OPTIONAL = {("List Files", "dir_path")}


def everything(open_env: Callable[..., Environment]) -> Environment:
    return open_env(show_actions=["Run Command"])


def test_the_published_names_and_arguments_are_all_there() -> None:
    programs = ("Run Program", "Let Program Run")  # of the agent `command`; see test_program.py
    kinds = {name: kind for name, kind in all_actions().items() if name not in programs}
    assert {name: set(kind.arguments.model_fields) for name, kind in kinds.items()} == {
        **{name: set(args) for name, args in RIGHT.items()},
        "Execute Script": {"script_name", "arguments"},
    }


def test_the_published_actions_are_shown_and_the_others_are_accepted_all_the_same(env: Environment) -> None:
    assert env.actions == (
        "List Files", "Copy File", "Inspect Script Lines", "Undo Edit Script", "Execute Script", "Final Answer",
    )  # fmt: skip
    assert env.step(writing("hidden.txt", "but accepted")).ok
    assert env.step(reading("hidden.txt")).ok


def test_run_command_is_off_unless_shown(open_env: Callable[..., Environment]) -> None:
    command = Action("Run Command", {"command": "echo $((6 * 7)) | tee out.txt; exit 3"})
    off = open_env().step(command)
    assert not off.ok and "no action named 'Run Command'" in off.text and "Execute Script" in off.text
    env = everything(open_env)
    on = env.step(command)
    assert not on.ok and on.text.startswith("42\n[exit status 3;")
    assert content(env, "out.txt") == "42\n"


def test_show_and_hide_change_the_prompt_and_refuse_unknown_names(
    open_env: Callable[..., Environment],
) -> None:
    env = open_env(show_actions=["Read File"], hide_actions=["Copy File"])
    assert "Read File" in env.actions and "Copy File" not in env.actions
    with pytest.raises(UsageError, match="no action 'Raed File'"):
        open_env(show_actions=["Raed File"])


def test_an_unknown_action_is_answered_with_the_ones_there_are(env: Environment) -> None:
    said = env.step(Action("Open The Pod Bay Doors", {"HAL": 9000}))
    assert (
        not said.ok and "no action named 'Open The Pod Bay Doors'" in said.text and "List Files" in said.text
    )
    assert not env.step(Action("", {})).ok


@pytest.mark.parametrize("name", RIGHT)
def test_each_missing_argument_is_named(open_env: Callable[..., Environment], name: str) -> None:
    env = everything(open_env)
    for argument in RIGHT[name]:
        if (name, argument) not in OPTIONAL:
            rest = {key: value for key, value in RIGHT[name].items() if key != argument}
            said = env.step(Action(name, rest))
            assert not said.ok and f"The argument {argument!r} is missing." in said.text
            assert f"The arguments of {name} are: " in said.text


@pytest.mark.parametrize("name", RIGHT)
def test_an_argument_too_many_is_named(open_env: Callable[..., Environment], name: str) -> None:
    said = everything(open_env).step(Action(name, {**RIGHT[name], "temperature": 1}))
    assert not said.ok and "There is no argument 'temperature'." in said.text


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("wrong", [None, {"a": 1}, [[]], 1.5, True], ids=repr)
def test_an_argument_of_the_wrong_type_is_named_and_nothing_happens(
    open_env: Callable[..., Environment], name: str, wrong: object
) -> None:
    env = everything(open_env)
    for argument in RIGHT[name]:
        if argument.endswith("_line_number") and wrong is True:
            continue  # pydantic takes true as 1, and so does Python
        said = env.step(Action(name, {**RIGHT[name], argument: wrong}))
        assert not said.ok and f"The argument {argument!r} is not right" in said.text, said.text
    assert not env.done


def test_numbers_may_come_as_text_as_models_often_write_them(env: Environment) -> None:
    args = {"script_name": "train.py", "start_line_number": "1", "end_line_number": "2"}
    assert env.step(Action("Inspect Script Lines", args)).ok


@pytest.mark.parametrize("name", ["Read File", "Write File", "Execute Script", "Copy File", "List Files"])
def test_a_nul_in_a_path_is_refused_in_words(env: Environment, name: str) -> None:
    args = {**RIGHT[name], next(iter(RIGHT[name])): "a\0b"}
    said = env.step(Action(name, args))
    assert not said.ok and "NUL" in said.text


@pytest.mark.parametrize(
    "action",
    [
        Action("Execute Script", {"script_name": "train.py", "arguments": ["a\0b"]}),
        Action("Run Command", {"command": "true\0"}),
    ],
    ids=lambda action: action.name,
)
def test_a_nul_in_an_argument_of_a_program_is_refused_in_words(
    open_env: Callable[..., Environment], action: Action
) -> None:
    said = everything(open_env).step(action)
    assert not said.ok and "NUL" in said.text


def test_lone_surrogates_become_something_that_can_be_written_and_recorded(env: Environment) -> None:
    assert env.step(writing("\ud800.txt", "x\udfffy")).ok
    assert content(env, "?.txt") == "x?y"
    assert not env.step(Action("Nonsense \ud800", {"\udfff": "\ud800"})).ok
    assert env.step(Action("Python REPL", {"command": "print('\ud800')"})).text == "?"
    assert len(steps_of(env.folder.path)) == 4


@pytest.mark.parametrize("text", ["a 'b c' d", 'a "b c" d', ["a", "b c", "d"], r"a b\ c d"])
def test_arguments_of_a_script_may_be_a_list_or_written_as_in_a_shell(env: Environment, text: object) -> None:
    env.step(writing("show.py", "import sys; print(sys.argv[1:])"))
    said = env.step(Action("Execute Script", {"script_name": "show.py", "arguments": text}))
    assert said.text.startswith("['a', 'b c', 'd']\n")


def test_arguments_with_an_open_quote_are_refused_in_words(env: Environment) -> None:
    said = env.step(Action("Execute Script", {"script_name": "train.py", "arguments": "a 'b"}))
    assert not said.ok and "arguments" in said.text and "quot" in said.text


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "args",
    [
        {"file_name": nested(400)},
        {"file_name": {"a": nested(150)}},
        {"file_name": float("nan")},
        {"file_name": 1e999},
    ],
    ids=["deep", "deeper than a record", "not a number", "infinite"],
)
def test_what_json_parsers_let_through_neither_stops_the_run_nor_spoils_its_record(
    env: Environment, args: dict[str, Any]
) -> None:
    said = env.step(Action("Read File", args))
    assert not said.ok and "file_name" in said.text
    assert env.step(listing()).ok
    assert len(steps_of(env.folder.path)) == 2


def test_python_objects_in_arguments_are_the_callers_mistake(env: Environment) -> None:
    with pytest.raises(UsageError, match="plain JSON"):
        env.step(Action("Read File", {"file_name": object()}))
    assert env.history == []


any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=30)
    | st.sampled_from(
        ["..", "/", "train.csv", "../../x", "/workspace/train.py", "a/b", "~", "\0", "train.py/", "-"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def any_action(draw: st.DrawFn) -> Action:
    harmless = [
        name for name in RIGHT if name not in ("Execute Script", "Python REPL", "Final Answer", "Run Command")
    ]
    name = draw(st.sampled_from([*harmless, "Execute Script"]) | st.text(max_size=20))
    args = {key: draw(any_json) for key in RIGHT.get(name, {}) if draw(st.integers(0, 9))}
    if name == "Execute Script":
        args.pop("script_name", None)
    return Action(name, args)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(any_action(), min_size=1, max_size=12))
def test_whatever_is_asked_for_is_answered_and_recorded(
    open_env: Callable[..., Environment], actions: list[Action]
) -> None:
    env = open_env()
    told = [env.step(action) for action in actions]
    assert all(observation.text for observation in told if not observation.ok)
    assert [step.observation for step in steps_of(env.folder.path)] == told
    env.suspend()


SIZES = [131_071, 131_072, 200_000, 3_000_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["Execute Script", "Run Command"])
def test_an_argument_that_no_program_can_be_started_with_is_an_observation_in_words(
    open_env: Callable[..., Environment], backend: str, name: str, size: int
) -> None:
    env = open_env(show_actions=["Run Command"], sandbox=backend)
    env.step(writing("show.py", "import sys; print(sum(map(len, sys.argv[1:])))"))
    if name == "Execute Script":
        said = env.step(Action(name, {"script_name": "show.py", "arguments": ["x" * size]}))
    else:
        said = env.step(Action(name, {"command": "true " + "x" * (size - 5)}))
    assert said.ok == (size <= 131_071), said.text
    assert said.ok or "file" in said.text
    assert len(said.text) < 2_000 and env.step(listing()).ok


@pytest.mark.parametrize("count", [4_000, 4_001, 100_000, 3_000_000])
@pytest.mark.parametrize("text", [False, True], ids=["list", "shell"])
def test_more_arguments_than_a_command_line_holds_are_an_observation_in_words(
    open_env: Callable[..., Environment], backend: str, count: int, text: bool
) -> None:
    env = open_env(sandbox=backend)
    env.step(writing("show.py", "import sys; print(len(sys.argv) - 1)"))
    arguments = " ".join(["ab"] * count) if text else ["ab"] * count
    said = env.step(Action("Execute Script", {"script_name": "show.py", "arguments": arguments}))
    assert said.ok == (count == 4_000), said.text[:500]
    assert said.ok or "command line" in said.text


HOSTILE = [
    "x" * 256, "x" * 200_000, "y/" * 3_000 + "z", "a\0b", "\ud800", "\udcff.py", "", " ", "\n", "-c", "--", "../x",
    "/proc/self/mem", "/dev/zero", "~", "data/../../..", "train.py/x", "\x1b[2J", "$(reboot)", "é" * 128, "\u202e.py",
]  # fmt: skip


@st.composite
def hostile_action(draw: st.DrawFn) -> Action:
    """Any action with arguments of the right kind that nobody should give."""
    name = draw(st.sampled_from([name for name in RIGHT if name != "Final Answer"]))
    args = dict(RIGHT[name])
    for key in draw(st.lists(st.sampled_from(list(args)), min_size=1, unique=True)):
        if key.endswith("_number"):
            args[key] = draw(st.sampled_from([0, -1, 1, 2**63, 10**300, "1e9", "\ud800"]))
        else:
            args[key] = draw(
                st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=20)
            )
    if name == "Execute Script" and draw(st.booleans()):
        args["arguments"] = draw(st.lists(st.sampled_from(HOSTILE), max_size=4))
    return Action(name, args)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(hostile_action(), min_size=1, max_size=6))
def test_no_action_raises_whatever_its_arguments_are(
    open_env: Callable[..., Environment], actions: list[Action]
) -> None:
    env = open_env(show_actions=["Run Command"], limits={"execution_time": 20})
    told = [env.step(action) for action in actions]
    assert all(observation.text for observation in told if not observation.ok)
    assert [step.observation for step in steps_of(env.folder.path)] == told
    env.suspend()


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_no_single_hostile_argument_raises(env: Environment, name: str, hostile: str) -> None:
    if name in ("Execute Script", "Python REPL", "Final Answer"):
        args = {key: value for key, value in RIGHT[name].items() if key == "script_name"}
        said = env.step(
            Action("Execute Script", {"script_name": hostile} if args else {"arguments": hostile})
        )
        assert not said.ok
        return
    for argument in RIGHT[name]:
        assert env.step(Action(name, {**RIGHT[name], argument: hostile})) is not None
