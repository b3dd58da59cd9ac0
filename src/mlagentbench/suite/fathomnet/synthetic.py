"""Made-up pictures of the sea floor, with several animals in each.

A category is an outline with a pattern and a colour; categories with the same outline make a supercategory. What a
category looks like, how frequent it is and how deep it lives is drawn from the seed. The deeper a picture was taken,
the less red light is left in it.
"""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE = 48
OUTLINES = ["Urchin", "Fish", "Sea star", "Anemone", "Sea pen"]
PATTERNS = 4
HUES = 2
CATEGORIES = len(OUTLINES) * PATTERNS * HUES
AT_A_TIME = 200
MOST = 5


@dataclass(frozen=True)
class Animal:
    """One animal in a picture: its category from 0, and the box around it as left, top, width and height."""

    category: int
    box: tuple[int, int, int, int]


def seafloor(entropy: int, n: int) -> tuple[np.ndarray, list[list[Animal]], list[str]]:
    """Pixels of `n` pictures, the animals in each, and the supercategory of every category."""
    rng = np.random.default_rng(entropy)
    kinds = rng.permutation(CATEGORIES)
    outline, pattern, tone = kinds % 5, kinds // 5 % PATTERNS, kinds // (5 * PATTERNS)
    hue = (rng.random(5)[outline] + tone / HUES + rng.uniform(-0.05, 0.05, CATEGORIES)) % 1
    # A long tail, and for each category a depth that it prefers.
    weight = rng.permutation(1 / (np.arange(CATEGORIES) + 6))
    home = rng.random(CATEGORIES)
    pixels, animals = [], []
    for start in range(0, n, AT_A_TIME):
        count = min(AT_A_TIME, n - start)
        depth = rng.random(count)
        habitat = weight * np.exp(-((depth[:, None] - home) ** 2) / (2 * 0.35**2))
        chosen = np.stack([rng.choice(CATEGORIES, MOST, p=row / row.sum()) for row in habitat])
        present = np.arange(MOST) < rng.choice(
            np.arange(1, MOST + 1), (count, 1), p=[0.3, 0.3, 0.2, 0.12, 0.08]
        )
        part, boxes = _drawn(rng, depth, chosen, present, outline, pattern, hue)
        pixels.append(part)
        animals += [
            [Animal(int(chosen[i, k]), boxes[k][i]) for k in range(MOST) if present[i, k]]
            for i in range(count)
        ]
    return np.concatenate(pixels), animals, [OUTLINES[which] for which in outline]


