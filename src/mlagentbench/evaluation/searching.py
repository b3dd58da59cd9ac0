"""The tree of solutions that a searching agent left in its run's record: as lines, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pydantic import BaseModel, ConfigDict, ValidationError

from mlagentbench.errors import RecordError
from mlagentbench.record import RunFolder
from mlagentbench.record.events import Note
from mlagentbench.task.definition import Goal
from mlagentbench.validation import problems_of


class Tried(BaseModel):
    """One solution that was tried."""

    model_config = ConfigDict(frozen=True)
    node: int
    parent: int | None
    operator: str
    plan: str
    step: int
    """The step that ran it; 0 where none did."""
    scores: tuple[float, ...]
    problem: str
    chosen: bool = False
    """Whether the agent said itself that this is the best one."""

    @property
    def score(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def result(self) -> str:
        """In a few words."""
        if self.score is None:
            return "failed"
        return f"{self.score:.6g}" + (f" (mean of {len(self.scores)})" if len(self.scores) > 1 else "")


def tried_in(folder: RunFolder) -> list[Tried]:
    """Every solution in the order in which they were made. The last word on each counts."""
    found: dict[int, Tried] = {}
    for event in folder.history().events:
        if isinstance(event, Note) and "node" in event.data:
            try:
                tried = Tried.model_validate(event.data)
            except ValidationError as error:
                problem = problems_of(error, Tried)[0]
                raise RecordError(
                    f"{folder.path} has a note about a solution that cannot be read: {problem}"
                ) from None
            found[tried.node] = tried
    if not found:
        raise RecordError(f"{folder.path} holds no tree; runs of the agents 'tree' and 'recipe' do.")
    return [found[number] for number in sorted(found)]


def best_of(tree: list[Tried], goal: Goal | None) -> Tried | None:
    sign = -1.0 if goal == "maximize" else 1.0
    candidates = [node for node in tree if node.chosen] or tree
    scored = [(sign * node.score, node.node, node) for node in candidates if node.score is not None]
    return min(scored)[2] if scored else None


def in_order(tree: list[Tried]) -> Iterator[tuple[int, Tried]]:
    """Each with its depth, children right after their parents."""

    def below(parent: int | None, depth: int) -> Iterator[tuple[int, Tried]]:
        for node in tree:
            if node.parent == parent:
                yield depth, node
                yield from below(node.node, depth + 1)

    yield from below(None, 0)


_ACROSS, _DOWN, _MARGIN = 150, 44, 24
_COLOURS = {"starter": "#777777", "draft": "#0072b2", "improve": "#009e73", "debug": "#e69f00"}
"""Safe for the colour-blind."""


def picture(tree: list[Tried], best: Tried | None) -> str:
    """The tree as SVG: parents on the left, one solution a row, the best one ringed."""
    rows = {node.node: (depth, row) for row, (depth, node) in enumerate(in_order(tree))}

    def place(number: int) -> tuple[int, int]:
        depth, row = rows[number]
        return _MARGIN + depth * 36, _MARGIN + row * _DOWN

    lines, marks = [], []
    for node in tree:
        x, y = place(node.node)
        if node.parent is not None:
            from_x, from_y = place(node.parent)
            lines.append(f'<path d="M{from_x} {from_y}V{y}H{x}" fill="none" stroke="#bbbbbb"/>')
        colour = _COLOURS.get(node.operator, "#777777")
        filled = colour if node.scores else "#ffffff"
        if node is best:
            marks.append(f'<circle cx="{x}" cy="{y}" r="11" fill="none" stroke="#000000" stroke-width="2"/>')
        marks.append(f'<circle cx="{x}" cy="{y}" r="7" fill="{filled}" stroke="{colour}" stroke-width="2"/>')
        title = escape(node.plan or node.problem)
        words = escape(
            f"{node.node} {node.operator}: {node.result}" + (f", step {node.step}" if node.step else "")
        )
        small = escape(_cut(node.plan if node.scores else node.problem or node.plan))
        marks.append(
            f'<g><title>{title}</title><text x="{x + 18}" y="{y}">{words}</text>'
            f'<text x="{x + 18}" y="{y + 14}" fill="#666666" font-size="11">{small}</text></g>'
        )
    deepest = max(depth for depth, _ in rows.values())
    width, height = 2 * _MARGIN + deepest * 36 + 4 * _ACROSS, 2 * _MARGIN + len(tree) * _DOWN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="Solutions that were tried">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(lines)}{"".join(marks)}</svg>\n'
    )


def _cut(text: str, longest: int = 80) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
