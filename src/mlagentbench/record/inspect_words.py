"""Messages, calls and verdicts as Inspect has them. Import this only where it is used: Inspect is heavy."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Literal

from inspect_ai.log import EvalError
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams

from mlagentbench.grading import Grade
from mlagentbench.model.spec import Completion, Message, Request, Tool
from mlagentbench.model.spec import ToolCall as OurToolCall
from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.record.tables import bounded

_STOPS: dict[str, Literal["stop", "max_tokens", "tool_calls", "content_filter"]] = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "refused": "content_filter",
}
_DEEPEST = 20
_LONGEST_ANSWER = 2_000


def moment(seconds: float) -> datetime:
    """A time of a record, which may be a hostile one."""
    return datetime.fromtimestamp(min(max(seconds, 0.0), 4e9), UTC)


def failure(text: str) -> EvalError:
    return EvalError(message=text, traceback=text, traceback_ansi=text)


def scores_of(grade: Grade | None, why: str = "", answer: str = "") -> dict[str, Score]:
    """The verdict as four scores. A run without one has no success, and no number."""
    said = bounded(answer, _LONGEST_ANSWER) or None
    if grade is None:
        explanation = bounded(why or "The run was not graded.")
        return {
            "success": Score(value=NOANSWER, answer=said, explanation=explanation),
            "valid": Score(value=False, explanation=explanation),
            "score": Score.unscored(explanation=explanation),
            "improvement": Score.unscored(explanation=explanation),
        }
    words = [f"Not valid: {grade.reason}"] if not grade.valid else []
    if grade.score is not None:
        words.append(f"Score {grade.score:.6g}.")
    if grade.baseline is not None:
        words.append(
            f"The starter has {grade.baseline.mean:.6g} ± {grade.baseline.spread:.2g} in {grade.baseline.runs} runs."
        )
    if grade.improvement is not None:
        words.append(f"That is {100 * grade.improvement:+.1f} %.")
    if grade.success and not grade.decided:
        words.append("It is within the starter's noise.")
    explanation = bounded(" ".join([*words, *grade.notes]))
    details = grade.model_dump(mode="json", exclude={"notes"})
    return {
        "success": Score(
            value=CORRECT if grade.success else INCORRECT,
            answer=said,
            explanation=explanation,
            metadata=details,
        ),
        "valid": Score(value=grade.valid, explanation=bounded(grade.reason) or "It could be graded."),
        "score": _number(grade.score, explanation),
        "improvement": _number(grade.improvement, explanation),
    }


def _number(value: float | None, explanation: str) -> Score:
    if value is None:
        return Score.unscored(explanation=explanation)
    return Score(value=value, explanation=explanation)


def usage_of(answer: Completion, cost: float | None) -> ModelUsage:
    """Inspect counts cached tokens apart from the input; here they are part of it."""
    usage = answer.usage
    return ModelUsage(
        input_tokens=max(usage.input - usage.cached - usage.cache_written, 0),
        output_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        input_tokens_cache_read=usage.cached or None,
        input_tokens_cache_write=usage.cache_written or None,
        reasoning_tokens=usage.reasoning or None,
        total_cost=cost,
    )


def message_of(message: Message) -> ChatMessage:
    """The same message has the same id in every call, so that a log keeps it once."""
    text = bounded(message.content)
    identity = hashlib.sha256(message.model_dump_json().encode()).hexdigest()[:22]
    match message.role:
        case "system":
            return ChatMessageSystem(content=text, id=identity)
        case "user":
            return ChatMessageUser(content=text, id=identity)
        case "assistant":
            calls = [call_of(call) for call in message.tool_calls] or None
            return ChatMessageAssistant(content=text, tool_calls=calls, id=identity)
        case "tool":
            return ChatMessageTool(content=text, tool_call_id=message.tool_call_id or None, id=identity)


def call_of(call: OurToolCall) -> ToolCall:
    """A call with the arguments as they were written, where they are no object."""
    try:
        arguments, problem = json.loads(call.arguments or "{}"), None
    except (ValueError, RecursionError) as error:
        arguments, problem = None, f"{type(error).__name__}: {error}"
    if not isinstance(arguments, dict):
        arguments = {"arguments": call.arguments}
    return ToolCall(
        id=bounded(call.id),
        function=bounded(call.name),
        arguments=bounded_values(arguments),
        parse_error=None if problem is None else bounded(problem),
    )


def tool_of(tool: Tool) -> ToolInfo:
    """Its parameters by name; of a schema, what Inspect's own form of it does not know is left out."""
    try:
        parameters = ToolParams.model_validate({**tool.parameters, "type": "object"})
    except ValueError:
        parameters = ToolParams()
    return ToolInfo(name=bounded(tool.name), description=bounded(tool.description), parameters=parameters)


def config_of(request: Request | None) -> GenerateConfig:
    if request is None:
        return GenerateConfig()
    sampling = request.sampling
    return GenerateConfig(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        stop_seqs=list(map(bounded, sampling.stop)) or None,
        seed=sampling.seed,
    )


def output_of(call: ModelCalled) -> ModelOutput:
    answer = call.completion
    if answer is None:
        return ModelOutput(model=call.model, error=bounded(call.error))
    message = ChatMessageAssistant(
        content=bounded(answer.text),
        tool_calls=[call_of(each) for each in answer.tool_calls] or None,
        model=answer.model or None,
        id=hashlib.sha256(f"{call.request}{call.elapsed}{answer.text[:1000]!a}".encode()).hexdigest()[:22],
    )
    return ModelOutput(
        model=answer.model or call.model,
        choices=[ChatCompletionChoice(message=message, stop_reason=_STOPS[answer.stop_reason])],
        usage=usage_of(answer, call.cost),
        time=answer.latency,
        metadata={"waited": answer.waited, "retries": list(answer.retries), "notes": list(answer.notes)},
    )


def details_of(step: StepTaken) -> dict[str, Any]:
    """What of a step has no place of its own in a tool's event."""
    observation = step.observation
    return {
        "step": step.index,
        "snapshot": step.snapshot,
        "changed": [f"{change.kind}: {bounded(change.path)}" for change in step.changes],
        "execution": observation.execution.model_dump(mode="json") if observation.execution else None,
        "whole_output": observation.output or None,
        "primitives": [
            {"action": bounded(each.action.name), "ok": each.observation.ok} for each in step.primitives
        ],
        "undone": bounded(step.undone) or None,
    }


def bounded_values(value: Any, depth: int = 0) -> Any:
    """A value of a hostile JSON, with every text in it bounded."""
    if isinstance(value, str):
        return bounded(value)
    if depth == _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {bounded(str(name), 1000): bounded_values(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [bounded_values(each, depth + 1) for each in value]
    return value if isinstance(value, int | float | bool) or value is None else bounded(str(value))
