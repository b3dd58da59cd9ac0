"""A run as a sample of Inspect's. Import this only where it is used: Inspect is an extra, and heavy.

Its conversation is what the agent did: the problem, then for each step what the model said with the action as a tool
call, and the observation as the tool's answer. What a model was really asked stands with each of its calls, in the
events.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Literal

from inspect_ai.dataset import Sample
from inspect_ai.event import (
    ErrorEvent,
    InfoEvent,
    ModelEvent,
    SampleInitEvent,
    SampleLimitEvent,
    ScoreEvent,
    SpanBeginEvent,
    SpanEndEvent,
    ToolEvent,
)
from inspect_ai.log import EvalError, EvalSample, EvalSampleLimit
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall, ToolCallError

from mlagentbench import bounds
from mlagentbench.errors import MLAgentBenchError, RecordError
from mlagentbench.grading import Grade
from mlagentbench.model.spec import Request
from mlagentbench.record.events import (
    Denied,
    Event,
    LimitHit,
    ModelCalled,
    Note,
    Resumed,
    RunEnded,
    RunStarted,
    StepTaken,
)
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.inspect_words import (
    bounded_values,
    config_of,
    details_of,
    failure,
    message_of,
    moment,
    output_of,
    scores_of,
    tool_of,
    usage_of,
)
from mlagentbench.record.tables import RunRow, bounded, cells, run_row, said_before, summary_of
from mlagentbench.workspace import Store

TARGET = "more than 10 % better than the starter"
_LIMITS: dict[str, Literal["turn", "time", "token", "cost"]] = {
    "steps": "turn",
    "time": "time",
    "tokens": "token",
    "cost": "cost",
}


def sample_of(folder: RunFolder) -> tuple[EvalSample, RunRow]:
    """The run, whatever state it is in, and its row in the table of runs. One that cannot be read is a sample with an
    error."""
    row = run_row(folder)
    metadata = {name: value for name, value in cells(row).items() if value is not None}
    try:
        request, events, grade = folder.request(), folder.history().events, summary_of(folder).grade
    except (RecordError, OSError) as error:
        why = bounded(str(error))
        sample = EvalSample(
            id=row.run,
            epoch=1,
            input=f"This run cannot be read: {why}",
            target=TARGET,
            metadata=metadata,
            error=failure(why),
            scores=scores_of(None, why),
        )
        return sample, row
    if request.imported is not None:
        metadata["import"] = {
            "missing": list(map(bounded, request.imported.missing)),
            "damaged": list(map(bounded, request.imported.damaged)),
        }
    telling = _Telling(folder, request.id, request.model)
    for event in events:
        telling.take(event)
    return telling.sample(metadata, row, grade), row


class _Telling:
    """Takes the events of a run in their order, and makes messages and events of Inspect's of them."""

    def __init__(self, folder: RunFolder, run: str, model: str) -> None:
        self._run, self._model = run, model
        self._store = store_of(folder)
        self._messages: list[ChatMessage] = []
        self._events: list[Any] = []
        self._calls: list[ModelCalled] = []
        self._usage: dict[str, ModelUsage] = {}
        self._roles: dict[str, ModelUsage] = {}
        self._numbers = count(1)
        self._turns = 0
        self._waited = 0.0
        self._problem = ""
        self._why = ""
        self._began = 0.0
        self._ended: RunEnded | None = None
        self._limit: LimitHit | None = None
        self._last = 0.0
        self._elapsed = 0.0

    def take(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._problem, self._began, self._last = bounded(event.problem), event.time, event.time
                self._messages.append(ChatMessageUser(content=self._problem, id=f"{self._run}-problem"))
                sample = Sample(input=self._problem, target=TARGET, id=self._run)
                self._events.append(SampleInitEvent(sample=sample, **self._base(event.time, 0.0)))
            case ModelCalled():
                self._count(event)
                if event.inside:
                    self._calls.append(event)
                else:
                    self._flush(event)
                    self._calls.append(event)
                    self._events.append(self._called(event))
                self._last, self._elapsed = event.time, event.elapsed
            case StepTaken():
                self._step(event)
                self._last, self._elapsed = event.time, event.elapsed
            case Denied():
                self._inform("denied", event.text, event.time)
            case LimitHit():
                self._limit = event
                text = f"{event.name}: {event.value:g} reached"
                self._events.append(
                    SampleLimitEvent(
                        type=_LIMITS[event.name],
                        message=text,
                        limit=event.value,
                        **self._base(event.time, self._elapsed),
                    )
                )
            case Note():
                self._inform("note", event.text, event.time)
                if event.text.startswith("Not graded:"):
                    self._why = event.text
            case Resumed():
                self._inform("resumed", f"After step {event.step}.", event.time)
            case RunEnded():
                self._ended, self._last, self._elapsed = event, event.time, event.elapsed

    def sample(self, metadata: dict[str, Any], row: RunRow, grade: Grade | None) -> EvalSample:
        self._flush(None)
        error = self._failure()
        if error is not None:
            self._events.append(ErrorEvent(error=error, **self._base(self._last, self._elapsed)))
        why = self._why if self._ended else "The run has not ended."
        scores = scores_of(grade, why, self._output().completion)
        for name, score in scores.items():
            self._events.append(
                ScoreEvent(score=score, target=TARGET, scorer=name, **self._base(self._last, self._elapsed))
            )
        return EvalSample(
            id=self._run,
            epoch=1,
            input=self._problem,
            target=TARGET,
            messages=self._messages,
            output=self._output(),
            scores=scores,
            metadata=metadata,
            events=self._events,
            model_usage=self._usage,
            role_usage=self._roles,
            started_at=moment(self._began).isoformat(),
            completed_at=moment(self._last).isoformat(),
            total_time=self._elapsed,
            working_time=max(self._elapsed - self._waited, 0.0),
            uuid=self._run,
            error=error,
            limit=self._limit_reached(),
            turn_count=self._turns,
            token_limit=row.limit_tokens,
            time_limit=None if row.limit_seconds is None else int(row.limit_seconds),
        )

    def _step(self, step: StepTaken) -> None:
        """The reply that led to it with the action as a tool call, and the observation as that tool's answer."""
        identity = f"{self._run}-step-{step.index}"
        arguments = {bounded(name): bounded_values(value) for name, value in step.action.args.items()}
        call = ToolCall(id=identity, function=bounded(step.action.name), arguments=arguments)
        said = said_before(self._calls)
        text = bounded(step.observation.text)
        error = None if step.observation.ok else ToolCallError("unknown", text[:1000])
        self._messages += [
            ChatMessageAssistant(
                content="" if said is None else bounded(said),
                tool_calls=[call],
                model=self._model or None,
                id=f"{identity}-said",
            ),
            ChatMessageTool(
                content=text,
                tool_call_id=identity,
                function=call.function,
                error=error,
                id=f"{identity}-seen",
            ),
        ]
        base = self._base(step.time - step.seconds, max(step.elapsed - step.seconds, 0.0))
        inside = [inner for inner in self._calls if inner.inside]
        self._events.append(
            ToolEvent(
                id=identity,
                function=call.function,
                arguments=arguments,
                result=text,
                error=error,
                completed=moment(step.time),
                working_time=step.seconds,
                message_id=f"{identity}-seen",
                agent_span_id=identity if inside else None,
                metadata=details_of(step),
                **base,
            )
        )
        if inside:
            self._events += [
                SpanBeginEvent(
                    id=identity, name=f"inside step {step.index}", type="agent", **self._within(base)
                ),
                *(self._called(inner, identity) for inner in inside),
                SpanEndEvent(id=identity, **self._within(self._base(step.time, step.elapsed))),
            ]
        self._calls = []

    def _flush(self, coming: ModelCalled | None) -> None:
        """Replies that led to no step have their place in the conversation too."""
        if coming is not None and coming.role != "act":
            return
        for call in self._calls:
            if call.role == "act" and not call.inside and call.completion:
                self._messages.append(
                    ChatMessageAssistant(
                        content=bounded(call.completion.text),
                        model=call.model or None,
                        id=f"{self._run}-lost-{len(self._messages)}",
                    )
                )
        self._calls = [call for call in self._calls if call.inside]

    def _called(self, call: ModelCalled, span: str | None = None) -> ModelEvent:
        request = self._asked(call.request)
        base = self._base(call.time, call.elapsed)
        answer = call.completion
        spent = answer.latency + answer.waited if answer else call.waited
        return ModelEvent(
            model=call.model or "unknown",
            role=call.role,
            input=[message_of(each) for each in request.messages] if request else [],
            tools=[tool_of(each) for each in request.tools] if request else [],
            tool_choice="auto",
            config=config_of(request),
            output=output_of(call),
            retries=len(answer.retries) if answer else None,
            error=bounded(call.error) or None,
            completed=moment(call.time),
            working_time=answer.latency if answer else None,
            metadata=None if request else {"problem": "what was asked is not in the store"},
            **{**base, "timestamp": moment(call.time - spent), "span_id": span},
        )

    def _asked(self, name: str) -> Request | None:
        if self._store is None:
            return None
        try:
            return Request.model_validate_json(self._store.get(name, bounds.QUESTION))
        except (MLAgentBenchError, ValueError):
            return None

    def _count(self, call: ModelCalled) -> None:
        self._turns += call.role == "act" and not call.inside
        self._waited += call.waited
        if call.completion is not None:
            self._waited += call.completion.waited
            usage = usage_of(call.completion, call.cost)
            model = call.model or "unknown"
            for counted, key in ((self._usage, model), (self._roles, call.role)):
                counted[key] = counted[key] + usage if key in counted else usage

    def _inform(self, source: str, text: str, time: float) -> None:
        base = self._base(time, self._elapsed)
        self._events.append(InfoEvent(source=source, data=bounded(text), **base))

    def _output(self) -> ModelOutput:
        """What the run came to in words: its answer, or what was said last."""
        for message in reversed(self._messages):
            if isinstance(message, ChatMessageAssistant):
                answer = next(
                    (
                        call.arguments.get("final_answer")
                        for call in message.tool_calls or []
                        if call.arguments
                    ),
                    None,
                )
                text = answer if isinstance(answer, str) else message.text
                spoken = ChatMessageAssistant(content=text, id=f"{self._run}-answer")
                return ModelOutput(model=self._model, choices=[ChatCompletionChoice(message=spoken)])
        return ModelOutput(model=self._model)

    def _failure(self) -> EvalError | None:
        if self._ended is None:
            return failure("The run has not ended; this is its record so far.")
        if self._ended.reason in ("error", "died"):
            return failure(bounded(self._ended.detail or self._ended.reason))
        return None

    def _limit_reached(self) -> EvalSampleLimit | None:
        if self._limit is None:
            return None
        reason = f"{self._limit.name}: {self._limit.value:g} reached"
        return EvalSampleLimit(type=_LIMITS[self._limit.name], limit=self._limit.value, reason=reason)

    def _within(self, base: dict[str, Any]) -> dict[str, Any]:
        """The same moment, for an event of its own."""
        return {**base, "uuid": f"{self._run}-event-{next(self._numbers)}"}

    def _base(self, time: float, elapsed: float) -> dict[str, Any]:
        return {
            "uuid": f"{self._run}-event-{next(self._numbers)}",
            "timestamp": moment(time),
            "working_start": elapsed,
        }


def store_of(folder: RunFolder) -> Store | None:
    """None for a run that was moved away from its store; it can be told all the same."""
    try:
        return folder.store()
    except RecordError:
        return None
