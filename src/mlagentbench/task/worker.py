"""Calls functions of a task's `prepare.py` and `grade.py`, in a process on the task's interpreter."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlagentbench.errors import (
    GraderFailedError,
    MachineFaultError,
    MLAgentBenchError,
    PreparationError,
    SubmissionRefusedError,
)
from mlagentbench.machine_fault import OUTSIDE_SIGNALS
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task.progress import Lines, Progress
from mlagentbench.units import format_duration

_BOOTSTRAP = Path(__file__).with_name("_bootstrap.py")
_PACKAGE = Path(__file__).parent.parent
_TOLD_BY_TYPE = {"SubmissionRefusedError": SubmissionRefusedError, "PreparationError": PreparationError}


Arguments = Mapping[str, str | int | Path | None]


def call(
    script: Path,
    function: str,
    arguments: Arguments,
    interpreter: Interpreter,
    *,
    seconds: float,
    silence: float | None = None,
    environment: Mapping[str, str] | None = None,
    lock: int | None = None,
    failure: type[MLAgentBenchError] = GraderFailedError,
    progress: Progress | None = None,
) -> Any:
    """What `function(**arguments)` of the trusted `script` gives back, as far as JSON can carry it.

    A `SubmissionRefusedError` or `PreparationError` raised in the script is raised here; anything else that
    goes wrong there, time included, is a `failure` that tells the last lines. A grader that the machine failed
    (no disk, no memory, killed from outside) is a `MachineFaultError`. It is stopped after `seconds`,
    or when it has said nothing for `silence` seconds. Without an `environment` it gets one with nothing in
    it. A `lock` is what `cache.locked` yields.
    """
    (result,) = call_each(
        script,
        function,
        [arguments],
        interpreter,
        seconds=seconds,
        silence=silence,
        environment=environment,
        lock=lock,
        failure=failure,
        progress=progress,
    )
    return result


def call_each(
    script: Path,
    function: str,
    calls: Sequence[Arguments],
    interpreter: Interpreter,
    *,
    seconds: float,
    silence: float | None = None,
    environment: Mapping[str, str] | None = None,
    lock: int | None = None,
    failure: type[MLAgentBenchError] = GraderFailedError,
    progress: Progress | None = None,
) -> list[Any]:
    """Like `call`, for several calls one after the other in one process; the first that fails ends it."""
    told, answer_to = os.pipe()
    request = {
        "script": str(script.absolute()),
        "function": function,
        "arguments": [{name: _as_json(value) for name, value in each.items()} for each in calls],
        "package": str(_PACKAGE),
        "answer_to": answer_to,
    }
    lines = Lines(progress)
    try:
        # Its own session, so that all of it can be ended at once; it ends itself when its input ends.
        process = subprocess.Popen(
            [str(interpreter.python), "-I", "-B", "-X", "utf8", str(_BOOTSTRAP)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=_bare_environment() if environment is None else dict(environment),
            cwd=script.parent,
            pass_fds=(answer_to,) if lock is None else (answer_to, lock),
            start_new_session=True,
        )
    except OSError as error:
        os.close(told)
        _raise_machine_fault(failure, f"the grader could not be started: {error}")
        raise failure(f"{interpreter.python} could not be started for {script.name}: {error}.") from None
    finally:
        os.close(answer_to)
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        answer = _listen(told, process.stdout.fileno(), lines, seconds, silence)
        if answer == b"":
            status = process.wait()
            _raise_machine_fault(failure, _killed(status))
            raise failure(
                f"{script} ended with status {status} before {function} gave an answer.\n{lines.tail()}"
            )
    except BrokenPipeError:
        _raise_machine_fault(failure, _killed(process.wait()))
        raise failure(f"{interpreter.python} ended before it read what to do.\n{lines.tail()}") from None
    finally:
        _end(process)
        os.close(told)
        lines.close()
    if answer is None:
        limit = f"took more than {format_duration(seconds)}"
        if silence is not None:
            limit += f", or said nothing for {format_duration(silence)},"
        raise failure(f"{function} of {script} {limit} and was stopped.\n{lines.tail()}")
    return _results(json.loads(answer), script, function, failure)


def _results(
    answer: dict[str, Any], script: Path, function: str, failure: type[MLAgentBenchError]
) -> list[Any]:
    if "error" not in answer:
        return list(answer["results"])
    if what := answer.get("machine", ""):
        _raise_machine_fault(failure, what)
        raise failure(f"{function} of {script} was cut short by a fault of this machine: {what}.")
    if told := _TOLD_BY_TYPE.get(answer["error"]):
        raise told(answer["message"])
    trace = "\n".join(answer.get("traceback", answer["message"]).rstrip().splitlines()[-20:])
    raise failure(f"{function} of {script} failed; fix the task. It said:\n{trace}")


def _raise_machine_fault(failure: type[MLAgentBenchError], what: str) -> None:
    """Only a grader's failure would become a verdict; for anything else `failure` says enough."""
    if what and failure is GraderFailedError:
        raise MachineFaultError(what)


def _killed(status: int) -> str:
    if -status not in OUTSIDE_SIGNALS:
        return ""
    return f"the grader was killed by signal {-status}, as happens where memory runs out"


def _listen(told: int, output: int, lines: Lines, seconds: float, silence: float | None) -> bytes | None:
    """The answer line; empty where the process ended without one, None where the time ran out."""
    answer = b""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(told, selectors.EVENT_READ)
        selector.register(output, selectors.EVENT_READ)
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return None
            ready = {key.fd for key, _ in selector.select(min(remaining, silence or remaining))}
            if not ready:
                return None
            if output in ready:
                if chunk := os.read(output, 65536):
                    lines.feed(chunk)
                else:
                    selector.unregister(output)
            elif told in ready:
                chunk = os.read(told, 65536)
                answer += chunk
                if answer.endswith(b"\n"):
                    return answer
                if not chunk:
                    return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it is left when this returns."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _as_json(value: str | int | Path | None) -> object:
    return {"path": str(value.absolute())} if isinstance(value, Path) else value


def _bare_environment() -> dict[str, str]:
    """From nothing, so that no key gets in; one thread, so that sums come out the same on every machine."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": tempfile.gettempdir(),
        **one_thread,
    }
