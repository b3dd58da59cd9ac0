"""The control groups that this process itself is in: limits of memory that its programs share with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 1 << 62
"""Version 1 says a number in this range where there is no limit."""


@dataclass(frozen=True)
class Surroundings:
    """Folders of the groups around a process, from its own to the outermost that can be seen."""

    groups: tuple[Path, ...]

    def memory(self) -> int | None:
        """The smallest limit among them, in bytes; None where there is none."""
        limits = [limit for group in self.groups if (limit := _limit(group)) is not None]
        return min(limits, default=None)

    def kills(self) -> int:
        """How many processes of the innermost group, or below it, were killed because memory ran out."""
        if not self.groups:
            return 0
        return max(
            event(self.groups[0] / name, b"oom_kill") for name in ("memory.events", "memory.oom_control")
        )


def around_this_process(root: Path = Path("/")) -> Surroundings:
    """Those of this process, read below `root`."""
    own: dict[str, str] = {}
    try:
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            own |= dict.fromkeys(names.split(","), path)
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return Surroundings(())
    found: dict[str, Path] = {}
    tops: dict[str, Path] = {}
    for line in mounts:
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        shown, place = before.split()[3:5]
        name = "" if kind == "cgroup2" else "memory"
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            tops[name] = root / place.lstrip("/")
            found[name] = tops[name] / own.get(name, "/").removeprefix(shown.rstrip("/")).lstrip("/")
    for name in ("memory", ""):  # version 1, where it has the controller of memory
        if name in found and found[name].is_dir():
            inner, top = found[name], tops[name]
            return Surroundings(tuple(each for each in (inner, *inner.parents) if each.is_relative_to(top)))
    return Surroundings(())


def event(path: Path, name: bytes) -> int:
    """A counter in a file of lines `name value`; 0 where there is none."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[:1] == [name]), 0)


def _limit(group: Path) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        try:
            said = (group / name).read_text().strip()
        except OSError:
            continue
        if said.isdigit() and int(said) < _NO_LIMIT:
            return int(said)
    return None
