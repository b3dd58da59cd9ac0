"""Scripted completions, from a file (`mock/FILE`) or from a function: for tests, demonstrations and teaching."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.model.errors import ScriptEndedError
from mlagentbench.model.hosted import cut_at
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.spec import Completion, Message, Model, Sampling, StopReason, Tool, ToolCall, Usage
from mlagentbench.validation import problems_of

_SEPARATOR = re.compile(r"^%%%+[ \t]*\n?", re.MULTILINE)
_CHARACTERS_A_TOKEN = 4

Script = Callable[[Sequence[Message], Sampling, Sequence[Tool]], "str | Scripted"]


class ScriptedCall(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: dict[str, object] | str = {}


class Scripted(BaseModel):
    """One answer of a script."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    stop_reason: StopReason | None = None
    """None: what follows from the rest."""
    match: str = ""
    """Only for a call whose last message contains this; other calls pass it by."""
    usage: Usage | None = None
    """None: counted from the characters."""


class MockModel:
    """Answers from a script in its order, and says so when it has come to its end.

    A file ending in `.jsonl` has on each line a JSON string, or an object with the fields of `Scripted`. Any other file
    has plain texts, separated by lines of `%%%`.
    """

    speaks_tools = True

    def __init__(self, source: ModelOptions | Sequence[str | Scripted] | Script) -> None:
        self.name = "mock"
        self._script: Script | None = None
        self._answers: list[Scripted] = []
        if isinstance(source, ModelOptions):
            self.name = source.full_name
            self._answers = read_script(Path(source.name))
        elif callable(source):
            self._script = source
        else:
            self._answers = [_scripted(answer) for answer in source]
        self._used = [False] * len(self._answers)
        self._lock = threading.Lock()
        self.calls = 0
        """How many times it was asked."""

    def already(self, completion: Completion) -> None:
        """Take the answer that made `completion` as given: a run that is resumed has had it."""
        with self._lock:
            for index, answer in enumerate(self._answers):
                names = [call.name for call in answer.tool_calls]
                same = answer.text.startswith(completion.text) and names == [
                    c.name for c in completion.tool_calls
                ]
                if not self._used[index] and same:
                    self._used[index] = True
                    return

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        with self._lock:
            self.calls += 1
        answer = _scripted(self._script(messages, sampling, tools)) if self._script else self._next(messages)
        text, _ = cut_at(answer.text, sampling.stop)
        calls = tuple(
            ToolCall(
                id=f"call_{self.calls}_{index}",
                name=call.name,
                arguments=call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
            )
            for index, call in enumerate(answer.tool_calls)
        )
        return Completion(
            text=text,
            tool_calls=calls,
            usage=answer.usage or _counted(messages, text, calls),
            stop_reason=answer.stop_reason or ("tool_calls" if calls else "stop"),
            model=self.name,
            latency=0.0,
        )

    def _next(self, messages: Sequence[Message]) -> Scripted:
        last = messages[-1].content if messages else ""
        with self._lock:
            for index, answer in enumerate(self._answers):
                if not self._used[index] and answer.match in last:
                    self._used[index] = True
                    return answer
        raise ScriptEndedError(
            f"The script of {self.name} has come to its end: all of its {len(self._answers)} completions that fit were "
            "used. Add more to it, or end the run earlier."
        )


def tell_replayed(model: Model, completion: Completion) -> None:
    """Let a scripted model know of an answer that came from the record, so that it goes on after it.

    Other models keep no count, and need not know.
    """
    inner: Any = model
    while not isinstance(inner, MockModel):
        inner = getattr(inner, "inner", None)
        if inner is None:
            return
    inner.already(completion)


def read_script(file: Path) -> list[Scripted]:
    """The answers in a script."""
    try:
        text = file.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The script {str(file)!r} cannot be read: {error}.") from None
    if file.suffix != ".jsonl":
        return [Scripted(text=part.removesuffix("\n")) for part in _SEPARATOR.split(text) if part.strip()]
    answers = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            answers.append(Scripted(text=value) if isinstance(value, str) else Scripted.model_validate(value))
        except (ValueError, ValidationError) as error:
            what = (
                " ".join(problems_of(error, Scripted))
                if isinstance(error, ValidationError)
                else f"it is not valid JSON ({error})."
            )
            raise UsageError(
                f"{file}, line {number}: {what} Each line is a JSON string, or an object with "
                f"{', '.join(Scripted.model_fields)}."
            ) from None
    return answers


def _scripted(answer: str | Scripted) -> Scripted:
    return Scripted(text=answer) if isinstance(answer, str) else answer


def _counted(messages: Sequence[Message], text: str, calls: Sequence[ToolCall]) -> Usage:
    asked = sum(len(message.content) for message in messages)
    said = len(text) + sum(len(call.arguments) for call in calls)
    return Usage(input=-(-asked // _CHARACTERS_A_TOKEN), output=-(-said // _CHARACTERS_A_TOKEN))