def _drawn(rng, depth, chosen, present, outline, pattern, hue):
    n = len(depth)

    def uniform(low, high, *shape):
        return rng.uniform(low, high, (n, *(shape or (1, 1)))).astype(np.float32)

    def over(image, mask, colour):
        return image + mask[..., None] * (colour - image)

    y, x = np.arange(SIZE, dtype=np.float32)[None, :, None], np.arange(SIZE, dtype=np.float32)[None, None, :]

    # Mud, with ripples and stones.
    mud = np.array([0.45, 0.42, 0.36], np.float32) + uniform(-0.08, 0.08, 1, 1, 3)
    ripples = np.sin(
        uniform(0.2, 0.6) * x + uniform(-0.5, 0.5) * y + 3 * _smooth(rng, n, 4) + uniform(0, 6.3)
    )
    image = mud + ((_smooth(rng, n, 5) - 0.5) * 0.35 + uniform(0, 0.06) * ripples)[..., None]
    for _ in range(4):
        far = np.hypot((x - uniform(0, SIZE)) * uniform(0.7, 1.3), y - uniform(0, SIZE)) - uniform(1, 4)
        image = over(image, _edge(far) * uniform(0.2, 0.9), mud * uniform(0.4, 1.3)[..., None])

    boxes = []
    for k in range(MOST):
        kind = chosen[:, k]
        middle, size, angle = uniform(7, SIZE - 7, 2, 1, 1), uniform(4.5, 9), uniform(0, 2 * np.pi)
        dx, dy = x - middle[:, 0], y - middle[:, 1]
        u = (np.cos(angle) * dx + np.sin(angle) * dy) / size
        v = (np.cos(angle) * dy - np.sin(angle) * dx) / size
        outside = _outlines(u, v, outline[kind])
        inside = _patterns(u, v, pattern[kind], uniform(0, 6.3))
        tone = _hues(hue[kind][:, None, None] + uniform(-0.06, 0.06))
        colour = 0.2 + 0.6 * tone * uniform(0.7, 1.1)[..., None]
        colour = colour * (1 + uniform(0.45, 0.65) * inside)[..., None]
        mask = _edge(outside * size) * present[:, k, None, None]
        image = over(image, mask * uniform(0.8, 1.0), colour)
        boxes.append(_boxes(mask > 0.3))

    # Water: less red with depth, haze, one lamp, and the camera's grain.
    keep = np.exp(-np.array([1.3, 0.25, 0.1], np.float32) * depth[:, None, None, None])
    haze = np.array([0.05, 0.22, 0.3], np.float32)
    image = image * keep * (1 - 0.3 * depth[:, None, None, None]) + haze * 0.5 * depth[:, None, None, None]
    lamp = np.hypot(x - uniform(0.25, 0.75) * SIZE, y - uniform(0.25, 0.75) * SIZE) / SIZE
    image = image * (1.35 - uniform(0.4, 1.0) * lamp)[..., None] * uniform(0.8, 1.2)[..., None]
    image = image + 0.02 * rng.standard_normal(image.shape, dtype=np.float32)
    return (np.round(np.clip(image, 0, 1) * 63) * 4).astype(np.uint8), boxes


def _boxes(masks):
    boxes = []
    for mask in masks:
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        if not len(rows):
            boxes.append((0, 0, 0, 0))
            continue
        left, top = int(columns[0]), int(rows[0])
        boxes.append((left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1))
    return boxes


def _outlines(u, v, which):
    """How far outside of its outline each point is, in units of the animal."""
    r, turn = np.hypot(u, v), np.arctan2(v, u)
    shapes = [
        r - 0.75 - 0.18 * np.cos(9 * turn),
        np.maximum(np.hypot(u * 0.9, v * 2.2) - 0.85, -1) - 0.3 * np.maximum(u - 0.55, 0),
        r - 0.55 - 0.42 * np.cos(5 * turn),
        np.abs(r - 0.6) - 0.32,
        np.maximum(np.abs(v) - 0.22 - 0.2 * np.abs(np.sin(5 * u)), np.abs(u) - 1.05),
    ]
    return np.choose(which[:, None, None], shapes)


def _patterns(u, v, which, phase):
    """The pattern's brightness at each point, from -1 to 1."""
    patterns = [
        np.zeros_like(u) + 0.1,
        np.tanh(3 * np.sin(7 * u + phase)),
        np.tanh(3 * (np.sin(6 * u + phase) * np.sin(6 * v + phase))),
        np.tanh(4 * (0.45 - np.hypot(u, v))),
    ]
    return np.choose(which[:, None, None], patterns)


def _edge(distance):
    return np.clip(0.5 - distance, 0, 1)


def _hues(hue):
    return 0.5 + 0.5 * np.cos(2 * np.pi * (hue[..., None] - np.arange(3, dtype=np.float32) / 3))


def _smooth(rng, n, knots):
    """Smooth random fields between 0 and 1."""
    coarse = rng.random((n, knots, knots), dtype=np.float32)
    place = np.linspace(0, knots - 1 - 1e-4, SIZE)
    low = place.astype(int)
    share = (place - low).astype(np.float32)
    share = share * share * (3 - 2 * share)
    rows = coarse[:, low] * (1 - share[:, None]) + coarse[:, low + 1] * share[:, None]
    return rows[:, :, low] * (1 - share) + rows[:, :, low + 1] * share
