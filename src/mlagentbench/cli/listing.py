"""Runs by what is known of them: which state they are in, and which of them somebody looks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlagentbench.record import RunFolder
from mlagentbench.record.folder import find_runs, read_each
from mlagentbench.record.summary import Summary, read_summary


@dataclass(frozen=True)
class Listed:
    """A run in a list."""

    folder: RunFolder
    summary: Summary
    state: str
    """`running`, `stopped` where it can be resumed, or `ended: ` and why."""


@dataclass(frozen=True)
class Wish:
    """Which runs are looked for; every word that is given must be found."""

    text: str = ""
    """Anywhere: in the id, task, agent, model, experiment, or how it ended."""
    task: str = ""
    agent: str = ""
    model: str = ""
    state: str = ""

    def __bool__(self) -> bool:
        return any((self.text, self.task, self.agent, self.model, self.state))

    def fits(self, run: Listed) -> bool:
        summary = run.summary
        everything = (
            f"{run.folder.path} {summary.task} {summary.agent} {summary.model} {run.state} {summary.detail}"
        )
        return (
            all(
                wanted.casefold() in found.casefold()
                for wanted, found in (
                    (self.text, everything),
                    (self.task, f"{summary.task} ({summary.variant})"),
                    (self.agent, summary.agent),
                    (self.model, summary.model),
                )
            )
            and self.state in ("", *run.state.split(": "))
        )  # fmt: skip


def list_runs(folder: Path, wish: Wish) -> tuple[list[Listed], list[tuple[RunFolder, str]]]:
    """The runs in a folder that fit, and those that cannot be read, each with what is wrong."""
    found, damaged = read_each(find_runs([folder]) if folder.is_dir() else [], read_summary)
    runs = (Listed(run, summary, _state(run, summary)) for run, summary in found)
    return [run for run in runs if wish.fits(run)], damaged


def _state(run: RunFolder, summary: Summary) -> str:
    if run.is_written():
        return "running"
    return f"ended: {summary.ended}" if summary.ended else "stopped"
