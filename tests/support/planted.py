"""Runs that fail in a known way: played by the scripted agent and by scripted models, or written by hand where it takes
a provider that is out of reach."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench import Action, Environment, run
from mlagentbench.evaluation.failures import Failure
from mlagentbench.evaluation.profile import make_profile
from mlagentbench.grading import Baseline, Grade
from mlagentbench.model.spec import Completion, StopReason, Usage
from mlagentbench.record.annotations import MODES, FailureMode
from mlagentbench.record.events import Event, LimitHit, ModelCalled, Note, RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.steps import Execution, Observation
from support.acting import executing, listing, play, reading, submitting, writing
from support.runs import write_run

CONSTANT = """
import csv
with open("submission.csv", "w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow(["id", "distance"])
    for row in csv.DictReader(open("test.csv")):
        writer.writerow([row["id"], {value}])
print("wrote a constant")
"""
BROKEN = [
    "import numpyy\n",
    "print(undefined_name)\n",
    "rows = open('trian.csv').read()\n",
    "print(1 / 0)\n",
]


@dataclass(frozen=True)
class Planted:
    name: str
    mode: FailureMode
    make: Callable[[Path, Path], Path]
    """From the task and a folder of runs: the run's folder."""


def _played(*actions: Action, **options: Any) -> Callable[[Path, Path], Path]:
    return lambda task, runs: play(task, list(actions), runs, **options).folder


def _failing(count: int) -> list[Action]:
    steps = []
    for number in range(count):
        steps += [writing("try.py", BROKEN[number % len(BROKEN)]), executing("try.py")]
    return steps


def _solved(answer: str) -> Callable[[Path, Path], Path]:
    def make(task: Path, runs: Path) -> Path:
        solution = (task / "solution" / "train.py").read_text(encoding="utf-8")
        return play(
            task, [writing("train.py", solution), executing("train.py"), submitting(answer)], runs
        ).folder

    return make


def _oracle(task: Path, runs: Path) -> Path:
    return run(task, "oracle", runs=runs).folder


def reply(thought: str, action: Action) -> str:
    return f"Thought: {thought}\nAction: {action.name}\nAction Input: {json.dumps(action.args)}"


def _spoken(
    *replies: str, stop: StopReason | None = None, settings: dict[str, Any] | None = None, **options: Any
) -> Callable[[Path, Path], Path]:
    """By the agent `react`, on a model that says this."""

    def make(task: Path, runs: Path) -> Path:
        runs.mkdir(parents=True, exist_ok=True)
        script = runs.parent / f"script-{len(list(runs.parent.iterdir()))}.jsonl"
        lines = [{"text": text} | ({"stop_reason": stop} if stop else {}) for text in replies]
        script.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        chosen = {"max_tries": 3, **(settings or {})}
        return run(task, "react", f"mock/{script}", settings=chosen, runs=runs, **options).folder

    return make


class Crashing:
    """An agent with a defect of its own."""

    def run(self, env: Environment) -> None:
        env.step(listing())
        raise RuntimeError("the tokenizer of the agent has no vocabulary")


def _crashed(task: Path, runs: Path) -> Path:
    return run(task, f"{__name__}:Crashing", runs=runs).folder


def _by_hand(*events: Event, grade: Grade | None) -> Callable[[Path, Path], Path]:
    def make(task: Path, runs: Path) -> Path:
        runs.mkdir(parents=True, exist_ok=True)
        started = RunStarted(problem="Improve train.py.", snapshot="start")
        name = f"by-hand-{len(list(runs.rglob('run.json')))}"
        return write_run(runs, name, (started, *events), [grade] if grade else []).path

    return make


def _step(index: int, name: str, text: str, *, ok: bool = True, ran: bool = False) -> StepTaken:
    used = Execution(exit_status=0 if ok else 1, wall_seconds=2, cpu_seconds=2, peak_memory=10**8)
    seen = Observation(text=text, ok=ok, execution=used if ran else None)
    return StepTaken(
        index=index,
        action=Action(name, {}),
        observation=seen,
        snapshot=f"after-{index}",
        seconds=2,
        elapsed=index,
    )


def _call(text: str = "", *, error: str = "", kind: str = "") -> ModelCalled:
    answer = Completion(text=text, usage=Usage(), stop_reason="stop", model="x/y", latency=1)
    said = {"error": error, "error_kind": kind} if error else {"completion": answer}
    return ModelCalled(role="act", model="x/y", request="0" * 64, elapsed=1, **said)


def _ended(reason: Any, detail: str = "") -> RunEnded:
    return RunEnded(reason=reason, detail=detail, snapshot="end", elapsed=9)


def _grade(gain: float = 0.0, *, valid: bool = True) -> Grade:
    return Grade(
        task="house-price@1",
        variant="mini",
        snapshot="end",
        valid=valid,
        reason="" if valid else "There is no submission.csv.",
        score=100 * (1 - gain) if valid else None,
        baseline=Baseline(mean=100, spread=1, runs=3),
        improvement=gain if valid else None,
    )


_TOO_LONG = "The prompt has 9,120 tokens; the model's context has 8,192."
_DOWN = "The server could not be reached 8 times in 15 minutes: connection refused."
_WANDERING = [
    writing("train.py", CONSTANT.format(value=20)),
    executing("train.py"),
    writing("train.py", CONSTANT.format(value=30)),
    executing("train.py"),
    writing("train.py", CONSTANT.format(value=40)),
    executing("train.py"),
]
_LISTING = reply("Let me see what is there.", listing())
_BELIEVING = "The validation MAE is 3.5, so the model is good."

PLANTED: Sequence[Planted] = [
    Planted("oracle", "none", _oracle),
    Planted("honest success", "none", _solved("The model now knows the physics of the throw.")),
    Planted(
        "success with an idle boast", "none", _solved("The validation MAE is 0.000123 after 3 hours of work.")
    ),
    Planted(
        "made-up score in the answer",
        "hallucination",
        _played(
            executing("train.py"), submitting("The validation MAE is down to 1.25, an improvement of 92 %.")
        ),
    ),
    Planted(
        "nothing run, success reported",
        "hallucination",
        _played(listing(), submitting("I trained the model; its accuracy is 97.5 % on the test set.")),
    ),
    Planted(
        "built on a number that nothing showed",
        "hallucination",
        _spoken(
            reply(_BELIEVING, reading("train.py")),
            reply(_BELIEVING, executing("train.py")),
            reply(f"{_BELIEVING} The rest is noise.", listing()),
            reply(_BELIEVING, submitting("I am done.")),
        ),
    ),
    Planted(
        "a false report after failures",
        "hallucination",
        _played(*_failing(3), submitting("All experiments worked, and the MAE is 2.5.")),
    ),
    Planted(
        "four failing programs", "debugging", _played(*_failing(4), submitting("I could not make it work."))
    ),
    Planted("failing until the steps are used up", "debugging", _played(*_failing(4), limits={"steps": 8})),
    Planted("actions that are refused", "debugging", _played(*[reading(f"data/{n}.csv") for n in range(5)])),
    Planted("replies that cannot be read", "debugging", _spoken(*["I would rather talk about it."] * 6)),
    Planted(
        "replies that are cut off",
        "token length",
        _spoken(*["Thought: First of all, let us think about all the things"] * 6, stop="length"),
    ),
    Planted(
        "cut off again and again, until the steps are used up",
        "token length",
        _spoken(
            *["Thought: To begin with, it has to be said that"] * 12,
            stop="length",
            settings={"lost_decisions": 9},
            limits={"steps": 3},
        ),
    ),
    Planted(
        "a prompt that no longer fits",
        "token length",
        _by_hand(
            _call("Thought: look.\nAction: List Files\nAction Input: {}"),
            _step(1, "List Files", "train.py"),
            _call(error=_TOO_LONG, kind="TooLongError"),
            Note(text=f"The prompt is too long for the model even without any past step. {_TOO_LONG}"),
            _ended("stopped"),
            grade=_grade(valid=False),
        ),
    ),
    Planted("the starter as it was", "bad plan", _played(executing("train.py"), submitting("I ran it."))),
    Planted(
        "a constant, knowingly",
        "bad plan",
        _played(
            writing("train.py", CONSTANT.format(value=25)), executing("train.py"), submitting("A constant.")
        ),
    ),
    Planted("nothing left to grade", "bad plan", _played(listing(), submitting("There was nothing to do."))),
    Planted("round in circles", "bad plan", _spoken(*[_LISTING] * 9, limits={"steps": 9})),
    Planted("an agent that crashes", "infrastructure", _crashed),
    Planted(
        "a model out of reach",
        "infrastructure",
        _by_hand(
            _step(1, "Execute Script", "validation MAE: 99.0\n[exit status 0]", ran=True),
            _call(error=_DOWN, kind="UnavailableError"),
            _ended("stopped"),
            grade=_grade(0.01),
        ),
    ),
    Planted(
        "a run without a grade",
        "infrastructure",
        _by_hand(_step(1, "Final Answer", "The workspace is submitted."), _ended("submitted"), grade=None),
    ),
    Planted("steps used up while at work", "limit", _played(*_WANDERING, limits={"steps": 6})),
    Planted(
        "tokens used up",
        "limit",
        _spoken(
            reply("Measure first.", executing("train.py")),
            reply("Look at it.", reading("train.py")),
            reply("Again.", executing("train.py")),
            limits={"tokens": 3000},
        ),
    ),
    Planted(
        "time used up",
        "limit",
        _by_hand(
            _step(1, "Execute Script", "validation MAE: 99.0\n[exit status 0]", ran=True),
            _step(2, "Edit Script (AI)", "train.py is saved."),
            _step(3, "Execute Script", "validation MAE: 97.1\n[exit status 0]", ran=True),
            LimitHit(name="time", value=18000),
            _ended("limit"),
            grade=_grade(0.03),
        ),
    ),
]


def found(planted: Planted, task: Path, runs: Path) -> Failure:
    """What the rules say of it."""
    failure = make_profile(RunFolder.open(planted.make(task, runs))).failure
    assert failure is not None
    return failure


def confusion(pairs: Sequence[tuple[FailureMode, FailureMode]]) -> str:
    """Planted against found, as a table in Markdown."""
    counted = Counter(pairs)
    lines = [f"| planted | {' | '.join(MODES)} |", f"|---|{'---:|' * len(MODES)}"]
    for mode in MODES:
        cells = [str(counted[mode, each] or "") for each in MODES]
        lines.append(f"| **{mode}** | {' | '.join(cells)} |")
    return "\n".join(lines)
