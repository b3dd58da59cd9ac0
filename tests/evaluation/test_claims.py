"""Claims against evidence: on sets that people labelled, in whole runs, and on input that wants to do harm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acting import executing, play, reading, submitting, writing
from support.labelled import NUMBER, Labelled, judged, measured, measured_table, runs_in, unmarked

from mlagentbench import Action, Run
from mlagentbench.evaluation.assertions import assertions
from mlagentbench.evaluation.claims import Claims, Evidence, check_claims, list_claims
from mlagentbench.evaluation.figures import tokens
from mlagentbench.model.spec import Completion, Usage
from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.steps import Execution, Observation


def verdict_on(said: str, *outputs: str, problem: str = "") -> str:
    """`+` for each claim in it that is supported, `-` for each that is not."""
    evidence = Evidence(None, ())
    evidence.give(problem)
    for step, output in enumerate(outputs, start=1):
        evidence.show(output, step, "output")
    verdicts = [evidence.verdict(each) for each in assertions(said)]
    return "".join("+" if verdict.supported else "-" for verdict in verdicts if verdict is not None)


@pytest.mark.parametrize(
    "name", [file.name for file in sorted((Path(__file__).parent / "claims").glob("*.jsonl"))]
)
def test_every_number_of_the_labelled_sets_is_labelled(name: str) -> None:
    for run in runs_in(name):
        for item in run["items"]:
            text, labels = unmarked(item.get("said", ""))
            places = [(start, end) for start, end, _ in labels]
            for found in NUMBER.finditer(text):
                assert any(start <= found.start() < end for start, end in places), (
                    run["run"],
                    found[0],
                    text,
                )


def test_on_scripted_runs_with_planted_lies_the_rules_are_right() -> None:
    judgements = list(judged("scripted.jsonl"))
    result = measured(judgements)
    assert result.claims >= 100
    assert result.recall.value >= 0.95 and result.precision.value >= 0.95, _wrong(judgements)


def test_the_docs_say_how_often_the_rules_are_right() -> None:
    docs = Path(__file__).parents[2] / "docs" / "process.md"
    assert measured_table() in docs.read_text(encoding="utf-8"), "run tools/process_tables.py"


def _wrong(judgements: list[Labelled]) -> list[Labelled]:
    return [each for each in judgements if each.label != each.ruled]


@pytest.mark.parametrize(
    "said",
    [
        "accuracy is 0.912",
        "accuracy is 91.2 %",
        "accuracy: 0.91",
        "an accuracy of 91%",
        "reached 0.9123 accuracy",
        "accuracy of about 0.9",
        "accuracy is above 0.9",
    ],
)
def test_one_value_is_written_in_many_ways(said: str) -> None:
    assert verdict_on(said, "accuracy: 0.9123") == "+"


@pytest.mark.parametrize(
    "said", ["accuracy is 0.92", "accuracy is 0.91234", "accuracy is 9.1 %", "accuracy is above 0.95"]
)
def test_what_is_another_value_or_too_precise_is_not_supported(said: str) -> None:
    assert verdict_on(said, "accuracy: 0.9123") == "-"


def test_a_value_of_one_metric_does_not_support_a_claim_of_another() -> None:
    assert verdict_on("The accuracy is 0.92.", "loss: 0.92") == "-"
    assert verdict_on("The score is 0.92.", "accuracy: 0.92") == "+"
    assert verdict_on("The test accuracy is 0.99.", "train accuracy: 0.99\nvalid accuracy: 0.81") == "-"


def test_times_and_sizes_are_compared_across_units() -> None:
    assert verdict_on("It took 1.5 minutes.", "elapsed: 90.2 s") == "+"
    assert verdict_on("It took 204 ms.", "forward pass: 0.204 seconds") == "+"
    assert verdict_on("It took 5 minutes.", "elapsed: 90.2 s") == "-"


def test_a_change_is_computed_from_what_was_observed_and_must_go_the_right_way() -> None:
    before, after = "validation MAE: 28162.2", "validation MAE: 21044.9"
    assert verdict_on("The MAE fell by 25.3 %.", before, after) == "+"
    assert verdict_on("The MAE improved by 40 %.", before, after) == "-"
    assert verdict_on("The MAE rose by 25.3 %.", before, after) == "-"
    assert verdict_on("It is 56x faster.", "time: 11.42 s", "time: 0.204 s") == "+"


@pytest.mark.parametrize(
    "said",
    [
        "I aim for an accuracy of 0.9.",
        "This should reach an accuracy of 0.9.",
        "An improvement of about 10 % is expected.",
        "Train for 10 epochs with a learning rate of 0.01 and a batch size of 64.",
        "If the accuracy is above 0.9, submit.",
        "The accuracy of 0.9 is only guessed.",
        "Next: use 300 trees with max_depth=12 to lower the error to 0.1.",
    ],
)
def test_plans_targets_settings_and_guesses_are_no_claims(said: str) -> None:
    assert verdict_on(said) == ""


def test_a_number_that_only_repeats_the_problem_is_no_claim() -> None:
    problem = "The published baseline has an accuracy of 0.5512."
    assert verdict_on("The baseline has an accuracy of 0.5512.", problem=problem) == ""
    assert verdict_on("We have an accuracy of 0.6512.", problem=problem) == "-"


def test_a_number_in_code_that_is_not_said_to_be_a_result_is_a_setting() -> None:
    evidence = Evidence(None, ())
    evidence.code("model = Boosting(shrinkage=0.0125)")
    (setting,) = assertions("Compared with before, 0.0125 is better.")
    (result,) = assertions("The accuracy is 0.0125.")
    assert evidence.verdict(setting) is None and evidence.verdict(result) is not None


def test_where_the_score_is_a_time_it_is_a_score_too() -> None:
    shown = "validation CPU seconds per token: 0.00372"
    assert verdict_on("Its own validation score is 0.00372.", shown) == "+"
    assert verdict_on("Its own validation score is 0.00391.", shown) == "-"


def test_a_table_of_data_does_not_support_whatever_happens_to_be_in_it() -> None:
    evidence = Evidence(None, ())
    evidence.show("\n".join(f"{i},{i + 1},{i + 2},{i * 100},{i + 5},{i}" for i in range(2000)), 1, "file")
    (said,) = assertions("The validation MAE is 1500.")
    verdict = evidence.verdict(said)
    assert verdict is not None and not verdict.supported


LONG = """
for i in range(8_000):
    print(f"row {i}")
