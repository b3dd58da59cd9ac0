"""Where code that an agent wrote runs: one interface, one module a backend.

>>> from mlagentbench.sandbox import Job, choose, default_limits
>>> from pathlib import Path
>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     job = Job(("echo", "hello"), Path(folder), default_limits())
...     result = choose("auto").run(job, lambda chunk: print(chunk.decode(), end=""))
hello
>>> result.exit_status
0
"""

from __future__ import annotations

from pathlib import Path

from mlagentbench.sandbox.choice import Finding, choose, diagnose
from mlagentbench.sandbox.promises import demand
from mlagentbench.sandbox.spec import (
    Interpreter,
    Job,
    LimitName,
    LimitReached,
    Mount,
    OutputSink,
    Process,
    Promise,
    ResourceLimits,
    Result,
    Sandbox,
    Service,
)

__all__ = [
    "Finding",
    "Interpreter",
    "Job",
    "LimitName",
    "LimitReached",
    "Mount",
    "OutputSink",
    "Process",
    "Promise",
    "ResourceLimits",
    "Result",
    "Sandbox",
    "Service",
    "choose",
    "default_limits",
    "demand",
    "diagnose",
]


def default_limits(folder: Path | None = None) -> ResourceLimits:
    """What one program may use on this machine, with its files below `folder`."""
    from mlagentbench.sandbox import limits

    return limits.default_limits(folder)
