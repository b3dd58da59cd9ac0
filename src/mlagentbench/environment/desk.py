"""A run's models. Every call of one goes through here: it is recorded, counted, and on a resumed run replayed."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mlagentbench.environment.ledger import Ledger, Price, Reserved
from mlagentbench.errors import UsageError
from mlagentbench.model import errors
from mlagentbench.model.bounds import bounded
from mlagentbench.model.errors import ModelError, OverLimitError
from mlagentbench.model.spec import Completion, Message, Model, Request, Sampling, Tool, Usage
from mlagentbench.model.waiting import Tell, TimeIsUpError, watched
from mlagentbench.record.events import ModelCalled, ModelRole
from mlagentbench.record.journal import Journal
from mlagentbench.record.replay import Replay
from mlagentbench.record.request import RunLimits
from mlagentbench.units import format_duration
from mlagentbench.workspace import Store

_AT_ONCE = 4
STOP = "Observation:"
"""Where every completion of the published agents ends: only the environment observes."""
PUBLISHED: dict[ModelRole, Sampling] = {
    "edit": Sampling(max_tokens=4000, temperature=0.5, stop=(STOP,)),
    "fast": Sampling(max_tokens=2000, temperature=0.01, stop=(STOP,)),
}
"""How the actions that think ask, as published."""

_AT_ONCE_ANSWERED = ("mock", "human", "replay")
"""Providers that are asked in the thread that wants the answer: scripts need no bound, and a person may think."""


@dataclass(frozen=True)
class Used:
    """What completions took."""

    tokens: int = 0
    cost: float = 0.0
    """In US dollars, as far as it is known."""
    seconds: float = 0.0

    def more(self, completion: Completion, cost: float | None) -> Used:
        return Used(
            self.tokens + completion.usage.input + completion.usage.output,
            self.cost + (cost or 0.0),
            self.seconds + completion.latency + completion.waited,
        )

    def since(self, earlier: Used) -> Used:
        return Used(self.tokens - earlier.tokens, self.cost - earlier.cost, self.seconds - earlier.seconds)

    def most(self, other: Used) -> Used:
        return Used(
            max(self.tokens, other.tokens), max(self.cost, other.cost), max(self.seconds, other.seconds)
        )


class Desk:
    """The act, edit and fast model of one open run."""

    def __init__(
        self,
        models: Mapping[ModelRole, Model],
        journal: Journal,
        store: Store,
        price: Price,
        limits: RunLimits,
        elapsed: Callable[[], float],
        tell: Callable[[ModelCalled], None],
        waiting: Tell,
        seed: int,
    ) -> None:
        self._models = models
        self._journal = journal
        self._store = store
        self._price = price
        self._elapsed = elapsed
        self._tell = tell
        self._waiting = waiting
        self._time_limit = limits.time or 0.0
        self._seed = seed
        self._asked: Counter[bytes] = Counter()
        self.writing = threading.Lock()
        """Held by whoever writes to the run's store: calls of programs come in threads of their own."""
        self.replay = Replay(())
        self.ledger = Ledger(limits.tokens, limits.cost, price)
        self.deadline: float | None = None
        """On the monotonic clock, when the run's own time is up: no call is waited for longer."""
        self.used = Used()
        """By what the agent itself asked for, from the beginning; when a run is replayed, it grows as it did. So an
        agent may decide by it."""
        self.sampling = dict(PUBLISHED)
        """How a role is asked where nothing else is said; an agent may set it when it begins."""
        self.remarks: dict[ModelRole, str] = {}
        """What actions tell a model besides what they ask; an agent may set it."""
        self.turn = 0
        """The step that is being taken."""
        self.inside = False
        """Whether an action is being performed, so that a call is part of it."""

    def has(self, role: ModelRole) -> bool:
        return role in self._models

    def model(self, role: ModelRole) -> Model:
        if role not in self._models:
            raise UsageError(
                "This needs a language model, and the run has none. Name one with -m provider/name."
            )
        return self._models[role]

    def ready(self, role: ModelRole) -> Model:
        """The model in a role. A local one is loaded to know what it can do, which is shown if it takes long."""
        model = self.model(role)
        if model.name.startswith("local/"):
            watched(lambda: model.speaks_tools, f"Loading {model.name}", tell=self._waiting)
        return model

    def unpriced(self) -> list[str]:
        """The models whose price is not known, which no limit on cost can hold."""
        names = sorted({model.name for model in self._models.values()})
        return [name for name in names if self._price(name, Usage(input=1, output=1)) is None]

    def ask(self, role: ModelRole, prompt: str) -> Completion:
        """One question, one answer."""
        return self.complete(role, [Message(role="user", content=prompt)])

    def ask_all(self, role: ModelRole, prompts: Sequence[str]) -> list[Completion]:
        """Several questions side by side; the answers in the order of the questions."""
        if len(prompts) <= 1:
            return [self.ask(role, prompt) for prompt in prompts]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda prompt: self.ask(role, prompt), prompts))

    def complete(
        self,
        role: ModelRole,
        messages: Sequence[Message],
        sampling: Sampling | None = None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """A completion, from the record while there is one. Errors are recorded too, and met again on replay."""
        model = self.model(role)
        sampling = sampling or self.sampling.get(role, Sampling())
        request = Request(messages=tuple(messages), sampling=sampling, tools=tuple(tools))
        if sampling.seed is None:
            request = self._seeded(role, request)
        with self.writing:
            name = self._store.put(request.model_dump_json().encode())
            recorded = self._recorded(role, name)
        if recorded is None:
            with self.ledger.reserve(model.name, request, self.deadline) as reserved:
                called = self._call(role, model, name, request, reserved)
                with self.writing:
                    self._store.flush()
                    self._journal.append(called)
                    self._count(called)
            self._tell(called)
        else:
            called = recorded
        if called.completion is None:
            kind = getattr(errors, called.error_kind, ModelError)
            if kind is OverLimitError:
                raise OverLimitError(called.error, name="time", limit=self._time_limit)
            raise kind(called.error)
        if not called.inside:
            self.used = self.used.more(called.completion, called.cost)
        return called.completion

    def _seeded(self, role: ModelRole, request: Request) -> Request:
        """With the run's seed, and another one each time that the agent asks the same again, or has an action ask it in
        a later step: it wants another answer, and a model that honours seeds would give the same one for ever."""
        seed = self._seed
        if role == "tool":
            pass  # a program that is started again asks again, and is answered from the record
        elif self.inside:
            seed += self.turn
        else:
            content = hashlib.sha256(f"{role} {request.model_dump_json()}".encode()).digest()
            seed += self._asked[content]
            self._asked[content] += 1
        sampling = request.sampling.model_copy(update={"seed": seed})
        return request.model_copy(update={"sampling": sampling})

    def take_over(self, calls: Iterable[ModelCalled]) -> None:
        """Count what the record says that the run has used, and let scripted models go on after it."""
        for call in calls:
            self._count(call)
            if call.completion is not None and call.role in self._models:
                from mlagentbench.model.mock import tell_replayed

                tell_replayed(self._models[call.role], call.completion)

    def _count(self, call: ModelCalled) -> None:
        if call.completion is not None:
            self.ledger.count(call.completion.usage, call.cost)

    def _inside(self, role: ModelRole) -> bool:
        """Whether a call is part of an action; those of programs always are."""
        return self.inside or role == "tool"

    def _recorded(self, role: ModelRole, request: str) -> ModelCalled | None:
        if self._inside(role):
            return self.replay.take_spare(role, request)
        return self.replay.answer_call(role, request) if self.replay else None

    def _call(
        self, role: ModelRole, model: Model, name: str, request: Request, reserved: Reserved
    ) -> ModelCalled:
        completion: Completion | None = None
        error = kind = ""
        waited, begun = 0.0, time.monotonic()
        try:
            completion = self._answer(model, request, reserved)
        except ModelError as failure:
            error, kind = str(failure), type(failure).__name__
            waited = time.monotonic() - begun
        return ModelCalled(
            role=role,
            model=model.name,
            request=name,
            completion=completion,
            error=error,
            error_kind=kind,
            waited=waited,
            cost=self._price(model.name, completion.usage) if completion else None,
            inside=self._inside(role),
            elapsed=self._elapsed(),
        )

    def _answer(self, model: Model, request: Request, reserved: Reserved) -> Completion:
        """What the model says within the budget that is left for it, and within the run's time."""
        sampling, budget = request.sampling, request.sampling.max_tokens
        if reserved.output < budget:
            sampling = sampling.model_copy(update={"max_tokens": reserved.output})

        def make() -> Completion:
            return model.complete(request.messages, sampling, request.tools)

        if model.name.partition("/")[0] in _AT_ONCE_ANSWERED:
            said = make()
        else:
            try:
                what = f"Waiting for {model.name} to reply"
                said = watched(make, what, until=self.deadline, tell=self._waiting)
            except TimeIsUpError:
                raise OverLimitError(
                    f"The run's time of {format_duration(self._time_limit)} was over before {model.name} had replied."
                ) from None
        completion = bounded(said, request.messages, sampling, request.tools)
        self.ledger.kept(reserved, completion.usage)
        if reserved.output < budget:
            note = f"The run's limits left {reserved.output:,} of the {budget:,} output tokens that were asked for."
            completion = completion.model_copy(update={"notes": (*completion.notes, note)})
        return completion
