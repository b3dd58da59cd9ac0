"""What of this machine runs get: cores, memory and GPUs of their own, until they give them back."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.launch.plan import Resources
from mlagentbench.sandbox.limits import default_limits, total_memory

_SHARE = 0.9
"""Of the machine's memory; the rest is for the system, the harness and the graders."""


@dataclass(frozen=True)
class Needs:
    """What one run needs."""

    cores: int
    memory: int
    gpus: int = 0
    alone: bool = False
    """Whether nobody may share its cores."""


@dataclass(frozen=True)
class Share:
    """What one run has."""

    cores: tuple[int, ...]
    memory: int
    gpus: tuple[str, ...] = ()
    places: int = 1
    """On each of its cores."""


def all_cores() -> tuple[int, ...]:
    """Those that this process may use."""
    if sys.platform == "linux":
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def all_gpus() -> tuple[str, ...]:
    """The indices of NVIDIA's devices, or of those that `CUDA_VISIBLE_DEVICES` leaves."""
    found = sorted((node.name.removeprefix("nvidia") for node in Path("/dev").glob("nvidia[0-9]*")), key=int)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return tuple(found)
    chosen = [each.strip() for each in visible.split(",")]
    return tuple(each for each in found if each in chosen)


class Machine:
    """Hands out what it has. Each core belongs to one run at a time, or to as many as the user says; each GPU to one. A
    run that needs more than there is gets all of it, alone."""

    def __init__(
        self,
        resources: Resources,
        *,
        cores: tuple[int, ...] | None = None,
        gpus: tuple[str, ...] | None = None,
        memory: int | None = None,
    ) -> None:
        self._sharing = resources.sharing
        self._free = dict.fromkeys(cores if cores is not None else all_cores(), self._sharing)
        self._gpus = list(gpus if gpus is not None else all_gpus())
        self._memory = memory or resources.memory or int(total_memory() * _SHARE)
        self._most = resources.parallel
        self._busy = 0
        self.cores = len(self._free)
        self.gpus = len(self._gpus)
        self.memory = self._memory

    def usual_memory(self, cores: int) -> int:
        """What a run gets of which nobody has said how much: a fair part, if all of them run at the same time."""
        places = self.cores // min(cores, self.cores) * self._sharing
        at_once = max(1, min(places, self._most or places))
        return max(10**9, min(self.memory // at_once, default_limits().memory))

    def take(self, needs: Needs) -> Share | None:
        """A share, if there is enough left now."""
        cores, memory = min(needs.cores, self.cores), min(needs.memory, self.memory)
        gpus = min(needs.gpus, self.gpus)
        places = self._sharing if needs.alone else 1
        open_to_it = sorted(
            (core for core, free in self._free.items() if free >= places),
            key=lambda core: (-self._free[core], core),
        )
        full = self._most is not None and self._busy >= self._most
        if full or len(open_to_it) < cores or self._memory < memory or len(self._gpus) < gpus:
            return None
        share = Share(tuple(sorted(open_to_it[:cores])), memory, tuple(self._gpus[:gpus]), places)
        for core in share.cores:
            self._free[core] -= places
        del self._gpus[:gpus]
        self._memory -= memory
        self._busy += 1
        return share

    def give_back(self, share: Share) -> None:
        for core in share.cores:
            self._free[core] += share.places
        self._gpus = sorted([*self._gpus, *share.gpus])
        self._memory += share.memory
        self._busy -= 1


def free_disk(folder: Path) -> int:
    """Bytes that may still be written where `folder` is, or would be."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return shutil.disk_usage(there).free
