"""A persistent interpreter inside the sandbox. It is frozen between calls, so that nothing of it runs unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from mlagentbench.environment.outcome import Outcome
from mlagentbench.environment.output import OutputTurns
from mlagentbench.record.steps import Observation
from mlagentbench.sandbox import Process

if TYPE_CHECKING:
    from mlagentbench.environment.workbench import Workbench

_DRIVER = Path(__file__).with_name("repl_driver.py")
_STARTED_ANEW = "[The interpreter was started anew; what was defined in it before is gone.]"


class Repl:
    """Starts with the first call. An end of it, by itself or by a limit, is told; the next call starts it anew."""

    def __init__(self, lost_state: bool = False) -> None:
        self._process: Process | None = None
        self._output = OutputTurns()
        self._announce = lost_state

    def call(self, bench: Workbench, code: str) -> Outcome:
        file = bench.output_file()
        with file.open("wb") as keep:
            collector = bench.collector(keep)
            self._output.listen(collector)
            process = self._wake(bench)
            process.send(json.dumps(code).encode() + b"\n")
            answer = process.receive(bench.execution_limits().seconds)
            if answer is None:
                self._process = None
                result = process.wait()
                self._output.listen(None)
                return self._ended(bench.outcome(collector, result, file))
            process.freeze()
            self._output.listen(None)
            text = collector.text().rstrip("\n")
        if not collector.cut:
            file.unlink()
        observation = Observation(
            text=self._announcement() + (text or "[no output]"),
            ok=answer == b"done",
            output=file.name if collector.cut else "",
        )
        return Outcome(observation, executed=True, still_alive=True)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _wake(self, bench: Workbench) -> Process:
        if self._process is None:
            argv = (str(bench.interpreter.python), "-c", _DRIVER.read_text(encoding="utf-8"))
            self._process = bench.sandbox.start(bench.job(argv), self._output.feed)
        else:
            self._process.thaw()
        return self._process

    def _announcement(self) -> str:
        announced, self._announce = self._announce, False
        return f"{_STARTED_ANEW}\n" if announced else ""

    def _ended(self, outcome: Outcome) -> Outcome:
        text = f"{self._announcement()}{outcome.observation.text}\n[The interpreter has ended.]"
        self._announce = True
        observation = outcome.observation.model_copy(update={"text": text, "ok": False})
        return Outcome(observation, executed=True)
