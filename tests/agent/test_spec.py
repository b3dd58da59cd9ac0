"""Agents are found by name or by path, and their settings are checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.acting import actions_file, listing, play, steps_of, submitting, writing

from mlagentbench import Action, Environment, run
from mlagentbench.agent.scripted import read_actions
from mlagentbench.agent.spec import build_agent
from mlagentbench.errors import TaskError, UsageError
from mlagentbench.record.folder import RunFolder


class Own:
    """An agent of somebody's own: no settings, twenty lines at most."""

    def run(self, env: Environment) -> None:
        if env.step(listing()).ok:
            env.step(submitting())


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("oracel", "Did you mean 'oracle'"),
        ("xyz", "starter, plain, oracle"),
        ("no.such.module:Agent", "could not be loaded"),
        ("mlagentbench.agent.spec:Missing", "could not be loaded"),
    ],
)
def test_an_unknown_agent_is_answered_with_what_there_is(name: str, about: str) -> None:
    with pytest.raises(UsageError, match=about):
        build_agent(name, {})


def test_an_agent_of_ones_own_needs_a_class_with_run_and_nothing_else(tiny_task: Path, runs: Path) -> None:
    made = run(tiny_task, f"{__name__}:Own", runs=runs)
    assert made.summary.ended == "submitted" and made.summary.steps == 2
    with pytest.raises(UsageError, match="takes no settings"):
        run(tiny_task, f"{__name__}:Own", settings={"colour": "red"}, runs=runs)


def test_a_setting_that_is_wrong_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'flie' .* Its settings are: file"):
        build_agent("scripted", {"file": "actions.jsonl", "flie": "x"})
    with pytest.raises(UsageError, match="'file'"):
        build_agent("scripted", {})


def test_a_file_of_actions_may_hold_comments_and_empty_lines(tmp_path: Path) -> None:
    file = tmp_path / "actions.jsonl"
    file.write_text(
        '# a story\n\n{"name": "List Files"}\n   \n  # more\n{"name": "Read File", "args": {"file_name": "a"}}\n'
    )
    assert read_actions(file) == [Action("List Files"), Action("Read File", {"file_name": "a"})]


@pytest.mark.parametrize(
    "line",
    ["List Files", "[]", "{}", '{"name": 3}', '{"name": "x", "args": [1]}', '{"name": "x"', "3", "null"],
)
def test_a_line_that_is_no_action_is_told_with_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "actions.jsonl"
    file.write_text(f'{{"name": "List Files"}}\n{line}\n')
    with pytest.raises(UsageError, match="line 2"):
        read_actions(file)


def test_a_file_of_actions_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            build_agent("scripted", {"file": path})


def test_the_scripted_agent_plays_until_the_end_of_its_file_or_of_the_run(
    tiny_task: Path, runs: Path
) -> None:
    story = [writing("a.txt", "a"), submitting(), listing(), listing()]
    assert [step.action for step in steps_of(play(tiny_task, story, runs))] == story[:2]
    assert len(steps_of(play(tiny_task, [listing()] * 5, runs, limits={"steps": 3}))) == 3


def test_where_the_file_of_actions_lies_is_recorded_so_that_the_run_can_be_resumed_from_anywhere(
    tiny_task: Path, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    actions_file(tmp_path / "story.jsonl", [submitting()])
    made = run(tiny_task, "scripted", settings={"file": "story.jsonl"}, runs=runs)
    assert RunFolder.open(made.folder).request().settings == {"file": str(tmp_path / "story.jsonl")}


def test_the_oracle_lays_the_solution_over_the_workspace_through_the_environment(
    tiny_task: Path, runs: Path
) -> None:
    made = run(tiny_task, "oracle", runs=runs)
    assert [step.action.name for step in steps_of(made)] == ["Write File", "Execute Script", "Final Answer"]
    assert made.grade is not None and made.grade.success


def test_the_plain_model_is_laid_out_run_and_submitted(own_task: Path, runs: Path) -> None:
    made = run(own_task, "plain", runs=runs)
    laid = (own_task / "plain" / "train.py").read_text(encoding="utf-8")
    first = steps_of(made)[0]
    assert first.action.name == "Write File" and first.action.args["content"] == laid
    assert made.grade is not None and made.grade.valid


def test_without_a_solution_there_is_no_oracle_and_it_is_said_so(own_task: Path, runs: Path) -> None:
    for file in (own_task / "solution").iterdir():
        file.unlink()
    (own_task / "solution").rmdir()
    with pytest.raises(TaskError, match="no solution"):
        run(own_task, "oracle", runs=runs)


def test_the_task_s_own_code_stops_at_the_limit(tiny_task: Path, runs: Path) -> None:
    for agent in ("starter", "plain", "oracle"):
        made = run(tiny_task, agent, runs=runs, limits={"steps": 1})
        assert made.summary.ended == "limit" and made.summary.steps == 1


def test_an_agent_that_has_no_model_to_ask_makes_no_run(tiny_task: Path, runs: Path) -> None:
    with pytest.raises(UsageError, match="'research' needs a language model"):
        run(tiny_task, "research", runs=runs)
    assert not list(runs.rglob("run.json"))
