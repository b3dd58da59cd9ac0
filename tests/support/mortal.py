"""The command, in a process that kills its own group before or after the n-th event that it records.

`python mortal.py after:5 run house-price …`: the event is on disk and nobody was told. `before:5`: what it tells of has
happened, an answer of a model for one, and nothing of it is on disk.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys

from mlagentbench.cli.main import main
from mlagentbench.record.events import Event
from mlagentbench.record.log import EventLog


def arm(point: str) -> None:
    when, _, number = point.partition(":")
    events = itertools.count(1)
    append = EventLog.append

    def dying(self: EventLog, event: Event) -> None:
        last = next(events) == int(number)
        if last and when == "before":
            os.killpg(0, signal.SIGKILL)
        append(self, event)
        if last:
            os.killpg(0, signal.SIGKILL)

    EventLog.append = dying  # type: ignore[method-assign]


if __name__ == "__main__":
    arm(sys.argv[1])
    main(sys.argv[2:])