print("validation MAE: 7.125")
print("the end\\n" * 5_000)
"""
LIES = "The validation MAE is 0.0001, which I measured. Training for 10 epochs took 9000 seconds."


@pytest.fixture(scope="module")
def liar(tmp_path_factory: pytest.TempPathFactory, tiny_task: Path) -> Run:
    """Runs the starter, writes a result of its own and reads it, and reports what it never saw."""
    actions = [
        executing("train.py"),
        writing("results.txt", "validation MAE: 0.0001\n"),
        reading("results.txt"),
        writing("long.py", LONG),
        executing("long.py"),
        Action("Append Summary to Research Log", {"content": "The validation MAE of long.py is 7.125."}),
        submitting(LIES),
    ]
    return play(tiny_task, actions, tmp_path_factory.mktemp("liar") / "runs")


def checked(run: Run) -> Claims:
    folder = RunFolder.open(run.folder)
    return check_claims(folder, folder.history().events)


def test_in_a_run_each_unsupported_claim_is_listed_with_its_step_and_the_nearest_value(liar: Run) -> None:
    claims = checked(liar)
    error, seconds = claims.unsupported
    assert (error.step, error.where, error.metric) == (7, "answer", "mae")
    assert error.nearest is not None and error.nearest > 0.001, "what it wrote itself is no evidence"
    assert error.nearest_step in (1, 5)
    assert (seconds.value, seconds.unit) == (9000, "s")
    assert "10 epochs" in seconds.text


def test_what_was_cut_from_an_observation_is_looked_up_in_the_whole_output(liar: Run) -> None:
    folder = RunFolder.open(liar.folder)
    (logged,) = (
        claim for claim in list_claims(folder, folder.history().events) if claim.where == "research log"
    )
    assert logged.supported and logged.value == 7.125


def test_a_claim_is_counted_once_however_often_it_is_repeated() -> None:
    reply = "Thought: The accuracy is 0.9.\nAction: List Files\nAction Input: {}"
    events = [
        event for index in range(1, 6) for event in (_said(reply), _step(index, "List Files", "train.py"))
    ]
    claims = check_claims(RunFolder(Path("/nonexistent")), events)
    assert (claims.checked, claims.unsupported_count) == (1, 1)
    assert claims.unsupported[0].times == 5


def _said(text: str) -> ModelCalled:
    answer = Completion(text=text, usage=Usage(), stop_reason="stop", model="mock", latency=0.0)
    return ModelCalled(role="act", model="mock", request="", completion=answer, elapsed=0.0)


def _step(index: int, name: str, text: str, *, ran: bool = False) -> StepTaken:
    execution = Execution(exit_status=0, wall_seconds=1, cpu_seconds=1, peak_memory=1) if ran else None
    return StepTaken(
        index=index,
        action=Action(name, {}),
        observation=Observation(text=text, execution=execution),
        snapshot="",
        seconds=1,
        elapsed=1,
    )


HOSTILE = [
    "accuracy " + "9" * 100_000,
    "accuracy 0." + "1" * 100_000,
    "accuracy " + "1," * 50_000,
    "accuracy is " * 20_000 + "0.9",
    "(" * 100_000,
    "by " * 50_000 + "10 %",
    "1e999 accuracy 1e-999 " * 2_000,
    "0.9 accuracy, " * 20_000,
    "accuracy 0.9\n" * 20_000,
    '{"thought": ' * 5_000,
    "\x00\ud800\u202e accuracy 0.9",
    "Reflection:" * 10_000,
    "```\n" * 20_000 + "accuracy 0.9",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_text_costs_little_in_a_statement_and_in_an_output(text: str) -> None:
    events = [_step(1, "Execute Script", text, ran=True), _said(text), _step(2, "Final Answer", "")]
    folder = RunFolder(Path("/nonexistent"))
    before = time.process_time()
    check_claims(folder, events)
    assert time.process_time() - before < 2.0


def test_a_long_run_is_checked_in_a_few_milliseconds_a_step() -> None:
    log = "\n".join(
        f"Epoch {i}/99 loss {1 / (i + 1):.4f} val_accuracy {1 - 1 / (i + 2):.4f}" for i in range(99)
    )
    events = []
    for index in range(1, 51):
        reply = (
            f"Thought: Accuracy is {0.5 + index / 200:.3f} and the loss {1 / index:.4f}, better by {index} %."
        )
        events += [_said(reply), _step(index, "Execute Script", f"run {index}\n{log}", ran=True)]
    folder = RunFolder(Path("/nonexistent"))
    before = time.process_time()
    assert check_claims(folder, events).checked > 50
    assert time.process_time() - before < 2.0


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=300) | st.from_regex(r"(accuracy|loss|by|is|to|[0-9.,%eE+-]| ){0,80}", fullmatch=True)
)
def test_any_text_is_read_without_an_error(text: str) -> None:
    for said in assertions(text):
        assert text[said.start : said.end] == text[said.start : said.end].strip()
    evidence = Evidence(None, ())
    evidence.show(text, 1, "output")
    for said in assertions(text):
        evidence.verdict(said)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.001, 0.999), st.integers(1, 6))
def test_a_rounded_value_is_always_supported_by_the_value_that_it_was_rounded_from(
    value: float, digits: int
) -> None:
    said = f"The accuracy is {value:.{digits}f}."
    assert verdict_on(said, f"accuracy: {value:.12f}") in ("+", "") or float(f"{value:.{digits}f}") in (
        0.0,
        1.0,
    )
    assert verdict_on(f"The accuracy is {100 * value:.{digits}f} %.", f"accuracy: {value:.12f}") == "+"


def test_numbers_inside_of_names_are_no_numbers() -> None:
    assert [token.figure for token in tokens("1stFlrSF resnet18 F1 v1.2.3 x86_64") if token.figure] == []
