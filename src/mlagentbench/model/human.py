"""A person is the model: the messages are shown, the answer is typed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from mlagentbench.model.errors import ScriptEndedError
from mlagentbench.model.hosted import cut_at
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, Usage

_END = "."


class HumanModel:
    """Shows the messages that are new since the last call, and reads lines up to one that is a single dot."""

    name = "human"
    speaks_tools = False

    def __init__(
        self,
        options: ModelOptions | None = None,
        *,
        reads: TextIO | None = None,
        writes: TextIO | None = None,
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._shown: list[Message] = []

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        writes = self._writes or sys.stderr
        known = len(self._shown) if list(messages[: len(self._shown)]) == self._shown else 0
        for message in messages[known:]:
            print(f"--- {message.role} ---\n{message.content}\n", file=writes)
        print(f"Your answer, then a line with a single {_END!r}:", file=writes, flush=True)
        begun = time.monotonic()
        text, _ = cut_at(self._typed(), sampling.stop)
        self._shown = list(messages)
        return Completion(
            text=text,
            usage=Usage(estimated=True),
            stop_reason="stop",
            model=self.name,
            latency=time.monotonic() - begun,
        )

    def _typed(self) -> str:
        lines: list[str] = []
        for line in self._reads or sys.stdin:
            if line.rstrip("\r\n") == _END:
                return "\n".join(lines)
            lines.append(line.rstrip("\r\n"))
        raise ScriptEndedError(
            f"The input ended before a line with a single {_END!r}: nobody is there to answer."
        )
