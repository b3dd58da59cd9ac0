"""Drawing what a searching agent tried."""

from __future__ import annotations

from pathlib import Path

from mlagentbench.cli.machine import print_json
from mlagentbench.cli.screen import Screen, open_screen
from mlagentbench.evaluation.searching import Tried, best_of, in_order, picture, tried_in
from mlagentbench.record import RunFolder
from mlagentbench.task.registry import load_task


def show_tree(folder: RunFolder, svg: Path | None, as_json: bool) -> None:
    tree = tried_in(folder)
    request = folder.request()
    task = load_task(request.task_folder or request.task.partition("@")[0])
    best = best_of(tree, task.definition.metric.goal)
    if svg is not None:
        svg.write_text(picture(tree, best), encoding="utf-8")
    if as_json:
        print_json({"tree": tree, "best": best.node if best else None})
        return
    screen = open_screen()
    for depth, node in in_order(tree):
        _line(screen, depth, node, node is best)
    if svg is not None:
        screen.line(("drawn   ", "label"), str(svg))


def _line(screen: Screen, depth: int, node: Tried, best: bool) -> None:
    mark = "★" if best else "✓" if node.scores else "✗"
    said = node.plan if node.scores else node.problem
    step = f"  step {node.step}" if node.step else ""
    screen.line(
        "   " * depth, f"{mark} {node.node} {node.operator}  {node.result}{step}", (f"  {said}", "dim")
    )
