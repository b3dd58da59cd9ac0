"""How an agent that speaks with a model goes from step to step: ask, read, act, remember."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mlagentbench.agent.context import Context, View, joined
from mlagentbench.agent.guiding import direction, failed_before, informing, leading_on, without_effect
from mlagentbench.agent.notes import Notes
from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.protocol import Decision, FormatError, Past, Speech, Vocabulary
from mlagentbench.agent.settings import LanguageSettings
from mlagentbench.agent.shortening import Reader, cut
from mlagentbench.agent.speaking import Speaker
from mlagentbench.environment import Environment
from mlagentbench.environment.actions.registry import all_actions, understand
from mlagentbench.environment.desk import STOP
from mlagentbench.environment.outcome import Outcome
from mlagentbench.errors import UsageError
from mlagentbench.model.errors import TooLongError
from mlagentbench.model.spec import Completion, Message, Sampling
from mlagentbench.record import Action

LOST = "No Action"
"""What a decision is recorded as that no reply could be read for: a step, so that it counts."""

_LONGEST_FAILURE = 200


class _StopError(Exception):
    """The agent can do no more; why is in the record."""


class Memory(Protocol):
    """What an agent keeps of steps that leave its context."""

    def add(self, past: Past) -> None: ...

    def retrieve(self, before: int, plan: str) -> str:
        """What to be reminded of, of the first `before` steps."""


@dataclass(frozen=True)
class Manner:
    """What one agent of this loop has and another has not."""

    entries: tuple[str, ...]
    """What it writes before each action."""
    actions: tuple[str, ...] = ()
    """Shown to it besides those that the run shows."""
    memory: Callable[[Environment, Reader], Memory] | None = None
    speech: Callable[[Vocabulary], Speech] | None = None
    """A way of speaking of its own, whatever the protocol is."""
    system: str = ""
    """The name of a system prompt of its own."""
    forgets_mistakes: bool = False
    """Whether actions whose input could not be understood leave the context when one could be."""


class Loop:
    """One run of one agent. All that it knows comes from the environment's answers, so that it can be replayed."""

    def __init__(self, env: Environment, settings: LanguageSettings, manner: Manner) -> None:
        self._env = env
        self._settings = settings
        vocabulary = _vocabulary(env, settings, manner)
        self._shown = vocabulary.shown
        self._speaker = Speaker(env, settings.protocol, vocabulary, manner.speech)
        self._reader = Reader(env, settings)
        self._memory = manner.memory(env, self._reader) if manner.memory else None
        system = manner.system or ("system_short" if settings.prompt == "short" else "system_full")
        self._context = Context(env.problem, system, manner.forgets_mistakes)
        self._sampling = Sampling(max_tokens=settings.max_tokens, temperature=settings.temperature)
        env.sample("edit", _until_observation(settings.edit_tokens, settings.edit_temperature))
        env.sample("fast", _until_observation(settings.fast_tokens, settings.fast_temperature))
        self._notes = Notes(env)

    def run(self) -> None:
        """Decide and act until the environment is done, or nothing can be decided any more."""
        lost = 0
        try:
            while not self._env.done:
                decision = self._decide()
                if isinstance(decision, Decision):
                    lost = 0
                    self._act(decision)
                elif decision is not None:
                    lost += 1
                    self._lose(decision, lost)
        except _StopError:
            return

    def _act(self, decision: Decision) -> None:
        if self._env.done:
            return
        action = decision.action
        if self._settings.informed_edits:
            self._env.remark("edit", informing(self._env.history, action))
        observation = self._env.step(action)
        if self._env.done:
            return
        text = self._reader.shorten(observation.text, _written(action))
        if self._settings.guided and (remark := without_effect(self._env.history)):
            text = f"{text}\n{remark}"
        past = Past(len(self._env.history), decision, text)
        self._context.remember(
            past, understood=not isinstance(understand(action, self._env.actions), Outcome)
        )
        if self._memory is not None:
            self._memory.add(past)
            left = len(self._context.past) - self._settings.steps_in_context
            if left > 0:
                self._context.earlier = self._memory.retrieve(left, self._context.plan)

    def _lose(self, error: FormatError, lost: int) -> None:
        """A decision without an action. It is a step all the same, unless it is the last."""
        note = f"None of {self._settings.max_tries} replies could be used. The last one: {error.sentence}"
        if lost >= self._settings.lost_decisions:
            self._notes.say(f"{note} The agent stops here.")
            raise _StopError
        self._notes.say(note)
        if self._env.done:
            return
        self._env.step(Action(LOST, {"reason": error.sentence}))
        self._context.lost = error.sentence

    def _decide(self) -> Decision | FormatError | None:
        """What to do next; why nothing can be read after the last try; None if a limit is reached on the way."""
        offered = leading_on(self._shown, self._env.history) if self._settings.guided else ()
        if self._settings.directed:
            self._context.direction = direction(offered or self._shown, self._env.history)
        refused: list[Message] = []
        misleading: set[str] = set()
        error = FormatError("")
        for attempt in range(self._settings.max_tries):
            if self._env.done:
                return None
            self._context.offered = offered
            speech = self._speaker.next(offered)
            completion = self._ask(speech, refused, again=attempt > 0)
            read = speech.read(completion)
            if not isinstance(read, Decision):
                error = FormatError(self._reason(read, completion))
                refused = speech.refuse(completion, prompt("retry", sentence=error.sentence))
            elif misled := self._misled(read.action, offered):
                error = misled
                refused = [Message(role="user", content=prompt("misled", sentence=error.sentence))]
                if read.action.name in misleading:
                    offered = tuple(name for name in offered if name != read.action.name) or offered
                misleading.add(read.action.name)
            else:
                return read
        return error

    def _misled(self, action: Action, offered: tuple[str, ...]) -> FormatError | None:
        """Why a guided agent should not do this now. A kind that misled twice is not offered again in one decision."""
        if not self._settings.guided:
            return None
        if action.name not in offered:
            return FormatError(f"{action.name} leads nowhere now. Choose among: {', '.join(offered)}.")
        if failure := failed_before(action, self._env.history):
            told = cut(failure, _LONGEST_FAILURE)
            done = cut(_written(action), _LONGEST_FAILURE)
            return FormatError(f"{done} was tried, and led nowhere: {told} Do something else.")
        return None

    def _ask(self, speech: Speech, refused: list[Message], again: bool) -> Completion:
        """A completion; where the prompt is too long, of a shorter one."""
        view = View(self._settings.steps_in_context, self._settings.observations_in_context)
        sampling = self._sampling
        if again and self._settings.retry_temperature is not None:
            sampling = sampling.model_copy(update={"temperature": self._settings.retry_temperature})
        for each in (view, *view.smaller()):
            messages = joined([*self._context.messages(speech, each), *refused])
            try:
                completion = self._env.complete(messages, speech.sampling(sampling), speech.tools)
            except TooLongError as error:
                reason = error
                self._speaker.asked()
            else:
                self._speaker.asked()
                return completion
        self._notes.say(
            f"The prompt is too long for the model even without any past step. {reason} The agent stops here."
        )
        raise _StopError

    def _reason(self, error: FormatError, completion: Completion) -> str:
        match completion.stop_reason:
            case "length":
                limit = f"{self._sampling.max_tokens:,} output tokens"
                return f"It reached the limit of {limit} and was cut off. {error.sentence}"
            case "refused":
                return f"The model would not answer. {error.sentence}"
            case _:
                return error.sentence


def _until_observation(max_tokens: int, temperature: float) -> Sampling:
    return Sampling(max_tokens=max_tokens, temperature=temperature, stop=(STOP,))


def _written(action: Action) -> str:
    return f"{action.name} {json.dumps(action.args, ensure_ascii=False)}"


def _vocabulary(env: Environment, settings: LanguageSettings, manner: Manner) -> Vocabulary:
    kinds = all_actions()
    accepted = tuple(name for name, kind in kinds.items() if name in env.actions or not kind.needs_showing)
    chosen = settings.actions or tuple(name for name in kinds if name in (*env.actions, *manner.actions))
    for name in chosen:
        if name not in accepted:
            raise UsageError(f"The action {name!r} must be shown to be used: add --show-action {name!r}.")
    return Vocabulary(
        manner.entries, chosen, accepted, short=settings.prompt == "short", entry_limit=settings.entry_limit
    )
