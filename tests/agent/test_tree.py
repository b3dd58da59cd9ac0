"""The agent that searches over whole solutions: its policy, and whole runs of it, killed and resumed too."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from support.acting import events_of, steps_of
from telling import Told, completion, killed_and_resumed, killer, script_line

from mlagentbench import load_task, resume, run
from mlagentbench.agent.guiding import kind_of_change
from mlagentbench.agent.measuring import RUN_WITH_SEED, validation_score
from mlagentbench.agent.tree.search import Move, Node, Strategy, Tree
from mlagentbench.cli.commands.show import command as show
from mlagentbench.environment.trust import trust_run
from mlagentbench.errors import UsageError
from mlagentbench.launch.checking import draft
from mlagentbench.launch.reading import make_plan
from mlagentbench.model.errors import TooLongError, UnavailableError
from mlagentbench.model.spec import Completion, Usage
from mlagentbench.record.events import ModelCalled, Note, RunEnded
from mlagentbench.record.folder import RunFolder
from mlagentbench.workspace import read

STRATEGY = Strategy(drafts=2, debug_depth=2, debug_share=0.5, policy="greedy")


def grown(goal: str, *results: float | str) -> Tree:
    """A tree of drafts: a number is a score, a text a problem."""
    tree = Tree(goal)  # type: ignore[arg-type]
    for result in results:
        node = tree.grow(Move("draft", None), "plan", "code")
        if isinstance(result, str):
            node.problem = result
        else:
            node.scores.append(result)
    return tree


def test_drafts_come_first_then_the_best_is_improved() -> None:
    chance = random.Random(0)
    assert STRATEGY.next(grown("minimize", 3.0), chance) == Move("draft", None)
    tree = grown("minimize", 3.0, 2.0)
    assert STRATEGY.next(tree, chance) == Move("improve", tree.nodes[1])
    tree = grown("maximize", 3.0, 2.0)
    assert STRATEGY.next(tree, chance) == Move("improve", tree.nodes[0])


def test_what_is_broken_is_repaired_some_times_and_given_up_after_that() -> None:
    tree = grown("minimize", "broken", 2.0)
    moves = {STRATEGY.next(tree, random.Random(seed)).operator for seed in range(20)}
    assert moves == {"debug", "improve"}
    node = tree.nodes[0]
    for _ in range(2):
        node = tree.grow(Move("debug", node), "", "code")
        node.problem = "still broken"
    assert tree.broken_leaves(2) == []
    assert tree.broken_leaves(3) == [node]


def test_where_nothing_works_there_are_repairs_and_then_drafts() -> None:
    tree = grown("minimize", "broken", "broken")
    assert STRATEGY.next(tree, random.Random(1)).operator == "debug"
    without_repairs = Strategy(drafts=2, debug_depth=0, debug_share=0.5, policy="greedy")
    assert without_repairs.next(tree, random.Random(1)) == Move("draft", None)


def test_by_rank_the_better_ones_are_chosen_more_often() -> None:
    tree = grown("maximize", *(float(score) for score in range(5)))
    policy = Strategy(drafts=0, debug_depth=0, debug_share=0.0, policy="ranked")
    chance = random.Random(0)
    chosen = [policy.next(tree, chance).parent for _ in range(400)]
    counts = [sum(node is each for node in chosen) for each in tree.nodes]
    assert counts == sorted(counts) and counts[-1] > 150 and counts[1] > 0


def test_what_was_run_again_is_chosen_before_what_was_lucky_once() -> None:
    tree = grown("minimize", 5.0, 1.0, 2.0)
    tree.nodes[0].scores += [5.0]
    tree.nodes[2].scores += [4.0, 4.0]
    assert tree.best() is tree.nodes[2]


def test_of_equals_only_one_is_a_candidate() -> None:
    tree = grown("maximize", 0.5, 0.7, 0.7, "broken", 0.6)
    assert [node.number for node in tree.candidates(3)] == [1, 4, 0]


def test_means_over_runs_decide() -> None:
    tree = grown("minimize", 1.0, 1.5)
    tree.nodes[0].scores += [4.0, 4.0]
    tree.nodes[1].scores += [1.6, 1.7]
    assert tree.best() is tree.nodes[1]
    assert Node(0, None, "draft", "", "").score is None


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ("validation MAE: 12", 12.0),
        ("  Validation mean absolute error: -1.5e-3 (best)", -0.0015),
        ("validation accuracy: nan", None),
        ("validation accuracy: 1e999", None),
        ("my validation accuracy: 0.9", None),
        ("validation: 0.9", None),
        ("test accuracy: 0.9", None),
        ("", None),
    ],
)
def test_the_score_is_read_in_its_stated_form_and_no_other(output: str, score: float | None) -> None:
    assert validation_score(output) == score


def solution(slope: float, scores: str = "0.0") -> str:
    """A script whose validation score is what the test says."""
    return (
        "import csv, os\n"
        f"print('validation MAE:', {scores})\n"
        "with open('submission.csv', 'w', newline='') as stream:\n"
        "    writer = csv.writer(stream)\n"
        "    writer.writerow(['id', 'distance'])\n"
        "    for row in csv.DictReader(open('test.csv')):\n"
        f"        writer.writerow([row['id'], {slope} * float(row['speed'])])\n"
    )


def said(plan: str, script: str) -> Completion:
    return completion(f"{plan}\n```python\n{script}```")


BROKEN = "raise RuntimeError('too bad')\n"
LUCKY = solution(1.0, "1.0 if os.environ.get('SEED', '0') == '0' else 9.0")
STEADY = solution(2.0, "2.0")
REPLIES = [
    said("Draft a broken one.", BROKEN),
    said("Repair it.", LUCKY),
    completion("No code at all."),
    said("Improve it.", STEADY),
]
SETTINGS = {"preview": 0, "drafts": 1, "debug_share": 1.0, "most_nodes": 3, "candidates": 2, "again": 2}


def nodes_of(folder: Path) -> list[dict[str, object]]:
    """As the notes tell of them; the last word on each counts."""
    told = {
        event.data["node"]: event.data
        for event in events_of(folder)
        if isinstance(event, Note) and event.data
    }
    return [told[number] for number in sorted(told)]


def test_it_drafts_repairs_improves_and_submits_what_stays_the_best(tiny_task, runs, speak_with):
    model = Told(REPLIES)
    speak_with(model)
    done = run(tiny_task, "tree", "test/told", settings=SETTINGS, runs=runs)
    assert done.summary.ended == "submitted" and done.grade is not None and done.grade.valid
    nodes = nodes_of(done.folder)
    assert [(node["operator"], node["parent"]) for node in nodes] == [
        ("starter", None),
        ("draft", None),
        ("debug", 1),
        ("improve", 2),
    ]
    assert "RuntimeError: too bad" in str(nodes[1]["problem"])
    assert nodes[2]["scores"] == [1.0, 9.0, 9.0] and nodes[3]["scores"] == [2.0, 2.0, 2.0]
    steps = steps_of(done)
    store = RunFolder.open(done.folder).store()
    assert read(store, steps[-1].snapshot, "train.py", 10_000).decode() == STEADY
    assert "number 3" in steps[-1].action.args["final_answer"]
    assert [node["node"] for node in nodes if node["chosen"]] == [3]
    for node in nodes[1:]:
        assert steps[int(str(node["step"])) - 1].action.name == "Execute Script"
    questions = [messages[-1].content for messages, _, _ in model.asked]
    assert "too bad" in questions[1] and "Draft a broken one." in questions[1]
    assert "no fenced code block" in questions[3], "why a reply could not be used is told"


def test_a_directed_search_says_what_the_next_solution_should_change_unless_it_is_a_repair(
    tiny_task, runs, speak_with
):
    model = Told(REPLIES)
    speak_with(model)
    run(tiny_task, "tree", "test/told", settings=SETTINGS | {"directed": True}, runs=runs)
    draft, repair, improvement, *_ = [messages[1].content for messages, _, _ in model.asked]
    assert f"make it this one: {kind_of_change(0)}" in draft and "stronger method" in draft
    assert "make it this one" not in repair
    assert f"make it this one: {kind_of_change(1)}" in improvement and "better settings" in improvement


def test_it_looks_at_the_largest_tables_and_says_what_is_installed(tiny_task, runs, speak_with):
    model = Told([said("Better.", STEADY)])
    speak_with(model)
    settings = {"preview": 1, "drafts": 1, "most_nodes": 1, "again": 0}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs)
    system = model.asked[0][0][0].content
    inspected = [
        step.action.args["script_name"]
        for step in steps_of(done)
        if step.action.name == "Inspect Script Lines"
    ]
    assert inspected == ["train.csv"]
    assert "The data begin like this:\n\ntrain.csv, lines 1 to 3 of" in system and "speed" in system


def test_a_planned_solution_is_asked_for_twice_and_its_broken_replies_are_not_shown(
    tiny_task, runs, speak_with
):
    unfinished = said("", f'"""Begins.\n{STEADY}')
    model = Told([completion("Be steady.\n"), completion("obj['script']"), unfinished, said("", STEADY)])
    speak_with(model)
    settings = {"planned": True, "plan_tokens": 50, "drafts": 1, "most_nodes": 1, "again": 0}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs)
    (plan, sampling, _), (first, _, _), (second, _, _), (third, _, _) = model.asked

    assert sampling.max_tokens == 50 and plan[1].content.endswith("The script is written after that.")
    assert (
        first == second == third
        and len(first) == 1
        and "leave everything else as it is: Be steady." in first[0].content
    )
    assert "distance" in first[0].content, "the script that it begins with"
    node = nodes_of(done.folder)[1]
    assert node["plan"] == "Be steady." and node["scores"] == [2.0]


