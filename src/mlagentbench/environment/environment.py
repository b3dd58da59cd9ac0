"""A task's workspace with its actions and limits: one run, step by step, recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from mlagentbench.environment.action_json import readable_path, speakable, valid_text
from mlagentbench.environment.actions.registry import perform
from mlagentbench.environment.actions.syntax import syntax_error
from mlagentbench.environment.consent import perform_with
from mlagentbench.environment.outcome import Outcome, PastEdit
from mlagentbench.environment.repl import Repl
from mlagentbench.errors import PathRefusedError, RunOverError, StillActingError, UsageError
from mlagentbench.model.errors import OverLimitError
from mlagentbench.model.spec import Completion, Message, Model, Sampling, Tool
from mlagentbench.record.events import (
    Denied,
    EndReason,
    LimitHit,
    ModelCalled,
    ModelRole,
    Note,
    PathChange,
    RunEnded,
    RunStarted,
    StepTaken,
)
from mlagentbench.record.replay import Replay
from mlagentbench.record.steps import Action, Observation

if TYPE_CHECKING:
    from mlagentbench.environment.desk import Used
    from mlagentbench.environment.setup import OpenRun, Setup
    from mlagentbench.grading import Grade
    from mlagentbench.record.folder import RunFolder
    from mlagentbench.record.request import RunLimits
    from mlagentbench.task.definition import Task

_MOST_REFUSED = 1_000
"""Steps after the end that an agent may ask for before it is stopped: it would never look at `done`."""
NOTHING_TO_GRADE = (
    "There is nothing to grade: this is a run on a person's own problem. `mlagentbench show` tells what was done, and "
    "`mlagentbench apply` brings it into their folder."
)


class Environment:
    """`reset`, then `step` until `done`, then `grade`; `close` it, or use it as a context manager.

    Every step is on disk when `step` returns. While a resumed run is replayed, steps are answered from its record.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._open: OpenRun | None = None
        self._replay = Replay(())
        self._limits_then = setup.limits
        self._snapshot = ""
        self._steps = 0
        self._elapsed_before = 0.0
        self._clock_started = 0.0
        self._refused = 0
        self.terminated = False
        """The agent submitted."""
        self.truncated = False
        """A limit of the run was reached."""

    @property
    def task(self) -> Task:
        return self._setup.prepared.task

    @property
    def folder(self) -> RunFolder:
        """Where this run is recorded."""
        return self._run.folder

    @property
    def problem(self) -> str:
        """What the agent is told to do; the same as `reset` tells."""
        started = self._run.journal.started
        return started.problem if started else self._run.problem

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions that the agent is shown."""
        return self._setup.actions

    @property
    def limits(self) -> RunLimits:
        """What the run may use; while it is replayed, what it might use then: agents decide by it."""
        return self._limits_then if self._replay else self._setup.limits

    @property
    def history(self) -> list[StepTaken]:
        """Every step so far, recorded ones that are still to be replayed left out."""
        return self._run.journal.steps()[: self._steps]

    @property
    def upcoming(self) -> Action | None:
        """While a run is replayed: what was done next. For agents that cannot know it themselves."""
        return self._replay.upcoming

    @property
    def elapsed(self) -> float:
        """Seconds of the run so far, over all of its resumptions; waiting for models is part of them."""
        return self._elapsed_before + (time.monotonic() - self._clock_started)

    @property
    def done(self) -> bool:
        """Whether the agent submitted, or a limit of the run was reached."""
        if not (self.terminated or self.truncated or self._replay):
            limit = self._setup.limits.time
            if limit is not None and self.elapsed >= limit:
                self._truncate("time", limit)
            elif exhausted := self._run.desk.ledger.exhausted():
                self._truncate(exhausted.name, exhausted.limit)
        return self.terminated or self.truncated

    @property
    def ended(self) -> bool:
        """Whether the record says that the run is over; it is so at once only for a run that was taken up again."""
        return self._run.journal.ended is not None

    @property
    def _run(self) -> OpenRun:
        if self._open is None:
            raise UsageError("The environment is not open: call reset() first, and nothing after close().")
        return self._open

    def reset(self, seed: int | None = None) -> Observation:
        """Start the run, or take up the one that this environment was made for. Tells the problem."""
        if self._open is not None:
            raise UsageError(
                "This environment's run has started already; make() another one for another run."
            )
        self._open = run = self._setup.open(seed)
        self._setup.watch.started(run.folder)
        started = run.journal.started
        if started is None:
            run.lay_out()
            snapshot = run.bench.workspace.snapshot(executed=True)
            run.store.flush()
            started = RunStarted(problem=run.problem, snapshot=snapshot.id)
            run.journal.append(started)
            for told in self._setup.models.trial_notes:
                self.note(told)
            for name in run.desk.unpriced() if self._setup.limits.cost is not None else ():
                self.note(
                    f"The price of {name} is not known, so the limit on cost cannot hold it. Use --price."
                )
        elif run.journal.ended is None:
            run.bench.workspace.restore(run.journal.last_snapshot())
        self._snapshot = started.snapshot
        steps = run.journal.steps()
        self._elapsed_before = run.journal.elapsed()
        if steps:
            lost = any(step.action.name == "Python REPL" for step in steps)
            run.bench.repl = Repl(lost_state=lost)
            run.bench.starts = 1 + sum(step.action.name == "Run Program" for step in steps)
        self._replay = run.desk.replay = Replay(run.journal.events, run.inherited)
        self._limits_then = run.folder.request().limits
        run.desk.take_over(event for event in run.journal.events if isinstance(event, ModelCalled))
        while (step := self._replay.skip(run.begins_after)) is not None:
            self._take_over(step)
        self._clock_started = time.monotonic()
        if self._setup.limits.time is not None:
            run.bench.deadline = self._clock_started + self._setup.limits.time - self._elapsed_before
            run.desk.deadline = run.bench.deadline
        return Observation(text=started.problem)

    def complete(
        self,
        messages: Sequence[Message],
        sampling: Sampling | None = None,
        tools: Sequence[Tool] = (),
        role: ModelRole = "act",
    ) -> Completion:
        """Ask the run's own model. It is recorded and counted, and answered from the record on a resumed run. Where a
        limit of the run leaves no room for it, the run is `done`, and `RunOverError` is raised."""
        try:
            return self._run.desk.complete(role, messages, sampling, tools)
        except OverLimitError as error:
            self._truncate(error.name, error.limit)
            self._refuse(f"{error} The run is over: no call of a model can follow.", error)

    @property
    def used(self) -> Used:
        """What the completions took that the agent asked for so far; on a resumed run, as it was then."""
        return self._run.desk.used

    def sample(self, role: ModelRole, sampling: Sampling) -> None:
        """How a model is asked from now on where a call says nothing else: by actions that think, above all."""
        self._run.desk.sampling[role] = sampling

    def remark(self, role: ModelRole, text: str) -> None:
        """What actions that think tell the model in this role from now on, besides what they ask."""
        self._run.desk.remarks[role] = text

    def model(self, role: ModelRole = "act") -> Model:
        """The model in a role, for its name and what it can do; ask it through `complete`."""
        return self._run.desk.ready(role)

    def syntax_error(self, script: str) -> str:
        """Why a text is no Python for the task's interpreter, which is asked in the sandbox; empty where it is."""
        return syntax_error(self._run.bench, script)

    def step(self, action: Action) -> Observation:
        """Do one thing, and see what came of it. The step that reaches a limit is a step like any other; one that is
        asked for when the run is `done` raises `RunOverError`."""
        run = self._run
        action = speakable(action)
        if self._replay:
            recorded = self._replay.answer(action)
            self._take_over(recorded)
            self._setup.watch.step(recorded, replayed=True)
            return recorded.observation
        if self.done:
            why = "the agent has submitted" if self.terminated else "a limit of the run was reached"
            self._refuse(
                f"The run is over, because {why}: no step can follow. Look at `env.done` before each step."
            )
        started = time.monotonic()
        run.bench.step = self._steps + 1
        self._setup.watch.action(self._steps + 1, action)
        with run.bench.acting():
            if self._setup.person is None:
                outcome = perform(run.bench, action, self._setup.actions)
            else:
                outcome = perform_with(
                    self._setup.person, run.bench, action, self._setup.actions, run.journal.last_snapshot()
                )
        taken = self._record(action, outcome, started)
        self._setup.watch.step(taken, replayed=False)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return taken.observation

    def _refuse(self, sentence: str, cause: Exception | None = None) -> NoReturn:
        self._refused += 1
        if self._refused > _MOST_REFUSED:
            raise StillActingError
        raise RunOverError(sentence) from cause

    def _record(self, action: Action, outcome: Outcome, started: float) -> StepTaken:
        run = self._run
        if outcome.still_alive:
            run.bench.workspace.recheck()
        with run.desk.writing:
            snapshot = run.bench.workspace.snapshot(executed=outcome.executed)
            run.store.flush()
        observation = outcome.observation
        if snapshot.notes:
            text = "\n".join([observation.text, *(f"[{note}]" for note in snapshot.notes)])
            observation = observation.model_copy(update={"text": text})
        for note in snapshot.notes:
            run.journal.append(Denied(text=note))
        taken = StepTaken(
            index=self._steps + 1,
            action=action,
            observation=observation,
            snapshot=snapshot.id,
            changes=tuple(PathChange(path=readable_path(c.path), kind=c.kind) for c in snapshot.changes),
            edits=outcome.edits,
            undone=outcome.undone,
            final=outcome.final,
            seconds=time.monotonic() - started,
            elapsed=self.elapsed,
        )
        run.journal.append(taken)
        self._take_over(taken)
        return taken

    def _take_over(self, step: StepTaken) -> None:
        """What a step changes in this environment, be it new or replayed."""
        edits = self._run.bench.past_edits
        edits.extend(PastEdit(edit, self._snapshot) for edit in step.edits)
        if step.undone:
            last = max(index for index, past in enumerate(edits) if past.edit.saved == step.undone)
            del edits[last]
        self._snapshot = step.snapshot
        self._steps = step.index
        self.terminated = step.final
        limit = self._setup.limits.steps
        if not self.terminated and limit is not None and self._steps >= limit:
            self._truncate("steps", limit)

    def _truncate(self, name: str, value: float) -> None:
        self.truncated = True
        event = LimitHit.model_validate({"name": name, "value": value})
        if not any(isinstance(past, LimitHit) and past.name == name for past in self._run.journal.events):
            self._run.journal.append(event)
            self._setup.watch.note(
                f"The run has reached its limit of {value:g} {'seconds' if name == 'time' else name}."
            )

    def note(self, text: str, data: Mapping[str, object] | None = None) -> None:
        """Keep a sentence in the record, beside the steps, and with it what programs may want to know."""
        self._run.journal.append(Note(text=text, data=dict(data or {})))
        self._setup.watch.note(text)

    def log(self, entry: str) -> None:
        """Put an entry at the end of the research log in the workspace, beside the steps. It is in the snapshot of the
        next one, so while steps are replayed it is there already."""
        from mlagentbench.environment.actions.thinking import RESEARCH_LOG

        if self._replay.upcoming is not None:
            return
        workspace = self._run.bench.workspace
        try:
            workspace.append(RESEARCH_LOG, f"{valid_text(entry)}\n".encode())
        except PathRefusedError as error:
            self._deny(f"An entry of the research log was not written: {error}")
        else:
            # Not a change that the next step makes.
            workspace.snapshot(executed=False)

    def _deny(self, text: str) -> None:
        """Keep in the record, once, what could not be because of what the agent did."""
        if not any(isinstance(event, Denied) and event.text == text for event in self._run.journal.events):
            self._run.journal.append(Denied(text=text))

    def grade(self) -> Grade:
        """The verdict on the workspace as it is now. Asking before the end is kept in the record, so that everybody
        can see whether an agent was steered by hidden answers."""
        if self._setup.own is not None:
            raise UsageError(NOTHING_TO_GRADE)
        if self._run.journal.ended is None:
            self._run.journal.append(
                Note(text=f"Graded on request after step {self._steps}, before the end.")
            )
        grade = self._run.grade(self._snapshot)
        assert grade is not None
        return grade

    def finish(self, reason: EndReason, detail: str = "") -> Grade | None:
        """End the run: a last snapshot, always; the verdict on it, wherever there is something to grade."""
        run = self._run
        run.bench.close()
        if run.journal.ended is None:
            snapshot = run.bench.workspace.snapshot(executed=True)
            run.store.flush()
            self._snapshot = snapshot.id
            run.journal.append(
                RunEnded(reason=reason, detail=detail, snapshot=snapshot.id, elapsed=self.elapsed)
            )
        self._snapshot = run.journal.last_snapshot()
        grade = run.grade(self._snapshot)
        run.conclude()
        return grade

    def taken_up_again(self, folder: RunFolder) -> Environment:
        """An environment for the same run, from what the record says of it. This one must be suspended."""
        return Environment(replace(self._setup, folder=folder))

    def suspend(self) -> None:
        """Let go of the run without ending it; it can be resumed."""
        if self._open is not None:
            self._open.bench.close()
            self._open.close()
            self._open = None

    def close(self) -> None:
        """End the run, if it has not ended, and let go of it."""
        if self._open is not None:
            try:
                self.finish("submitted" if self.terminated else "limit" if self.truncated else "stopped")
            finally:
                self.suspend()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, RunOverError | StillActingError):
            self.close()
        else:
            self.suspend()
