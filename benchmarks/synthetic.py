"""A folder of runs that nobody made: records as real ones are, with made-up agents, texts and grades.

Some runs are written in full; the others repeat their steps under another id and seed, with a chain of their own.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.evaluation.profile import Profile, make_profile
from mlagentbench.grading import Baseline, Grade
from mlagentbench.model.spec import Completion, Usage
from mlagentbench.record import RunFolder
from mlagentbench.record.events import Edit, Event, ModelCalled, RunEnded, RunStarted, StepTaken
from mlagentbench.record.grades import remember_grade
from mlagentbench.record.request import Host, RunLimits, RunRequest
from mlagentbench.record.steps import Action, Execution, Observation

TASKS = (
    "house-price@1", "spaceship-titanic@1", "imdb@1", "cifar10@1", "ogbn-arxiv@1", "feedback@1", "fathomnet@1",
    "identify-contrails@1", "parkinsons-disease@1", "CLRS@1", "babylm@1", "vectorization@1", "llama-inference@2",
    "literature-review-tool@2", "bibtex-generation@2",
)  # fmt: skip
_LIMITS = RunLimits(
    execution_time=1800,
    memory=2**33,
    processes=64,
    disk=2**33,
    files=10_000,
    output=10_000,
    steps=50,
    time=18_000,
)
_HOST = Host(system="Linux", machine="x86_64", cores=8, memory=2**35, python="3.12.1")
_SENTENCE = (
    "the model loss falls after more epochs and validation accuracy rises while features of the table are scaled "
    "and missing values are filled with medians before gradient boosting is tried again with smaller steps and "
    "deeper trees as the script prints the error of each fold and then writes predictions for all rows of the test set"
)
_WORDS = _SENTENCE.split()


@dataclass(frozen=True)
class Maker:
    """An agent that does not exist."""

    agent: str
    model: str
    skill: float
    """About how far it improves on a task."""
    price: float | None
    """US dollars a thousand tokens."""


AGENTS = (
    Maker("research", "made-up/large", 0.30, 0.010),
    Maker("research", "made-up/small", 0.10, 0.001),
    Maker("react", "made-up/large", 0.18, 0.010),
    Maker("tree", "made-up/local", 0.12, None),
    Maker("starter", "", 0.0, 0.0),
)


def write_store(
    folder: Path,
    *,
    agents: Sequence[Maker] = AGENTS,
    tasks: Sequence[str] = TASKS,
    runs: int = 3,
    steps: int = 50,
    variant: str = "mini",
    profiles: bool = True,
    patterns: int = 3,
    words: int = 160,
) -> int:
    """`runs` of each agent on each task; how many that are. Of each such group, `patterns` runs differ in what they
    did. With `profiles`, each has its profile beside it, as when it was looked at before."""
    count = 0
    for agent in agents:
        for task in tasks:
            models = [
                _Pattern(folder, agent, task, variant, seed, steps, words)
                for seed in range(min(runs, patterns))
            ]
            for seed in range(runs):
                models[seed % len(models)].write(seed, profiles)
                count += 1
    return count


class _Pattern:
    """One run in full, and others like it."""

    def __init__(
        self, folder: Path, agent: Maker, task: str, variant: str, seed: int, steps: int, words: int
    ) -> None:
        self._folder, self._agent, self._task, self._variant = folder, agent, task, variant
        draw = random.Random(f"{agent.agent} {agent.model} {task} {seed}")
        taken = steps if agent.model else min(steps, 3)
        events, grades = _history(draw, agent, task, variant, taken, words)
        self._bodies = [event.model_dump_json().encode() for event in events]
        self._grades = grades
        self._verdicts = b""
        self._profile: Profile | None = None

    def write(self, seed: int, profiles: bool) -> None:
        request = self._request(seed)
        folder = self._create(request)
        head = hashlib.sha256(folder.request_file.read_bytes()).hexdigest()
        lines = []
        for body in self._bodies:
            head = hashlib.sha256(head.encode() + body).hexdigest()
            lines.append(b'{"hash":"%b","event":%b}\n' % (head.encode(), body))
        folder.events_file.write_bytes(b"".join(lines))
        if not self._verdicts:
            for grade in self._grades:
                remember_grade(folder, grade)
            self._verdicts = folder.grades_file.read_bytes()
        folder.grades_file.write_bytes(self._verdicts)
        if profiles:
            self._keep_profile(folder, request, head)

    def _create(self, request: RunRequest) -> RunFolder:
        """As `RunFolder.create` does it, without waiting for the disk."""
        who = f"{request.agent}--{request.model or 'no-model'}".replace("/", "_")
        folder = RunFolder(self._folder / "synthetic" / request.task.partition("@")[0] / who / request.id)
        folder.path.mkdir(parents=True)
        (self._folder / ".store").mkdir(exist_ok=True)
        folder.request_file.write_bytes(request.model_dump_json(indent=1).encode() + b"\n")
        return folder

    def _keep_profile(self, folder: RunFolder, request: RunRequest, head: str) -> None:
        if self._profile is None:
            self._profile = make_profile(folder)
        kept = self._profile
        own = kept.model_copy(
            update={
                "basis": kept.basis.model_copy(update={"head": head}),
                "subject": kept.subject.model_copy(update={"created": request.created}),
                "summary": kept.summary.model_copy(
                    update={"run": request.id, "seed": request.seed, "head": head}
                ),
            }
        )
        folder.evaluation_file.write_bytes(own.model_dump_json().encode() + b"\n")

    def _request(self, seed: int) -> RunRequest:
        who = f"{self._agent.agent} {self._agent.model} {self._task} {self._variant} {seed}"
        return RunRequest(
            id=f"20260101-{seed:06d}-{hashlib.sha256(who.encode()).hexdigest()[:7]}",
            created=1_767_225_600.0 + 60 * seed,
            version="0.1.0",
            task=self._task,
            variant=self._variant,
            data_seed=0,
            data_digest="d" * 64,
            agent=self._agent.agent,
            model=self._agent.model,
            seed=seed,
            sandbox="bwrap",
            network=False,
            actions=("List Files", "Read File", "Write File", "Execute Script", "Final Answer"),
            limits=_LIMITS,
            host=_HOST,
        )


def _history(
    draw: random.Random, agent: Maker, task: str, variant: str, steps: int, words: int
) -> tuple[list[Event], list[Grade]]:
    events: list[Event] = [RunStarted(problem="Improve train.py.", snapshot="0" * 64, time=0.0)]
    grades = [_grade(task, variant, "0" * 64, None)]
    worth, elapsed = None, 0.0
    fate = draw.random()
    for index, name in enumerate(_actions(draw, steps, bool(agent.model)), start=1):
        if agent.model:
            elapsed += draw.uniform(2, 20)
            events.append(_call(draw, agent, elapsed, words))
        elapsed += draw.uniform(0.1, 30)
        ran = name == "Execute Script"
        ok = draw.random() > (0.45 if ran and fate < 0.2 else 0.12)
        if ran and ok and (worth is None or draw.random() < 0.5):
            worth = draw.gauss(agent.skill, 0.12) if agent.model else draw.gauss(0.0, 0.02)
        snapshot = (
            hashlib.sha256(f"{draw.random()}".encode()).hexdigest() if ran or "Write" in name else events[-1]
        )
        snapshot = snapshot if isinstance(snapshot, str) else _last(events)
        events.append(_step(draw, index, name, ok, ran, snapshot, elapsed, words))
        if not any(grade.snapshot == snapshot for grade in grades):
            grades.append(_grade(task, variant, snapshot, worth))
    submitted = isinstance(events[-1], StepTaken) and events[-1].final
    reason = "submitted" if submitted else "limit"
    events.append(RunEnded(reason=reason, snapshot=_last(events), elapsed=elapsed, time=elapsed))
    return events, grades


def _last(events: Sequence[Event]) -> str:
    return next(event.snapshot for event in reversed(events) if isinstance(event, RunStarted | StepTaken))


def _actions(draw: random.Random, steps: int, thinks: bool) -> Iterator[str]:
    kinds = ("List Files", "Read File", "Write File", "Execute Script", "Execute Script", "Reflection")
    for index in range(1, steps + 1):
        if index == steps and draw.random() < 0.8:
            yield "Final Answer"
        else:
            yield draw.choice(kinds) if thinks else "Execute Script"


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=max(1, words)))


def _call(draw: random.Random, agent: Maker, elapsed: float, words: int) -> ModelCalled:
    usage = Usage(input=draw.randint(1_500, 9_000), output=draw.randint(80, 600))
    claim = f" The accuracy is now {draw.uniform(0.6, 0.99):.3f}." if draw.random() < 0.05 else ""
    return ModelCalled(
        role="act",
        model=agent.model,
        request=hashlib.sha256(f"{draw.random()}".encode()).hexdigest(),
        completion=Completion(
            text=_text(draw, words) + claim,
            usage=usage,
            stop_reason="stop",
            model=agent.model,
            latency=draw.uniform(1, 10),
            waited=0.0,
        ),
        cost=None if agent.price is None else agent.price * (usage.input + usage.output) / 1000,
        elapsed=elapsed,
        time=elapsed,
    )


def _step(
    draw: random.Random, index: int, name: str, ok: bool, ran: bool, snapshot: str, elapsed: float, words: int
) -> StepTaken:
    execution = Execution(
        exit_status=0 if ok else 1,
        wall_seconds=draw.uniform(0.1, 20),
        cpu_seconds=draw.uniform(0.1, 20),
        peak_memory=10**8,
    )
    said = f"accuracy {draw.uniform(0.6, 0.99):.4f}\n" if ran and ok else ""
    return StepTaken(
        index=index,
        action=Action(name, {"script_name": "train.py", "content": _text(draw, words // 2)}),
        observation=Observation(
            text=said + _text(draw, 2 * words), ok=ok, execution=execution if ran else None
        ),
        snapshot=snapshot,
        edits=(Edit(source="train.py", saved="train.py"),) if name == "Write File" else (),
        final=name == "Final Answer",
        seconds=draw.uniform(0.1, 30),
        elapsed=elapsed,
        time=elapsed,
    )


def _grade(task: str, variant: str, snapshot: str, worth: float | None) -> Grade:
    valid = worth is not None
    gain = worth or 0.0
    return Grade(
        task=task,
        variant=variant,
        snapshot=snapshot,
        valid=valid,
        reason="" if valid else "There is no submission.csv.",
        score=0.7 * (1 + gain) if valid else None,
        baseline=Baseline(mean=0.7, spread=0.01, runs=3) if valid else None,
        improvement=worth,
        success=gain > 0.1,
        success_at={f"{at}%": gain > at / 100 for at in (5, 10, 20, 30)},
        decided=gain > 0.13,
        over_plain=gain - 0.1 if valid else None,
        position=gain / 0.5 if valid else None,
    )
