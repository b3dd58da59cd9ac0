"""Counting what a run did."""

from __future__ import annotations

from support.histories import History

from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.evaluation.process import Process, kind_of, process_of


def test_every_action_of_the_benchmark_has_a_kind():
    assert {name for name in all_actions() if kind_of(name) == "other"} == set()
    assert kind_of("Whatever") == "other"


def test_nothing_done_counts_as_nothing():
    assert process_of([]) == Process()


def test_steps_are_counted_by_what_they_are_for():
    run = History().step("List Files").step("Read File").step("Edit Script (AI)", edited="train.py")
    run.step("Execute Script", ran=True).step("Undo Edit Script", undone="train.py").step(
        "Final Answer"
    ).end()
    counts = process_of(run.events)
    assert counts.kinds == {"look": 2, "edit": 2, "execute": 1, "submit": 1}
    assert (counts.steps, counts.edits, counts.edits_undone, counts.experiments) == (6, 1, 1, 1)
    assert counts.failed_steps == 0


def test_a_step_that_cannot_be_carried_out_is_refused_and_a_program_that_fails_is_not():
    run = History().step("Read File", "There is no file a.py.", ok=False)
    run.step("Execute Script", "Exit status 1", ok=False, ran=True)
    counts = process_of(run.events)
    assert (counts.failed_steps, counts.refused, counts.failed_experiments) == (2, 1, 1)


def test_a_reply_that_is_followed_by_another_try_was_a_format_error():
    run = History().call("?").call("??").call("Action: List Files").step("List Files")
    assert process_of(run.events).format_errors == 2


def test_a_decision_that_is_lost_after_three_replies_counts_three_format_errors():
    run = (
        History().call("?").call("??").call("???").step("No Action", ok=False).call("good").step("List Files")
    )
    counts = process_of(run.events)
    assert (counts.format_errors, counts.lost_decisions, counts.refused) == (3, 1, 0)


def test_an_agent_that_gives_up_after_unread_replies_counts_them():
    assert process_of(History().call("?").call("??").end("stopped").events).format_errors == 2


def test_calls_inside_actions_failed_calls_and_calls_before_a_limit_are_no_format_errors():
    run = History().call("a", role="edit").call("b", inside=True).call(error="busy").call("good").step("x")
    run.call("summary", role="fast").call("cut by the limit").end("limit")
    assert process_of(run.events).format_errors == 0


def test_the_same_error_again_is_repeated_also_where_only_its_numbers_differ():
    run = History().step("Execute Script", "line 3: KeyError 'a'", ok=False, ran=True)
    run.step("Execute Script", "line 17: KeyError 'a'", ok=False, ran=True)
    run.step("Execute Script", "line 17: KeyError 'b'", ok=False, ran=True)
    run.step("Read File", "line 3: KeyError 'a'", ok=False)
    run.step("Execute Script", "line 3: KeyError 'a'", ran=True)
    assert process_of(run.events).repeated_errors == 1


def test_debugging_is_experiments_that_fail_after_one_that_failed():
    run = History()
    for ok in (False, True, False, False, False, True, False, False):
        run.step("Edit Script (AI)", edited="train.py").step("Execute Script", ok=ok, ran=True)
    counts = process_of(run.events)
    assert (counts.failed_experiments, counts.debugging_steps, counts.longest_failing) == (6, 3, 3)
