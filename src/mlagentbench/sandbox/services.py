"""Endpoints of the harness inside a sandbox that has no network: stubs until the forwarder is wired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.sandbox.launch import Channels, Confinement
from mlagentbench.sandbox.spec import Job


@dataclass(frozen=True)
class Wrapped:
    argv: tuple[str, ...]
    shown: tuple[tuple[Path, str], ...] = ()


def wrap(job: Job, channels: Channels) -> Wrapped:
    return Wrapped(job.argv)


def with_forwarder(confinement: Confinement) -> Confinement:
    return replace(confinement, overhead=confinement.overhead + 1)
