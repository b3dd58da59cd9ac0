"""Grouping: nobody is left out of the denominator."""

from __future__ import annotations

import json

import pytest
from support.histories import History
from support.runs import graded, write_run

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.groups import compare, group, profiles_of, undecided
from mlagentbench.grading import Grade
from mlagentbench.record import Summary
from mlagentbench.record.request import Origin
from mlagentbench.record.summary import read_summary, summarise


def summary(
    agent="starter", *, ended="submitted", grade: Grade | None = None, task="ball@1", seed=0
) -> Summary:
    return Summary(
        run=f"run-{seed}",
        task=task,
        variant="mini",
        agent=agent,
        model="",
        seed=seed,
        network=False,
        sandbox="bwrap",
        head="",
        ended=ended,
        steps=2,
        failed_steps=0,
        actions={},
        denied=0,
        elapsed=1.0,
        execution_wall=1.0,
        execution_cpu=1.0,
        peak_memory=1,
        grade=grade,
    )


def verdict(score: float, improvement: float, *, valid: bool = True) -> Grade:
    return Grade(
        task="ball@1",
        variant="mini",
        valid=valid,
        score=score if valid else None,
        improvement=improvement if valid else None,
        success=valid and improvement > 0.1,
    )


def test_unfinished_and_invalid_runs_stay_in_the_denominator():
    runs = [
        summary(grade=verdict(1.0, 0.4)),
        summary(grade=verdict(0.0, 0.0, valid=False)),
        summary(ended="", grade=None),
        summary(ended="error", grade=None),
    ]
    (only,) = group(runs)
    assert (only.runs, only.ended, only.valid) == (4, 3, 1)
    assert only.success.value == 0.25
    assert only.score.value == 1.0
    assert only.improvement.value == pytest.approx(0.1)


def test_a_group_is_one_task_one_agent_in_a_stable_order():
    runs = [
        summary("oracle"),
        summary("starter"),
        summary("oracle", task="apple@1"),
        summary("oracle", seed=1),
    ]
    assert [(each.task, each.agent, each.runs) for each in group(runs)] == [
        ("apple@1", "oracle", 1),
        ("ball@1", "oracle", 2),
        ("ball@1", "starter", 1),
    ]


def test_a_difference_that_the_runs_do_not_decide_is_said_and_a_clear_one_is_not():
    close = [
        summary(agent, grade=verdict(1, gain))
        for agent, gain in [("a", 0.1), ("a", 0.3), ("b", 0.2), ("b", 0.25)]
    ]
    clear = [
        summary(agent, grade=verdict(1, gain))
        for agent, gain in [("a", 0.1), ("a", 0.2), ("a", 0.3), ("b", 0.6), ("b", 0.65), ("b", 0.61)]
    ]
    assert "not decided by these runs; their difference may be none" in undecided(group(close))[0]
    assert undecided(group(clear)) == []
    assert "one run tells nothing" in undecided(group([clear[0], clear[3]]))[0]


def test_a_place_without_runs_is_told_with_what_to_do(tmp_path):
    with pytest.raises(UsageError, match="mlagentbench run TASK"):
        compare(tmp_path)
    with pytest.raises(UsageError, match="no agent of that name"):
        compare("nobody", folder=tmp_path)


@pytest.fixture
def runs(tmp_path):
    """Two agents on two tasks in one experiment, one of them in another as well; four seeds each."""

    def write(agent, task, gains, *, experiment="first", model="", seeds=range(4)):
        for seed, gain in zip(seeds, gains, strict=True):
            events = History().step("Final Answer").end().events
            name = f"{experiment}-{agent}-{task}-{seed}"
            asked = {"agent": agent, "task": f"{task}@1", "seed": seed, "model": model}
            write_run(tmp_path, name, events, [graded("snapshot-1", gain)], experiment=experiment, **asked)

    write("good", "cifar10", [0.5, 0.55, 0.6, 0.52])
    write("good", "imdb", [0.3, 0.35, 0.3, None])
    write("poor", "cifar10", [0.1, 0.12, 0.11, 0.09])
    write("poor", "imdb", [0.0, None, 0.02, 0.01])
    write("poor", "imdb", [0.2, 0.1, 0.0, 0.05], experiment="second", model="test/told", seeds=range(4, 8))
    return tmp_path


