"""The copies of the workspace that the original made after each step, as snapshots in a store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mlagentbench.errors import PathRefusedError
from mlagentbench.record.original.folder import OldFolder
from mlagentbench.workspace import Store
from mlagentbench.workspace.keeping import keep_folder, keep_nothing

_TRACES = "env_log/traces"
_FILES = re.compile(r"step_(\d{1,6})_files")
_FINAL = "step_final_files"
_MOST_NOTES = 20
"""Sentences about the files of one step."""


@dataclass
class Workspaces:
    """The snapshots of a run."""

    first: str
    """Before its first step. The original did not keep that, so it is the first that there is."""
    after: list[str]
    """After each step."""
    last: str
    any: bool
    """Whether there is a file of the run at all; without one, the snapshots above are of an empty folder."""
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def keep_workspaces(folder: OldFolder, steps: int, store: Store, max_file: int) -> Workspaces:
    """Take the copies of the workspace into the store. A step without one gets that of the step before."""
    missing: list[str] = []
    damaged: list[str] = []
    names = folder.names(_TRACES)
    found = {int(match[1]): name for name in names if (match := _FILES.fullmatch(name))}
    known: dict[int, str] = {}
    for number, name in sorted(found.items()):
        if number < steps:
            known[number] = _keep(folder, name, f"Step {number + 1}", store, max_file, damaged)
    final = _keep(folder, _FINAL, "At the end", store, max_file, damaged) if _FINAL in names else ""
    if beyond := [name for number, name in found.items() if number >= steps]:
        damaged.append(f"{len(beyond)} folders of files belong to no step that is known, like {beyond[0]}.")
    if lacking := [number + 1 for number in range(steps) if not known.get(number)]:
        missing.append(
            f"The files after {_listed(lacking)} are missing; those of the step before stand for them."
        )
    if not final:
        missing.append(f"There is no {_FINAL}; the last files that there are stand for it.")
    kept = [known[number] for number in sorted(known) if known[number]]
    if not kept and not final:
        missing.append("There are no files of the run at all.")
    first = last = kept[0] if kept else final or keep_nothing(store)
    after = []
    for number in range(steps):
        last = known.get(number) or last
        after.append(last)
    return Workspaces(first, after, final or last, bool(kept or final), missing, damaged)


def _keep(folder: OldFolder, name: str, when: str, store: Store, max_file: int, damaged: list[str]) -> str:
    """The snapshot of one copy; empty where it cannot be read, which is told."""
    try:
        kept = keep_folder(store, folder.descriptor, (*_TRACES.split("/"), name), max_file)
    except PathRefusedError as refusal:
        damaged.append(f"{when}: {refusal}")
        return ""
    except OSError as error:
        damaged.append(f"{when}: {_TRACES}/{name} cannot be read: {error.strerror}.")
        return ""
    damaged += [f"{when}: {note}" for note in kept.notes[:_MOST_NOTES]]
    if len(kept.notes) > _MOST_NOTES:
        damaged.append(f"{when}: so it is with {len(kept.notes) - _MOST_NOTES} more.")
    return kept.snapshot


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
    return f"{'steps' if len(numbers) > 1 else 'step'} {shown}"