def test_the_best_are_run_again_with_seeds_that_no_run_has(tiny_task, runs, speak_with):
    speak_with(Told(REPLIES))
    done = run(tiny_task, "tree", "test/told", settings=SETTINGS, runs=runs, seed=1)
    again = [
        step.action.args["arguments"][0]
        for step in steps_of(done)
        if step.action.args.get("script_name") == RUN_WITH_SEED
    ]
    assert again == ["1001", "2001"] * 2


def test_its_end_is_the_same_when_it_is_resumed_with_more_steps(tiny_task, runs, speak_with):
    speak_with(Told([said("Better.", STEADY)] + [said("Worse.", solution(3.0, "99.0"))] * 9))
    settings = {"drafts": 1, "again": 0, "preview": 0}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs, limits={"steps": 10})
    names = [step.action.name for step in steps_of(done)]
    record = done.folder / "events.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    submitted = next(number for number, line in enumerate(lines) if '"Final Answer"' in line)
    record.write_text("".join(lines[:submitted]))
    trust_run(RunFolder.open(done.folder))
    again = resume(done.folder, limits={"steps": 30})
    assert again.summary.ended == "submitted"
    assert [step.action.name for step in steps_of(again)] == names


def test_it_stops_in_time_to_submit_the_best(tiny_task, runs, speak_with):
    speak_with(Told([said("Better.", STEADY)] + [said("Worse.", solution(3.0, "99.0"))] * 9))
    settings = {"drafts": 1, "again": 0}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs, limits={"steps": 10})
    steps = steps_of(done)
    assert done.summary.ended == "submitted" and 8 <= len(steps) <= 10
    assert [step.action.name for step in steps[-3:]] == ["Write File", "Execute Script", "Final Answer"]
    assert steps[-3].action.args["content"] == STEADY


