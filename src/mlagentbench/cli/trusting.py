"""Runs that were not made here: telling what they decide, before they do."""

from __future__ import annotations

from mlagentbench.cli.screen import open_screen
from mlagentbench.environment.trust import demand_own, taken_over
from mlagentbench.record.folder import RunFolder


def demand_trust(folder: RunFolder, doing: str, trust: bool, as_json: bool) -> None:
    """Refuse a foreign run without `trust`; with it, tell what is taken over and sign the run."""
    if folder.origin != "foreign":
        return
    demand_own(folder, doing, trust)
    screen = open_screen(json=as_json)
    screen.line(("trusted ", "warn"), f"{folder.path} was not made here. It now decides that")
    for line in taken_over(folder.request()):
        screen.line(f"  - {line}")
