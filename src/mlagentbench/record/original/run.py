"""All that one folder tells, but for the workspace's files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.record.original.calls import MAIN_LOG, OldCall, read_calls
from mlagentbench.record.original.folder import OldFolder
from mlagentbench.record.original.told import ERROR, TIME, Told, read_told
from mlagentbench.record.original.trace import PLACE, Trace, read_trace

_LARGEST_LOG = 64 * 2**20


@dataclass(frozen=True)
class OldRun:
    path: Path
    trace: Trace
    told: Told
    calls: tuple[OldCall, ...]
    main_log: bytes
    written: float
    """When the last of its files was written."""
    missing: tuple[str, ...]
    damaged: tuple[str, ...]

    @property
    def started(self) -> float:
        """When it began; where that is not known, when its first step was over, or when its files were written."""
        times = [step.time for step in self.trace.steps if step.time is not None]
        if not times:
            return self.written
        if self.told.seconds is None:
            return times[0]
        return max(0.0, min(times[0], max(times) - self.told.seconds))

    @property
    def models(self) -> dict[str, str]:
        """The first model that each kind of call names."""
        named: dict[str, str] = {}
        for call in self.calls:
            if call.model:
                named.setdefault(call.kind, call.model)
        return named

    def fingerprint(self) -> str:
        """The same for the same folder, so that it is noticed when it is imported again."""
        content = hashlib.sha256(str(self.path).encode("utf-8", "surrogateescape"))
        content.update(repr((self.trace, self.told, self.calls)).encode())
        return content.hexdigest()


def read_old_run(folder: OldFolder) -> OldRun:
    trace, told, calls = read_trace(folder), read_told(folder), read_calls(folder)
    main_log = folder.read(MAIN_LOG, _LARGEST_LOG) or b""
    findings = folder.findings
    if trace.steps and any(step.time is None for step in trace.steps):
        findings.missing.append("The times of some steps are not known.")
    return OldRun(
        path=folder.path,
        trace=trace,
        told=told,
        calls=tuple(calls),
        main_log=main_log,
        written=max(
            filter(None, map(folder.modified, (PLACE, TIME, ERROR, MAIN_LOG))), default=folder.changed
        ),
        missing=tuple(dict.fromkeys(findings.missing)),
        damaged=tuple(dict.fromkeys(findings.damaged)),
    )
