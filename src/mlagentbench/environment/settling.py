"""When the files that a running program changes have come to rest."""

from __future__ import annotations

import time
from pathlib import Path

from mlagentbench.workspace import fingerprint

_BETWEEN_LOOKS = 0.25
_SHARE = 20
"""Looking may take one part in so many of the time: where there are many files, it is done less often."""


class Settling:
    """Looks at a workspace from now on: have its files changed, and then been left alone for `quiet` seconds?

    Files that are never left alone count as settled after `longest` seconds, so that something is kept of them.
    """

    def __init__(self, workspace: Path, quiet: float, longest: float) -> None:
        self._workspace = workspace
        self._quiet = quiet
        self._longest = longest
        self._first = self._last = fingerprint(workspace)
        self._changed: float | None = None
        self._still_since = 0.0
        self.pause = min(_BETWEEN_LOOKS, quiet)
        """Seconds until the next look."""

    def look(self) -> bool:
        began = time.monotonic()
        now = fingerprint(self._workspace)
        ended = time.monotonic()
        self.pause = max(min(_BETWEEN_LOOKS, self._quiet), _SHARE * (ended - began))
        if now != self._last:
            self._last, self._still_since = now, ended
            self._changed = self._changed or ended
        if self._changed is None:
            return False
        return began - self._still_since >= self._quiet or began - self._changed >= self._longest
