"""Waiting for a model: bounded in time, given up as a whole, and told to whoever looks on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from mlagentbench.model.errors import GivenUpError

TOLD_AFTER = 2.0
"""Seconds. Shorter waits are not told."""
_BETWEEN_LOOKS = 0.5


class TimeIsUpError(Exception):
    """What was waited for did not come in time; only inside of this project, where it becomes a typed error."""


T = TypeVar("T")
Tell = Callable[[str, float], None]
"""Gets what is waited for, and the seconds since it began; an empty text when that is over."""


class _Call:
    """One call of a model: made in one thread, waited for in another."""

    def __init__(self, what: str) -> None:
        self.state = (what, time.monotonic(), TOLD_AFTER)
        self.given_up = False


_current: ContextVar[_Call | None] = ContextVar("model_call", default=None)


@contextmanager
def waiting_for(what: str, seconds: float = 0.0) -> Iterator[None]:
    """Say what the call that is being made waits for meanwhile; at once, where it will take longer than is untold."""
    call = _current.get()
    if call is None:
        yield
        return
    before = call.state
    call.state = (what, time.monotonic(), 0.0 if seconds >= TOLD_AFTER else TOLD_AFTER)
    try:
        yield
    finally:
        call.state = (before[0], time.monotonic(), before[2])


def still_wanted() -> None:
    """Before another request is made: raise where nobody waits for it any more."""
    call = _current.get()
    if call is not None and call.given_up:
        raise GivenUpError("Nobody waits for this reply any more.")


def _untold(what: str, seconds: float) -> None: ...


def watched(make: Callable[[], T], what: str, *, until: float | None = None, tell: Tell = _untold) -> T:
    """What `make` returns or raises, made in a thread of its own; TimeIsUpError if that is not over at `until`, on the
    monotonic clock. A call that is given up makes no further request."""
    outer = _current.get()
    call = _Call(what)
    over = threading.Event()
    made: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        _current.set(call)
        try:
            made.append(make())
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            failed.append(error)
        finally:
            over.set()

    threading.Thread(target=copy_context().run, args=(work,), name="model call", daemon=True).start()
    told = False
    try:
        while not over.wait(_pause(until)):
            now = time.monotonic()
            if (until is not None and now >= until) or (outer is not None and outer.given_up):
                raise TimeIsUpError
            waited_for, since, after = call.state
            if now - since >= after:
                tell(waited_for, now - since)
                told = True
    except BaseException:
        call.given_up = True
        raise
    finally:
        if told:
            tell("", 0.0)
    if failed:
        raise failed[0]
    return made[0]


def _pause(until: float | None) -> float:
    return _BETWEEN_LOOKS if until is None else max(0.0, min(_BETWEEN_LOOKS, until - time.monotonic()))
