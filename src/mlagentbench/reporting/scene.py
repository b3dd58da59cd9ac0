"""A drawing as a list of marks. It is written as SVG, in the page and as a file, and painted as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Paint = Literal[
    "ink",
    "faint",
    "rule",
    "ground",
    "dark",
    "light",
    "blue",
    "orange",
    "green",
    "purple",
    "vermilion",
    "sky",
    "grey",
    "yellow",
]
Shape = Literal["circle", "square", "triangle", "diamond", "down", "plus", "cross", "bar"]
Anchor = Literal["start", "middle", "end"]

COLOURS: dict[Paint, str] = {
    "ink": "#1b1f24",
    "faint": "#59626d",
    "rule": "#d5dae0",
    "ground": "#ffffff",
    "dark": "#1b1f24",
    "light": "#ffffff",
    "blue": "#0072b2",
    "orange": "#e69f00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "vermilion": "#d55e00",
    "sky": "#56b4e9",
    "grey": "#8a939d",
    "yellow": "#f0e442",
}
"""Those with a name of a colour are Okabe and Ito's, which people tell apart whatever colours they see."""

SERIES: tuple[Paint, ...] = ("blue", "orange", "green", "purple", "vermilion", "sky", "grey", "yellow")
SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "bar")
"""Each series has a shape too, for print in black and white."""

LETTER = 0.56
"""The width of a letter on average, in sizes of the font."""


@dataclass(frozen=True, slots=True)
class Line:
    points: Sequence[tuple[float, float]]
    paint: Paint = "rule"
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Area:
    points: Sequence[tuple[float, float]]
    paint: Paint
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    paint: Paint
    shape: Shape = "circle"
    title: str = ""
    size: float = 5.0


@dataclass(frozen=True, slots=True)
class Text:
    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    paint: Paint = "ink"
    size: float = 12.0
    bold: bool = False


Mark = Line | Area | Dot | Text


@dataclass(frozen=True)
class Picture:
    width: float
    height: float
    label: str
    """For those who cannot see it."""
    marks: tuple[Mark, ...]


def box(
    x: float, y: float, width: float, height: float, paint: Paint, *, opacity: float = 1.0, title: str = ""
) -> Area:
    return Area(((x, y), (x + width, y), (x + width, y + height), (x, y + height)), paint, opacity, title)


def outline(dot: Dot) -> list[tuple[float, float]]:
    """The corners of a dot that is no circle."""
    x, y, r = dot.x, dot.y, dot.size
    thin = r / 2.6
    corners: dict[Shape, list[tuple[float, float]]] = {
        "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        "triangle": [(0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
        "down": [(0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
        "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        "bar": [(-1.2, -0.45), (1.2, -0.45), (1.2, 0.45), (-1.2, 0.45)],
    }
    if dot.shape in corners:
        return [(x + r * dx, y + r * dy) for dx, dy in corners[dot.shape]]
    t, long = thin / r, 1.15
    plus = [
        (-t, -long), (t, -long), (t, -t), (long, -t), (long, t), (t, t),
        (t, long), (-t, long), (-t, t), (-long, t), (-long, -t), (-t, -t),
    ]  # fmt: skip
    if dot.shape == "plus":
        return [(x + r * dx, y + r * dy) for dx, dy in plus]
    turn = 0.7071
    return [(x + r * turn * (dx - dy), y + r * turn * (dx + dy)) for dx, dy in plus]


def fitted(text: str, width: float, size: float = 12.0) -> str:
    """`text`, cut to a width in pixels."""
    most = max(3, int(width / (LETTER * size)))
    return text if len(text) <= most else f"{text[: most - 1]}…"