@pytest.mark.parametrize("steps", [7, 8, 12, 24])
def test_with_few_steps_it_asks_its_model_all_the_same_and_says_what_it_leaves_out(
    tiny_task, runs, speak_with, steps
):
    told = Told([said("Better.", STEADY)] + [said("Worse.", solution(3.0, "99.0"))] * 9)
    speak_with(told)
    done = run(tiny_task, "tree", "test/told", runs=runs, limits={"steps": steps})
    assert done.summary.ended == "submitted" and len(steps_of(done)) <= steps
    assert told.said >= 1
    scripts = [step.action.args["content"] for step in steps_of(done) if step.action.name == "Write File"]
    assert scripts[-1] == STEADY
    notes = [event.text for event in events_of(done.folder) if isinstance(event, Note)]
    assert any(f"of {steps} steps are left, and one more with the end takes" in note for note in notes)
    assert any("the best solutions are run again" in note for note in notes) == (steps < 24)
    assert any("data files are looked at" in note for note in notes) == (steps < 12)


def test_with_too_few_steps_for_one_solution_it_is_refused_before_there_is_a_run(tiny_task, runs, speak_with):
    speak_with(Told(REPLIES))
    with pytest.raises(UsageError, match="tree needs at least 7 steps, and the run's limit is 6"):
        run(tiny_task, "tree", "test/told", runs=runs, limits={"steps": 6})
    assert list(runs.iterdir()) == []
    plan = {"tasks": [str(tiny_task)], "agents": ["tree"], "models": ["mock/x"], "limits": {"steps": 6}}
    assert "tree needs at least 7 steps" in draft(make_plan(plan, "This")).problems[0]


