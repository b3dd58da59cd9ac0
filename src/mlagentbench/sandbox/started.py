"""A program that stays while the harness talks to it, or looks on."""

from __future__ import annotations

import queue
import threading

from mlagentbench.errors import SandboxError
from mlagentbench.sandbox.launch import Planner
from mlagentbench.sandbox.process import Supervisor
from mlagentbench.sandbox.spec import Job, LimitReached, OutputSink, Result
from mlagentbench.sandbox.tree import Descendants, continue_all, stop_all


class Started:
    """Its supervisor runs in a thread of its own, which starts the program and outlives it."""

    def __init__(self, planner: Planner, job: Job, on_output: OutputSink, talks: bool = True) -> None:
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._letting_go = threading.Event()
        self._over = threading.Event()
        """Waited for instead of the thread, which looks as if it had ended when an interrupt comes meanwhile."""
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._frozen_by_group = False
        self._supervisor = Supervisor(
            planner,
            job,
            on_output,
            on_message=self._messages.put if talks else None,
            on_ready=self._letting_go.set,
            stays=True,
        )
        threading.Thread(target=self._supervise, name="sandbox", daemon=True).start()
        self._letting_go.wait()
        if self._error:
            self._over.wait()
            raise self._error

    def _supervise(self) -> None:
        try:
            self._result = self._supervisor.run()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self._error = error
        finally:
            self._over.set()
            self._letting_go.set()
            self._messages.put(None)

    def send(self, data: bytes) -> None:
        self._supervisor.send(data)

    def receive(self, seconds: float) -> bytes | None:
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            self._supervisor.ask_stop(LimitReached("time", seconds))
            self._over.wait()
            message = None
        if message is None:
            self._messages.put(None)
        return message

    def ended(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def freeze(self) -> None:
        supervisor = self._supervisor
        if supervisor.frozen or self._result or supervisor.handle is None:
            return
        supervisor.frozen = True
        pause = supervisor.confinement.pause
        if pause:
            pause()
            return
        self._frozen_by_group = bool(supervisor.group and supervisor.group.freeze())
        if not self._frozen_by_group:
            stop_all(self._tree())

    def thaw(self) -> None:
        supervisor = self._supervisor
        if not supervisor.frozen:
            return
        if supervisor.confinement.pause:
            supervisor.confinement.resume()
        elif self._frozen_by_group and supervisor.group:
            supervisor.group.thaw()
        elif not self._result:
            continue_all(self._tree())
        supervisor.frozen = False
        supervisor.wake()

    def _tree(self) -> Descendants:
        handle = self._supervisor.handle
        if handle is None:
            raise SandboxError("It has not started.")
        return self._supervisor.descendants(handle)

    def kill(self, limit: LimitReached | None = None) -> None:
        self._supervisor.ask_stop(limit)
        self._over.wait()

    def wait(self) -> Result:
        self._over.wait()
        if self._error:
            raise self._error
        if self._result is None:
            raise SandboxError("It ended without a result.")
        return self._result
