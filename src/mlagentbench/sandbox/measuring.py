"""Looking at many processes one by one, without ever taking long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from mlagentbench.sandbox.tree import Member

_SECONDS = 0.5
_T = TypeVar("_T")


class Latest(Generic[_T]):
    """What was last measured of each process.

    While a process forks, the kernel makes whoever reads its maps wait: a round over all of many could take minutes. A
    round ends when its time is over, and the next one begins with those whose measure is oldest.
    """

    def __init__(self, measure: Callable[[Member], _T]) -> None:
        self._measure = measure
        self._known: dict[int, tuple[float, _T]] = {}

    def of(self, members: list[Member]) -> list[_T]:
        """One round, and the latest of all that live."""
        living = {member.pid for member in members}
        self._known = {pid: known for pid, known in self._known.items() if pid in living}
        end = time.monotonic() + _SECONDS
        for member in sorted(members, key=self._when):
            measured = self._measure(member)
            now = time.monotonic()
            self._known[member.pid] = now, measured
            if now > end:
                break
        return [measured for _, measured in self._known.values()]

    def _when(self, member: Member) -> float:
        return self._known[member.pid][0] if member.pid in self._known else 0.0
