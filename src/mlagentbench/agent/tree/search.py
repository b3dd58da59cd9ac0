"""The tree of solutions that were tried, and which of them to go on from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from mlagentbench.task.definition import Goal

Operator = Literal["starter", "draft", "debug", "improve"]
Policy = Literal["greedy", "ranked"]


@dataclass
class Node:
    """One solution: a whole script, what led to it, and what came of running it."""

    number: int
    parent: int | None
    operator: Operator
    plan: str
    script: str
    step: int = 0
    """The step that ran it; its snapshot is the node."""
    scores: list[float] = field(default_factory=list)
    """By its own validation: of the first run, then of those that were made to be sure."""
    problem: str = ""
    """Why it has no score."""

    @property
    def score(self) -> float | None:
        return fmean(self.scores) if self.scores else None


@dataclass(frozen=True)
class Move:
    operator: Operator
    parent: Node | None


@dataclass
class Tree:
    goal: Goal
    nodes: list[Node] = field(default_factory=list)

    def grow(self, move: Move, plan: str, script: str) -> Node:
        parent = None if move.parent is None else move.parent.number
        node = Node(len(self.nodes), parent, move.operator, plan, script)
        self.nodes.append(node)
        return node

    def ranked(self) -> list[Node]:
        """Those with a score, the best first; of equals the older."""
        sign = -1 if self.goal == "maximize" else 1
        return sorted(
            (node for node in self.nodes if node.scores),
            key=lambda node: (sign * (node.score or 0.0), node.number),
        )

    def best(self) -> Node | None:
        """Where some were run again, one of these: a single score may be luck, and the luckiest would win."""
        ranked = self.ranked()
        sure = [node for node in ranked if len(node.scores) > 1]
        return next(iter(sure or ranked), None)

    def candidates(self, most: int) -> list[Node]:
        """The best so far, of those with the same score the oldest: they do the same."""
        found: dict[float | None, Node] = {}
        for node in self.ranked():
            found.setdefault(node.score, node)
        return list(found.values())[:most]

    def broken_leaves(self, depth: int) -> list[Node]:
        """Those that ran without a score, that nothing was made of, and that are not the end of `depth` repairs."""
        parents = {node.parent for node in self.nodes}
        return [
            node
            for node in self.nodes
            if node.problem and node.script and node.number not in parents and self._repairs(node) < depth
        ]

    def _repairs(self, node: Node) -> int:
        """How many repairs in a row led to it."""
        count = 0
        while node.operator == "debug" and node.parent is not None:
            count += 1
            node = self.nodes[node.parent]
        return count


@dataclass(frozen=True)
class Strategy:
    """Which move comes next."""

    drafts: int
    debug_depth: int
    debug_share: float
    policy: Policy

    def next(self, tree: Tree, chance: random.Random) -> Move:
        """A few independent drafts first; then repairs of what is broken, now and then; else improve what is good."""
        if sum(node.operator == "draft" for node in tree.nodes) < self.drafts:
            return Move("draft", None)
        broken = tree.broken_leaves(self.debug_depth)
        ranked = tree.ranked()
        if broken and (not ranked or chance.random() < self.debug_share):
            return Move("debug", chance.choice(broken))
        if not ranked:
            return Move("draft", None)
        return Move("improve", self._chosen(ranked, chance))

    def _chosen(self, ranked: Sequence[Node], chance: random.Random) -> Node:
        """The best; or, by rank, each half as probable as the one before it."""
        if self.policy == "greedy":
            return ranked[0]
        weights = [0.5**rank for rank in range(len(ranked))]
        return chance.choices(ranked, weights)[0]