@pytest.mark.parametrize(
    "limits", [{"tokens": 50_000}, {"cost": 0.0045}, {"time": 400}], ids=lambda limits: str(limits)
)
def test_no_limit_takes_the_best_away(tiny_task, runs, speak_with, limits):
    usage = {"usage": Usage(input=10_000, output=1_000)} if "tokens" in limits else {}
    slow = [
        each.model_copy(update={"latency": 300.0 if "time" in limits else 0.0, **usage})
        for each in [said("Better.", STEADY)] + [said("Worse.", solution(3.0, "99.0"))] * 9
    ]
    speak_with(Told(slow))
    settings = {"drafts": 1, "again": 0, "preview": 0}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs, limits=limits)
    steps = steps_of(done)
    assert done.summary.ended == "submitted" and len(steps) < 16
    scripts = [step.action.args["content"] for step in steps if step.action.name == "Write File"]
    assert scripts[-1] == STEADY


def test_what_a_reply_would_take_is_kept_for_the_end(tiny_task, runs, speak_with):
    usage = {"usage": Usage(input=10_000, output=1_000)}
    replies = [said("Better.", STEADY), *[completion("I would rather not.")] * 9]
    told = Told([each.model_copy(update=usage) for each in replies])
    speak_with(told)
    settings = {"drafts": 1, "again": 0, "max_tries": 3}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs, limits={"tokens": 50_000})
    assert done.summary.ended == "submitted" and 11_000 * told.said < 50_000


def test_a_prompt_that_is_too_long_is_shortened_and_then_the_best_is_submitted(tiny_task, runs, speak_with):
    too_long = TooLongError("Too long.")
    act = Told([said("Better.", STEADY), too_long, said("Same.", STEADY), too_long, too_long])
    speak_with(act)
    done = run(tiny_task, "tree", "test/told", settings={"drafts": 1, "again": 0}, runs=runs)
    assert done.summary.ended == "submitted" and len(nodes_of(done.folder)) == 3
    texts = [messages[-1].content for messages, _, _ in act.asked]
    assert "Tried so far" in texts[1] and "Tried so far" not in texts[2]


def test_an_error_of_the_provider_stops_it_and_leaves_it_to_be_resumed(tiny_task, runs, speak_with):
    speak_with(Told([said("Better.", STEADY), UnavailableError("It is down.")]))
    settings = {"drafts": 1, "again": 0, "most_nodes": 2}
    with pytest.raises(UnavailableError):
        run(tiny_task, "tree", "test/told", settings=settings, runs=runs)
    assert not any(isinstance(event, RunEnded) for found in runs.glob("*/*/*/*/run.json")
                   for event in events_of(found.parent))  # fmt: skip