def test_an_agent_an_experiment_an_agent_with_its_model_and_a_folder_are_all_places(runs):
    def count(place):
        return sum(group.runs for group in compare(place, folder=runs).groups)

    assert count("poor") == 12
    assert count("first") == 16
    assert count("poor--test/told") == count("poor--test_told") == 4
    assert count("poor--no-model") == 8
    assert count(runs / "second") == 4


def test_two_agents_are_paired_over_tasks_and_seeds(runs):
    found = compare("good", "poor--no-model", folder=runs).paired
    assert (found.first, found.second) == ("good", "poor--no-model")
    assert [(each.task, each.first_runs, each.paired) for each in found.tasks] == [
        ("cifar10@1", 4, True),
        ("imdb@1", 4, True),
    ]
    assert found.improvement.first.value == pytest.approx((0.5425 + 0.2375) / 2)
    assert found.improvement.effect.value == pytest.approx((0.4375 + 0.23) / 2)
    assert found.improvement.better == "first"
    assert found.words[0] == "Improvement: decided, good is better than poor--no-model."
    assert found.probability.value == pytest.approx((1 + 13 / 16) / 2)


def test_the_other_way_round_the_other_one_is_better(runs):
    there, back = compare("good", "poor", folder=runs).paired, compare("poor", "good", folder=runs).paired
    assert back.improvement.effect.value == pytest.approx(-there.improvement.effect.value)
    assert back.improvement.better == "second"


def test_the_two_agents_of_one_place_are_compared_and_three_are_not(runs):
    assert compare("first", folder=runs).paired.first == "good"
    assert compare(folder=runs).paired is None
    assert compare("second", folder=runs).paired is None


def test_other_seeds_are_compared_all_with_all_and_tasks_of_one_side_are_named(runs):
    found = compare("good", "second", folder=runs).paired
    assert [(each.task, each.paired) for each in found.tasks] == [("imdb@1", False)]
    assert found.left_out == ("cifar10@1 (mini)",)
    assert "Only one of them has runs of cifar10@1 (mini)" in found.words[-1]
    assert "about " in found.words[0] and "runs of each on each task would decide it" in found.words[0]


def test_profiles_of_places_that_overlap_are_read_once_and_a_damaged_run_is_told(runs):
    profiles, problems = profiles_of(["first", "good", "poor"], runs)
    assert (len(profiles), problems) == (20, [])
    damaged = next(iter(runs.glob("first/*/*/*/events.jsonl")))
    damaged.write_bytes(damaged.read_bytes().replace(b"Final Answer", b"Other Answer"))
    (damaged.parent / "evaluation.json").unlink()
    profiles, problems = profiles_of(["first"], runs)
    assert len(profiles) == 15
    assert "was changed from outside" in problems[0]


def test_without_a_task_in_common_nothing_is_compared(runs):
    found = compare(runs / "first" / "cifar10", runs / "second", folder=runs).paired
    assert found.improvement is None and "no task in common" in found.words[0]


def test_places_are_told_apart_where_one_holds_several_agents(runs):
    assert {group.place for group in compare("first", "second", folder=runs).groups} == {"first", "second"}
    assert {group.place for group in compare("good", "poor--no-model", folder=runs).groups} == {""}


def test_a_summary_that_nobody_signed_is_made_anew_and_tells_forks(tmp_path):
    origin = Origin(run="other", step=1)
    for name, asked in (("plain", {}), ("forked", {"origin": origin})):
        run = write_run(tmp_path, name, History().step("Final Answer").end().events, **asked)
        kept = summarise(run).model_dump(mode="json", exclude={"forked"})
        run.summary_file.write_text(json.dumps(kept | {"steps": 99}))
        assert read_summary(run).forked == (name == "forked")
        assert read_summary(run) == summarise(run)
    assert compare(tmp_path).forked == 1
