"""The small file that reports are made from."""

from __future__ import annotations

import json

import pytest
from support.histories import History
from support.runs import graded, write_run

from mlagentbench.evaluation.profile import Profile, make_profile, read_profile
from mlagentbench.model.spec import Usage
from mlagentbench.record.grades import remember_grade


def worked() -> History:
    run = History().call(usage=Usage(input=100, output=10, cached=40)).step("Read File")
    run.call("edit", role="edit", inside=True).step("Edit Script (AI)", edited="train.py")
    run.call("run").step("Execute Script", ran=True).call("done").step("Final Answer")
    return run.end()


@pytest.fixture
def folder(tmp_path):
    events = worked().events
    asked = {"model": "test/told", "settings": {"max_steps": 3}}
    return write_run(
        tmp_path, "one", events, [graded("snapshot-4", 0.25, over_plain=0.05, position=0.5)], **asked
    )


def test_a_profile_says_who_did_what_how_well_and_at_what_cost(folder):
    profile = make_profile(folder)
    assert (profile.summary.task, profile.summary.agent, profile.summary.model) == (
        "house-price@1",
        "research",
        "test/told",
    )
    assert (profile.subject.category, profile.subject.data_date, profile.subject.made_up) == (
        "classic-kaggle",
        "2016-08",
        True,
    )
    assert profile.subject.experiment == "default"
    assert (profile.gain, profile.success, profile.decided, profile.position) == (0.25, True, True, 0.5)
    assert [profile.success_at(at) for at in ("5%", "10%", "20%", "30%")] == [True, True, True, False]
    assert profile.success_over_plain is False
    assert (profile.summary.tokens_in, profile.summary.tokens_out, profile.summary.tokens_cached) == (
        400,
        40,
        40,
    )
    assert profile.summary.cost == pytest.approx(0.04)
    assert profile.process.experiments == 1
    assert [point.step for point in profile.points] == [4]


def test_the_seconds_of_a_run_are_split_and_add_up(folder):
    times = make_profile(folder).times
    assert (times.model, times.waiting, times.execution) == (4.0, 0.0, 0.5)
    assert times.harness == pytest.approx(8.0 - 4.5)


def test_waiting_and_failed_calls_are_apart_from_answers_and_programs_that_chat_from_execution(tmp_path):
    run = (
        History().call(waited=3.0).step("a").call(error="The service is busy.").call(role="tool", inside=True)
    )
    times = make_profile(write_run(tmp_path, "one", run.step("b", ran=True).end().events)).times
    assert (times.model, times.waiting) == (2.0, 4.0)
    assert times.execution == 0.0


def test_a_run_without_a_valid_grade_has_gained_nothing(tmp_path):
    ungraded = make_profile(write_run(tmp_path, "one", History().step("a").end("error").events))
    invalid = make_profile(write_run(tmp_path, "two", worked().events, [graded("snapshot-4", None)]))
    for profile in (ungraded, invalid):
        assert (profile.gain, profile.success, profile.success_at("5%"), profile.position) == (
            0.0,
            False,
            False,
            0.0,
        )
        assert profile.success_over_plain is False


def test_what_was_not_measured_is_not_known(tmp_path):
    profile = make_profile(write_run(tmp_path, "one", worked().events, [graded("snapshot-4", 0.25)]))
    assert profile.success_over_plain is None and profile.position is None
    assert profile.lost_since_best is None


def test_after_every_step_was_graded_the_best_snapshot_is_known(tmp_path):
    verdicts = [graded(f"snapshot-{step}", gain) for step, gain in enumerate([None, None, 0.4, 0.3, 0.25])]
    profile = make_profile(write_run(tmp_path, "one", worked().events, verdicts))
    assert profile.every_step
    assert (profile.best.step, profile.lost_since_best) == (2, pytest.approx(0.15))


def test_a_profile_is_kept_and_read_back_as_it_was(folder):
    made = make_profile(folder)
    before = folder.evaluation_file.stat().st_mtime_ns
    assert read_profile(folder) == made
    assert folder.evaluation_file.stat().st_mtime_ns == before


def test_a_deleted_or_damaged_profile_is_made_again(folder):
    made = make_profile(folder)
    folder.evaluation_file.unlink()
    assert read_profile(folder) == made
    folder.evaluation_file.write_text("{")
    assert read_profile(folder) == made


def test_a_profile_is_made_anew_when_grades_rules_or_what_people_say_change(folder):
    make_profile(folder)
    remember_grade(folder, graded("snapshot-4", 0.5))
    assert read_profile(folder).gain == 0.5
    kept = json.loads(folder.evaluation_file.read_bytes())
    folder.evaluation_file.write_text(json.dumps(kept | {"basis": kept["basis"] | {"rules": "0"}}))
    assert read_profile(folder).basis.rules != "0"
    before = read_profile(folder).basis
    folder.annotations_file.write_text('{"format": 1}')
    assert read_profile(folder).basis != before


def test_a_run_that_goes_on_has_a_profile_of_now_that_is_not_kept(tmp_path):
    folder = write_run(tmp_path, "one", History().step("a").events)
    assert read_profile(folder).summary.steps == 1
    assert not folder.evaluation_file.exists()
    log = folder.log()
    log.append(History().step("a").step("b").events[-1])
    log.close()
    assert read_profile(folder).summary.steps == 2


def test_a_run_whose_task_is_gone_has_no_category(tmp_path):
    folder = write_run(tmp_path, "one", worked().events, task="lost@1", task_folder="/nowhere/lost")
    assert (make_profile(folder).subject.category, make_profile(folder).subject.data_date) == ("", "")


def test_a_run_of_an_older_version_keeps_its_tasks_category(tmp_path):
    assert (
        make_profile(write_run(tmp_path, "one", worked().events, task="cifar10@99")).subject.category
        == "canonical"
    )


def test_runs_that_were_asked_differently_have_different_settings_hashes(tmp_path):
    first, same, other = (
        make_profile(write_run(tmp_path, name, worked().events, settings={"a": value}))
        for name, value in (("one", 1), ("two", 1), ("three", 2))
    )
    assert first.subject.settings_hash == same.subject.settings_hash != other.subject.settings_hash


def test_a_profile_of_fifty_graded_steps_is_small(tmp_path):
    run = History()
    for _ in range(50):
        run.call("x" * 1000).step("Execute Script", "y" * 1000, ran=True)
    verdicts = [graded(f"snapshot-{step}", step / 100) for step in range(51)]
    folder = write_run(tmp_path, "one", run.end().events, verdicts)
    make_profile(folder)
    assert folder.evaluation_file.stat().st_size < 20_000
    assert Profile.model_validate_json(folder.evaluation_file.read_bytes()).every_step
