"""What reports need of a run, derived from its record. It may be deleted: it is made again when asked for."""

from __future__ import annotations

from collections import Counter

from pydantic import BaseModel, ValidationError

from mlagentbench import bounds
from mlagentbench.errors import RecordError
from mlagentbench.grading import Grade
from mlagentbench.record.events import Denied, ModelCalled, RunEnded, StepTaken
from mlagentbench.record.files import read_part
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades
from mlagentbench.record.log import History
from mlagentbench.record.sealed import read_sealed, write_sealed


class Summary(BaseModel):
    format: int = 1
    run: str
    task: str
    variant: str
    agent: str
    """By the label that an experiment gave it, where it has one."""
    model: str
    seed: int
    network: bool
    sandbox: str
    head: str
    """Hash of the last event: the summary is of exactly this record."""
    ended: str = ""
    """The reason in one word; empty while the run can go on."""
    detail: str = ""
    steps: int
    failed_steps: int
    actions: dict[str, int]
    denied: int
    elapsed: float
    execution_wall: float
    execution_cpu: float
    peak_memory: int
    model_calls: int = 0
    failed_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: float | None = 0.0
    """US dollars; None where a price is not known."""
    model_seconds: float = 0.0
    waited: float = 0.0
    """Seconds spent on failed requests to models, and between them."""
    grade: Grade | None = None
    forked: bool = False
    """Whether it began with the steps of another run."""
    imported: bool = False
    unknown: tuple[str, ...] = ()
    """Of an imported run: what is 0 above because nobody knows it."""

    @property
    def known_seed(self) -> int | None:
        """None of an imported run: the original had no seeds."""
        return None if self.imported else self.seed


def summarise(folder: RunFolder) -> Summary:
    """The summary of the record as it is now; kept beside it if the run has ended."""
    summary = derive(folder)
    if summary.ended:
        body = summary.model_dump_json(indent=1).encode()
        write_sealed(folder.summary_file, body, *_basis(folder, summary.head))
    return summary


def derive(folder: RunFolder, history: History | None = None) -> Summary:
    """The summary of the record as it is now; of `history`, where that was read already."""
    request = folder.request()
    history = history or folder.history()
    if problem := folder.end_problem(history):
        raise RecordError(problem)
    steps = [event for event in history.events if isinstance(event, StepTaken)]
    executions = [step.observation.execution for step in steps if step.observation.execution]
    ended = next((event for event in history.events if isinstance(event, RunEnded)), None)
    calls = [event for event in history.events if isinstance(event, ModelCalled)]
    answers = [call.completion for call in calls if call.completion]
    costs = [call.cost for call in calls if call.completion]
    unpriced = request.imported is not None and "cost" in request.imported.unknown
    return Summary(
        run=request.id,
        task=request.task,
        variant=request.variant,
        agent=request.called,
        model=request.model,
        seed=request.seed,
        network=request.network,
        sandbox=request.sandbox,
        head=history.head,
        ended=ended.reason if ended else "",
        detail=ended.detail if ended else "",
        steps=len(steps),
        failed_steps=sum(not step.observation.ok for step in steps),
        actions=dict(Counter(step.action.name for step in steps)),
        denied=sum(isinstance(event, Denied) for event in history.events),
        elapsed=ended.elapsed if ended else steps[-1].elapsed if steps else 0.0,
        execution_wall=sum(execution.wall_seconds for execution in executions),
        execution_cpu=sum(execution.cpu_seconds for execution in executions),
        peak_memory=max((execution.peak_memory for execution in executions), default=0),
        model_calls=len(calls),
        failed_calls=len(calls) - len(answers),
        tokens_in=sum(answer.usage.input for answer in answers),
        tokens_out=sum(answer.usage.output for answer in answers),
        tokens_cached=sum(answer.usage.cached for answer in answers),
        cost=None if unpriced or None in costs else sum(cost or 0.0 for cost in costs),
        model_seconds=sum(answer.latency for answer in answers),
        waited=sum(answer.waited for answer in answers) + sum(call.waited for call in calls),
        grade=read_grades(folder).get(ended.snapshot) if ended else None,
        forked=request.origin is not None,
        imported=request.imported is not None,
        unknown=request.imported.unknown if request.imported else (),
    )


def read_summary(folder: RunFolder) -> Summary:
    """The kept summary, if it was derived here from this very record; else a new one."""
    kept = read_sealed(folder.summary_file, *_basis(folder, folder.head()))
    try:
        return Summary.model_validate_json(kept) if kept is not None else summarise(folder)
    except ValidationError:
        return summarise(folder)
    except OSError:
        return derive(folder)  # where nothing can be written


def _basis(folder: RunFolder, head: str) -> tuple[bytes, bytes, bytes]:
    try:
        grades = read_part(folder.path, folder.grades_file.name, bounds.DERIVED)
    except FileNotFoundError:
        grades = b""
    return folder.request_bytes(), head.encode(), grades
