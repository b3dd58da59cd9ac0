"""Bringing what a run on a person's own problem changed into their folder, as far as they want it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.environment.actions.thinking import RESEARCH_LOG
from mlagentbench.environment.trust import demand_own
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.verdicts import snapshot_at
from mlagentbench.record.events import Note
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.journal import append_note
from mlagentbench.record.request import OwnProblem
from mlagentbench.record.summary import summarise
from mlagentbench.workspace import Change, Entry, diff, find
from mlagentbench.workspace.applying import Applied, apply_changes, with_needed
from mlagentbench.workspace.surveying import leads_out, never_copied

_APPLIED = "applied"


@dataclass(frozen=True)
class Offer:
    """What a run changed in its copy of a folder."""

    folder: Path
    """The original."""
    before: str
    after: str
    """The snapshots that the changes lie between."""
    changes: tuple[Change, ...]
    """What can be applied; folders only where they are all that changed."""
    withheld: dict[str, str]
    """What cannot be, by path, each with the reason."""
    everything: tuple[Change, ...]
    """With the folders around what can be applied."""


def offer(folder: RunFolder) -> Offer:
    """What could be applied of a run as it is now."""
    own = _own(folder)
    store = folder.store()
    before, after = snapshot_at(folder, 0), snapshot_at(folder)
    every = diff(store, before, after)
    withheld = {change.path: reason for change in every if (reason := _withheld(change, own))}
    possible = tuple(change for change in every if change.path not in withheld)
    parents = {path for change in possible for path in _parents(change.path)}
    told = tuple(change for change in possible if not (_is_folder(change) and change.path in parents))
    return Offer(Path(own.folder), before, after, told, withheld, possible)


def apply(run: str | Path, paths: Iterable[str] | None = None, *, trust: bool = False) -> Applied:
    """Bring what a run of `assist` changed into the original folder: all of it, or what lies at `paths`.

    Refused, with nothing done, if anything there was changed since the copy was made. Each file is old or new at every
    instant; after a kill, to apply again completes it. A run that was not made here is refused, unless `trust` says
    that the folder which it names may be written to.

    >>> import mlagentbench
    >>> done = mlagentbench.assist("my-project", "Make train.py faster.", model="openai/gpt-4.1")  # doctest: +SKIP
    >>> mlagentbench.apply(done.folder, ["train.py"]).changed                                    # doctest: +SKIP
    ('train.py',)
    """
    folder = RunFolder.open(run)
    _own(folder)
    demand_own(folder, "Applying", trust)
    folder.lock()
    try:
        offered = offer(folder)
        chosen = [change.path for change in offered.changes] if paths is None else list(paths)
        _refuse_unknown(offered, chosen)
        if not offered.folder.is_dir():
            raise UsageError(
                f"{offered.folder} is not there any more. `mlagentbench checkout` writes the run's files anywhere."
            )
        done = apply_changes(
            folder.store(), with_needed(offered.everything, chosen), offered.folder, _applied_before(folder)
        )
        if done.changed:
            _note(folder, offered, done.changed)
        return done
    finally:
        folder.unlock()


def _own(folder: RunFolder) -> OwnProblem:
    own = folder.request().own
    if own is None:
        raise UsageError(
            f"{folder.path} is a run on a task, whose files belong to nobody's folder. `mlagentbench checkout` writes "
            "them anywhere."
        )
    return own


def _withheld(change: Change, own: OwnProblem) -> str:
    """Why a change is never applied; empty where it can be."""
    if never_copied(change.path) or any(_beneath(change.path, place) for place in own.left_out):
        return "lies where nothing was copied from"
    if change.path == RESEARCH_LOG and change.before is None:
        return "is the agent's own log"
    after = change.after
    if after is None or after.kind in ("file", "folder"):
        return ""
    if after.kind == "unkept":
        return f"was not kept: {after.target}"
    if after.kind != "link":
        return f"is a {after.kind}"
    return f"is a link out of the folder, to {after.target}" if leads_out(change.path, after.target) else ""


def _beneath(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _parents(path: str) -> list[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[: count + 1]) for count in range(len(names))]


def _is_folder(change: Change) -> bool:
    kinds = {entry.kind for entry in (change.before, change.after) if entry is not None}
    return kinds == {"folder"} and change.kind != "changed"


def _refuse_unknown(offered: Offer, chosen: Sequence[str]) -> None:
    known = {change.path for change in offered.everything}
    for path in chosen:
        if path in offered.withheld:
            raise UsageError(f"{path} cannot be applied: it {offered.withheld[path]}.")
        if path not in known:
            raise UsageError(
                f"The run did not change {path!r}. `mlagentbench apply RUN` lists what it changed."
            )


def _applied_before(folder: RunFolder) -> dict[str, list[Entry | None]]:
    """What earlier calls put at each path, when the run had not come as far as now."""
    store = folder.store()
    known: dict[str, list[Entry | None]] = {}
    for event in folder.history().events:
        if isinstance(event, Note) and isinstance(data := event.data.get(_APPLIED), dict):
            try:
                for path in data["paths"]:
                    known.setdefault(path, []).append(find(store, data["snapshot"], path))
            except (KeyError, TypeError):
                raise RecordError(
                    f"A note in {folder.events_file} about applied changes is damaged."
                ) from None
    return known


def _note(folder: RunFolder, offered: Offer, paths: Sequence[str]) -> None:
    """Keep what was applied, beside the steps. Names that are no text are kept out: they only help after a change."""
    printable = [path for path in paths if path.isprintable()]
    note = Note(
        text=f"Applied {len(paths)} changes to {offered.folder}.",
        data={_APPLIED: {"snapshot": offered.after, "paths": printable}},
    )
    append_note(folder, note)
    summarise(folder)
