"""Made-up pictures of ten kinds of things, 32 pixels wide.

A kind is a pair of an outline and a pattern, and every outline and every pattern belongs to two kinds, so that
neither alone tells the kind. Which pairs there are, and what colour is usual for each, is drawn from the seed, so
that nothing known about the real classes helps. Place, size, pose, colours, light, background, clutter and what
stands in front differ from picture to picture and say nothing.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

SIZE = 32
PARTS = 5
KINDS = 2 * PARTS
AT_A_TIME = 500


def pictures(entropy: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels of `n` pictures, as n x 32 x 32 x 3 bytes, and the kind of each, equally many of every kind."""
    rng = np.random.default_rng(entropy)
    outline_of = np.repeat(rng.permutation(PARTS), 2)
    pattern = rng.permutation(PARTS)
    pattern_of = np.stack([pattern, np.roll(pattern, 1)], axis=1).ravel()
    usual_hue = rng.permutation(KINDS) / KINDS
    mixed = rng.permutation(KINDS)
    outline_of, pattern_of = outline_of[mixed], pattern_of[mixed]
    kinds = rng.permutation(np.arange(n) % KINDS)
    pixels = np.concatenate(
        [
            _drawn(rng, outline_of[part], pattern_of[part], usual_hue[part])
            for part in np.split(kinds, range(AT_A_TIME, n, AT_A_TIME))
        ]
    )
    return pixels, kinds


def _drawn(rng, outline, pattern, hue):
    n = len(outline)

    def uniform(low, high, *shape):
        return rng.uniform(low, high, (n, *(shape or (1, 1)))).astype(np.float32)

    def chance(probability):
        return rng.random((n, 1, 1)) < probability

    def over(image, mask, colour):
        return image + mask[..., None] * (colour - image)

    axis = np.linspace(-1, 1, SIZE, dtype=np.float32)
    y, x = axis[None, :, None], axis[None, None, :]

    def posed(reach, low, high, turn):
        """Coordinates of a thing that lies somewhere, and how many pixels one unit of them is."""
        angle, size = uniform(-turn, turn), uniform(low, high)
        dx, dy = x - uniform(-reach, reach), y - uniform(-reach, reach)
        u = (np.cos(angle) * dx + np.sin(angle) * dy) / size * np.where(chance(0.5), 1, -1)
        v = (np.cos(angle) * dy - np.sin(angle) * dx) / size
        return u, v, size * (SIZE - 1) / 2

    # Behind: a smooth wash of two colours with a grain of its own, and small things that are of no kind.
    wash = _smooth(rng, n, 4)[..., None]
    grain = np.sin(uniform(4, 16) * x + uniform(-12, 12) * y + 4 * _smooth(rng, n, 5) + uniform(0, 6.3))
    image = wash * uniform(0.1, 0.9, 1, 1, 3) + (1 - wash) * uniform(0.1, 0.9, 1, 1, 3)
    image = image + (uniform(0, 0.22) * grain)[..., None]
    for _ in range(3):
        u, v, scale = posed(0.95, 0.1, 0.3, np.pi)
        mask = _edge(_outlines(u, v, rng.integers(0, PARTS, n)), scale) * chance(0.7)
        inside = _patterns(u, v, rng.integers(0, PARTS, n), uniform(2, 4), uniform(0, 6.3))
        colour = uniform(0, 1, 1, 1, 3) + (inside * uniform(-0.5, 0.5))[..., None]
        image = over(image, mask, colour)

    # The thing.
    u, v, scale = posed(0.28, 0.5, 0.85, 0.6)
    stretch = uniform(0.85, 1.15)
    bend = uniform(-0.25, 0.25)
    u, v = u * stretch, v / stretch + bend * (u * u - 0.4)
    mask = _edge(_outlines(u, v, outline), scale)
    inside = _patterns(u, v, pattern, uniform(4.2, 6.0), uniform(0, 6.3))
    shade = _hues(hue[:, None, None] + uniform(-0.3, 0.3)) * uniform(0.3, 1)[..., None]
    shade = shade + uniform(0.0, 0.5)[..., None]
    contrast = uniform(0.25, 0.6) * np.where(chance(0.5), 1, -1)
    light = uniform(-0.2, 0.2) * u + uniform(-0.2, 0.2) * v
    image = over(image, mask, shade + (contrast * inside + light)[..., None])

    # In front: a stalk, or a thing at the rim that hides a part.
    angle, offset = uniform(0, np.pi), uniform(-0.5, 0.5)
    stalk = np.abs(np.cos(angle) * x + np.sin(angle) * y - offset) - uniform(0.04, 0.14)
    image = over(image, _edge(stalk, SIZE / 2) * chance(0.45), uniform(0, 1, 1, 1, 3))
    angle, far = uniform(0, 2 * np.pi), uniform(0.55, 0.95)
    rim = np.hypot(x - far * np.cos(angle), y - far * np.sin(angle)) - uniform(0.3, 0.55)
    image = over(image, _edge(rim, SIZE / 2) * chance(0.45), uniform(0, 1, 1, 1, 3))

    # The camera.
    image = 0.5 + (image - 0.5) * uniform(0.5, 1.1)[..., None] + uniform(-0.15, 0.15)[..., None]
    image = image * uniform(0.85, 1.15, 1, 1, 3)
    image = image + uniform(0.02, 0.1)[..., None] * rng.standard_normal(image.shape, dtype=np.float32)
    return np.round(np.clip(image, 0, 1) * 255).astype(np.uint8)


def _outlines(u, v, which):
    """How far outside of its outline each point is, in units of the thing."""
    r = np.hypot(u, v)
    au, av = np.abs(u), np.abs(v)
    shapes = [
        np.hypot(u, v * 1.3) - 0.85,
        np.maximum(au - 0.78, av - 0.62),
        np.maximum(v - 0.62, 0.86 * au - 0.5 * v - 0.45),
        np.abs(r - 0.62) - 0.3,
        np.maximum(np.minimum(au, av) - 0.32, np.maximum(au, av) - 0.95),
    ]
    return np.choose(which[:, None, None], shapes)


def _patterns(u, v, which, frequency, phase):
    """The pattern's brightness at each point, from -1 to 1."""
    across, along = np.sin(frequency * u + phase), np.sin(frequency * v + phase)
    patterns = [
        np.tanh(3 * across),
        np.tanh(3 * along),
        np.tanh(4 * across * along),
        np.tanh(3 * (np.sin(frequency * (u + v) * 0.8 + phase) + np.sin(frequency * (u - v) * 0.8) - 0.7)),
        np.sin(0.5 * frequency * u + phase) * 0.5,
    ]
    return np.choose(which[:, None, None], patterns)


def _edge(distance, scale):
    return np.clip(0.5 - distance * scale, 0, 1)


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