def test_replies_without_code_count_as_steps(tiny_task, runs, speak_with):
    speak_with(Told(lambda call: completion("I would rather not.")))
    done = run(tiny_task, "tree", "test/told", settings={"max_tries": 1}, runs=runs, limits={"steps": 20})
    assert done.summary.ended == "submitted", "the starter, which is the best that there is"
    assert sum(step.action.name == "No Action" for step in steps_of(done)) > 3


def test_a_run_killed_in_any_model_call_goes_on_to_the_same_end(tiny_task, tmp_path, speak_with):
    speak_with(Told(REPLIES))
    whole = run(tiny_task, "tree", "test/told", settings=SETTINGS, runs=tmp_path / "whole")
    killing = killer()
    speak_with(Told(REPLIES, before=killing))
    again = killed_and_resumed(
        lambda: run(tiny_task, "tree", "test/told", settings=SETTINGS, runs=tmp_path / "runs"),
        resume,
        tmp_path / "runs",
    )
    folder = again.folder
    assert [step.action for step in steps_of(folder)] == [step.action for step in steps_of(whole)]
    assert [step.snapshot for step in steps_of(folder)] == [step.snapshot for step in steps_of(whole)]
    notes = [[(event.text, json.dumps(event.data)) for event in events_of(each) if isinstance(event, Note)]
             for each in (folder, whole.folder)]  # fmt: skip
    assert notes[0] == notes[1], "nothing is told twice"


def test_a_file_of_completions_drives_it_through_house_price(runs, tmp_path):
    plain = (load_task("house-price").folder / "plain" / "train.py").read_text()
    script = [
        said("A typo.", plain.replace("import pandas", "import pandaz")),
        said("Without the typo.", plain),
    ]
    (tmp_path / "act.jsonl").write_text("\n".join(map(script_line, script)))
    settings = {"drafts": 1, "debug_share": 1.0, "most_nodes": 2, "again": 1}
    done = run("house-price", "tree", f"mock/{tmp_path / 'act.jsonl'}", settings=settings, runs=runs)
    assert done.grade is not None and done.grade.success
    assert [node["operator"] for node in nodes_of(done.folder)] == ["starter", "draft", "debug"]
    first = next(event for event in events_of(done.folder) if isinstance(event, ModelCalled))
    system = RunFolder.open(done.folder).store().get(first.request).decode()
    assert "installed (numpy, pandas, scikit-learn, scipy)" in system and "MSSubClass" in system
    assert any(step.action.args.get("script_name") == RUN_WITH_SEED for step in steps_of(done))


def test_the_tree_is_printed_and_drawn(tiny_task, runs, speak_with, tmp_path):
    speak_with(Told([said("Better <and> safe.", STEADY), said("Broken.", BROKEN)]))
    settings = {"drafts": 2, "most_nodes": 2, "again": 0}
    done = run(tiny_task, "tree", "test/told", settings=settings, runs=runs)
    picture = tmp_path / "tree.svg"
    result = CliRunner().invoke(show, [str(done.folder), "--svg", str(picture)])
    assert result.exit_code == 0, result.output
    assert re.search(r"★ 1 draft  2  step \d+  Better <and> safe\.", result.output), result.output
    assert re.search(r"✗ 2 draft  failed  step \d+  RuntimeError: too bad", result.output)
    drawn = ElementTree.fromstring(picture.read_text())
    titles = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["The script as it was.", "Better <and> safe.", "Broken."]
    machine = json.loads(CliRunner().invoke(show, [str(done.folder), "--tree", "--json"]).output)
    assert machine["best"] == 1 and [node["operator"] for node in machine["tree"]] == [
        "starter",
        "draft",
        "draft",
    ]


def test_a_run_without_a_tree_says_so(tiny_task, runs):
    done = run(tiny_task, "starter", runs=runs)
    result = CliRunner().invoke(show, [str(done.folder), "--tree"])
    assert result.exit_code != 0 and "holds no tree" in str(result.exception)
