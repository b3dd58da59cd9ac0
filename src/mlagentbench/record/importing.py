"""A run folder of the original benchmark, written as a record of this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlagentbench.model.spec import Completion, Message, Request, Sampling, Usage
from mlagentbench.record.events import (
    Edit,
    EndReason,
    Event,
    LimitHit,
    ModelCalled,
    ModelRole,
    Note,
    PathChange,
    RunEnded,
    RunStarted,
    StepTaken,
)
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.original.calls import OldCall, gave_up_after
from mlagentbench.record.original.run import OldRun
from mlagentbench.record.original.trace import OldStep, Trace
from mlagentbench.record.original.workspaces import Workspaces
from mlagentbench.record.steps import Action, Execution, Observation, Primitive
from mlagentbench.workspace import Store, diff

LONGEST_OBSERVATION = 40_000
"""Characters of an observation that stand in the record; the whole of a longer one lies in `outputs/`."""
_FAILED = ("EnvError:", "LLMError:", "Invalid action:", "ActionInputParsingError:")
_TRACEBACK = "Traceback (most recent call last):"
_EXECUTIONS = ("Execute Script", "Python REPL")
_EDITING = {
    "Write File": ("file_name", "file_name"),
    "Append File": ("file_name", "file_name"),
    "Edit Script (AI)": ("script_name", "save_name"),
    "Edit Script Segment (AI)": ("script_name", "save_name"),
}
"""Where an action that edits says what it edits, and where to."""
_RAN = Execution(wall_seconds=0.0, cpu_seconds=0.0, peak_memory=0)
"""A program ran, and nobody knows how it ended and what it used."""
_LONGEST_DETAIL = 500
_TOO_LONG = "TooLongPromptError"


@dataclass(frozen=True)
class Words:
    """How what an old run tells is called here, and what its folder tells of it as a whole."""

    imported: float
    """When it is imported."""
    action: Callable[[str], str]
    model: Callable[[str], str]
    models: dict[ModelRole, str]
    """Which one has which role, where a call does not say."""
    steps_limit: int | None = None
    time_limit: float | None = None
    most_tries: int = 5
    """Replies that the agent asked for before it gave up."""


class Writer:
    """Writes one run."""

    def __init__(
        self, run: OldRun, workspaces: Workspaces, words: Words, folder: RunFolder, store: Store
    ) -> None:
        self._run, self._workspaces, self._words = run, workspaces, words
        self._folder, self._store = folder, store
        self._began = run.started

    def write(self, notes: Sequence[str]) -> None:
        """The whole record, in the order in which things happened as far as that is known."""
        log = self._folder.log()
        for event in self._events(notes):
            log.append(event)
        log.close()
        for name, data in (
            ("main_log.txt", self._run.main_log),
            ("error.txt", self._run.told.error.encode()),
        ):
            if data:
                self._folder.outputs.mkdir(exist_ok=True)
                (self._folder.outputs / name).write_bytes(data)

    def _events(self, notes: Sequence[str]) -> Iterator[Event]:
        yield RunStarted(problem=self._run.trace.problem, snapshot=self._workspaces.first, time=self._began)
        yield from (Note(text=text, time=self._words.imported) for text in notes)
        calls = deque(self._run.calls)
        inner = _Inner(self._run.trace, self._words)
        before, elapsed = self._workspaces.first, 0.0
        for number, step in enumerate(self._run.trace.steps):
            when = self._began + elapsed if step.time is None else step.time
            elapsed = max(elapsed, when - self._began)
            while calls and calls[0].step <= number:
                yield self._called(calls.popleft(), when, elapsed)
            after = self._workspaces.after[number]
            yield StepTaken(
                index=number + 1,
                action=Action(self._words.action(step.name), step.args),
                observation=self._observation(step, number + 1),
                primitives=inner.of(step),
                snapshot=after,
                changes=tuple(
                    PathChange(path=_readable(change.path), kind=change.kind)
                    for change in diff(self._store, before, after)
                ),
                edits=_edits(step),
                undone=str(step.args.get("script_name", "")) if _undoes(step) else "",
                final=step.name == "Final Answer",
                seconds=0.0,
                elapsed=elapsed,
                time=when,
            )
            before = after
        elapsed = max(elapsed, self._run.told.seconds or 0.0)
        yield from (self._called(call, self._began + elapsed, elapsed) for call in calls)
        yield from self._end(elapsed)

    def _observation(self, step: OldStep, index: int) -> Observation:
        output = ""
        if len(step.text) > LONGEST_OBSERVATION:
            output = f"step-{index:04d}.txt"
            self._folder.outputs.mkdir(exist_ok=True)
            (self._folder.outputs / output).write_text(step.text, encoding="utf-8", newline="")
        return Observation(
            text=_cut(step.text), ok=_went_well(step), output=output, execution=_RAN if _ran(step) else None
        )

    def _called(self, call: OldCall, when: float, elapsed: float) -> ModelCalled:
        role = self._role(call)
        request = Request(
            messages=(Message(role="user", content=call.prompt),) if call.prompt else (),
            sampling=Sampling(max_tokens=max(call.budget, 1), temperature=None),
        )
        used = Usage(input=call.tokens[0], output=call.tokens[1]) if call.tokens else Usage()
        notes = ["How long it took, and why it ended, is not known."]
        if call.tokens is None:
            notes.append("How many tokens it used is not known.")
        return ModelCalled(
            role=role,
            model=self._words.model(call.model) if call.model else self._words.models.get(role, ""),
            request=self._store.put(request.model_dump_json().encode()),
            completion=Completion(
                text=call.reply,
                usage=used,
                stop_reason="stop",
                model=call.model,
                latency=0.0,
                notes=tuple(notes),
            ),
            inside=call.kind == "tool",
            elapsed=elapsed,
            time=when,
        )

    def _refused(self, error: str, when: float, elapsed: float) -> ModelCalled:
        """The call that the run ended with, of which nothing else is known."""
        request = Request(messages=(), sampling=Sampling(temperature=None))
        return ModelCalled(
            role="act",
            model=self._words.models.get("act", ""),
            request=self._store.put(request.model_dump_json().encode()),
            error=error,
            error_kind="TooLongError",
            elapsed=elapsed,
            time=when,
        )

    def _role(self, call: OldCall) -> ModelRole:
        if call.kind == "act":
            return "act"
        steps = self._run.trace.steps
        edits = call.kind == "tool" and call.step < len(steps) and steps[call.step].name.startswith("Edit")
        return "edit" if edits else "fast"

    def _end(self, elapsed: float) -> Iterator[Event]:
        """How it ended, as far as the folder tells."""
        run, when = self._run, self._began + elapsed
        error = (run.told.error.strip().splitlines() or [""])[-1][:_LONGEST_DETAIL]
        reason: EndReason
        if any(step.name == "Final Answer" for step in run.trace.steps):
            reason, detail = "submitted", f"then an error: {error}" if error else ""
        elif "TimeoutException" in error:
            reason, detail = "limit", error
            yield LimitHit(name="time", value=self._words.time_limit or elapsed, time=when)
        elif _TOO_LONG in error:
            reason, detail = "stopped", f"{error}; the original says so whatever a provider refuses"
            yield self._refused(error, when, elapsed)
        elif error:
            reason, detail = "error", error
        elif self._words.steps_limit is not None and len(run.trace.steps) >= self._words.steps_limit:
            reason, detail = "limit", ""
            yield LimitHit(name="steps", value=float(self._words.steps_limit), time=when)
        elif run.trace.torn:
            reason, detail = "stopped", "how it ended is lost with the end of its trace"
        elif run.told.ended and gave_up_after(run.calls) >= self._words.most_tries:
            reason, detail = "stopped", "the agent ended without submitting"
            tries = gave_up_after(run.calls)
            yield Note(text=f"None of {tries} replies could be used. The agent stopped here.", time=when)
        elif run.told.ended:
            reason, detail = "stopped", "the agent ended without submitting"
        else:
            reason, detail = "died", "neither its time nor an error was written, so it was killed as it seems"
        yield RunEnded(
            reason=reason, detail=detail, snapshot=self._workspaces.last, elapsed=elapsed, time=when
        )


class _Inner:
    """The primitive steps, given by their times to the steps that they were taken in."""

    def __init__(self, trace: Trace, words: Words) -> None:
        self._words = words
        timed = [
            (step.time, number, step) for number, step in enumerate(trace.inner) if step.time is not None
        ]
        self._rest = deque(sorted(timed, key=lambda each: each[:2]))

    def of(self, step: OldStep) -> tuple[Primitive, ...]:
        taken: list[OldStep] = []
        while step.time is not None and self._rest and self._rest[0][0] <= step.time:
            taken.append(self._rest.popleft()[2])
        if len(taken) == 1 and taken[0].name == step.name:
            return ()  # a primitive step is listed as one inside of itself
        return tuple(
            Primitive(
                action=Action(self._words.action(each.name), each.args),
                observation=Observation(text=_cut(each.text), ok=_went_well(each)),
            )
            for each in taken
        )


def _cut(text: str) -> str:
    if len(text) <= LONGEST_OBSERVATION:
        return text
    half = LONGEST_OBSERVATION // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out here …]\n{text[-half:]}"


def _went_well(step: OldStep) -> bool:
    """The original kept no exit status, so a program that failed is told by its traceback."""
    if step.refused or step.text.startswith(_FAILED):
        return False
    return not (step.name in _EXECUTIONS and _TRACEBACK in step.text)


def _ran(step: OldStep) -> bool:
    return step.name in _EXECUTIONS and not step.refused and not step.text.startswith(_FAILED)


def _edits(step: OldStep) -> tuple[Edit, ...]:
    """The file that an action wrote for the agent, by its arguments."""
    names = _EDITING.get(step.name)
    if names is None or not _went_well(step):
        return ()
    source, saved = (step.args.get(name) for name in names)
    return (Edit(source=str(source), saved=str(saved)),) if source and saved else ()


def _undoes(step: OldStep) -> bool:
    return step.name == "Undo Edit Script" and _went_well(step)


def _readable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
