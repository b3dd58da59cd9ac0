"""Made-up satellite records: clouds and contrails that drift over ground, as nine infrared bands see them.

Contrails are thin lines of ice. They appear at some time, drift with the wind, widen and fade. Streaks of natural
cirrus have the colours of contrails, rivers and coasts have their shape; those were there before, and these stand
still.
"""

from __future__ import annotations

import numpy as np

BANDS = tuple(range(8, 17))
FRAMES, LABELLED = 8, 4
# How warm the ground looks in a band, against the window at 11.2 micrometres; how much of it shows through the air;
# how strongly ice absorbs.
OFFSETS = np.array([-48.0, -40.0, -31.0, -1.5, -21.0, -0.4, 0.0, -1.6, -15.0])
CLARITY = np.array([0.05, 0.12, 0.22, 0.9, 0.55, 0.97, 1.0, 0.93, 0.6])
ABSORPTION = np.array([0.5, 0.6, 0.7, 0.86, 0.8, 0.96, 1.0, 1.17, 1.05])
NOISE = np.array([0.25, 0.2, 0.2, 0.15, 0.25, 0.15, 0.12, 0.15, 0.3])


def record(rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """`bands` (band, row, column, time), and `individual` masks (row, column, 1, annotator) of the labelled frame."""
    rows, columns = np.mgrid[0:size, 0:size].astype(float)
    wind = rng.normal(0, 0.9, 2)
    lane = rng.uniform(0, np.pi)
    ice = _cirrus(rng, size, wind)
    annotators = int(rng.integers(4, 7))
    drawn = np.zeros((annotators, size, size), bool)
    for _ in range(_number(rng)):
        trail = _trail(rng, size, lane, wind)
        for time in range(FRAMES):
            ice[time] += trail["depth"](rows, columns, time)
        if trail["born"] <= LABELLED:
            for number in range(annotators):
                drawn[number] |= _drawn(rng, trail, rows, columns)
    for _ in range(rng.poisson(0.7)):
        ice += _streak(rng, rows, columns, lane, wind)
    masks = drawn.transpose(1, 2, 0)[:, :, None, :]
    return {"bands": _seen(rng, size, rows, columns, wind, ice), "individual": masks.astype(np.int32)}


def _number(rng):
    """Half of the records have no contrail; where there is one, there are often more."""
    return 0 if rng.random() < 0.3 else 1 + rng.poisson(0.9)


def _trail(rng, size, lane, wind):
    angle = lane + rng.normal(0, 0.25) if rng.random() < 0.7 else rng.uniform(0, np.pi)
    along = np.array([np.sin(angle), np.cos(angle)])
    across = np.array([along[1], -along[0]])
    centre = rng.uniform(0.1 * size, 0.9 * size, 2)
    half = rng.uniform(0.25, 0.8) * size
    born = int(rng.integers(-4, 7))
    strength = rng.lognormal(-1.1, 0.45)
    width = rng.uniform(0.55, 0.9)
    growth = rng.uniform(0.02, 0.12)
    gaps = rng.uniform(0, 2 * np.pi), rng.uniform(0.15, 0.5), rng.uniform(0.1, 0.7)

    def place(rows, columns, time):
        """Distances across and along the line."""
        y, x = (
            rows - centre[0] - wind[0] * (time - LABELLED),
            columns - centre[1] - wind[1] * (time - LABELLED),
        )
        return y * across[0] + x * across[1], y * along[0] + x * along[1]

    def depth(rows, columns, time):
        age = time - born
        if age < 0:
            return 0.0
        offset, position = place(rows, columns, time)
        sigma = width + growth * age
        ends = 1 / (1 + np.exp((np.abs(position) - half) * 1.5))
        patchy = 1 - gaps[2] * (0.5 + 0.5 * np.sin(gaps[1] * position + gaps[0]))
        return (
            strength
            * np.exp(-age / 14)
            * width
            / sigma
            * ends
            * patchy
            * np.exp(-0.5 * (offset / sigma) ** 2)
        )

    return {"born": born, "depth": depth, "place": place, "strength": strength, "half": half, "width": width}


def _drawn(rng, trail, rows, columns):
    """What one annotator marks: faint contrails are missed, edges are a matter of taste."""
    seen = 1 / (1 + np.exp(-(np.log(trail["strength"]) + 1.7) * 6))
    if rng.random() > seen:
        return np.zeros(rows.shape, bool)
    offset, position = trail["place"](rows, columns, LABELLED)
    near = np.abs(offset + rng.normal(0, 0.15)) < 1.25 * trail["width"] + rng.uniform(0.1, 0.5)
    return near & (np.abs(position + rng.normal(0, 1)) < trail["half"] + rng.normal(0, 1))


def _streak(rng, rows, columns, lane, wind):
    """Natural cirrus that looks like a contrail, but that is bent and soft and was there all the time."""
    angle, bend = lane + rng.normal(0, 0.5), rng.normal(0, 0.012)
    centre = rng.uniform(0, len(rows), 2)
    sigma, strength = rng.uniform(1.2, 2.2), rng.lognormal(-2.0, 0.4)
    frames = []
    for time in range(FRAMES):
        y, x = (
            rows - centre[0] - wind[0] * (time - LABELLED),
            columns - centre[1] - wind[1] * (time - LABELLED),
        )
        position = y * np.sin(angle) + x * np.cos(angle)
        offset = y * np.cos(angle) - x * np.sin(angle) + bend * position**2
        frames.append(strength * np.exp(-0.5 * (offset / sigma) ** 2 - 0.5 * (position / 12) ** 2))
    return np.array(frames)


def _cirrus(rng, size, wind):
    field = _drifting(rng, size, wind, slope=1.6, stretch=rng.uniform(1, 3))
    return 0.12 * rng.uniform(0.2, 1.5) * np.maximum(field - rng.normal(0.6, 0.5), 0)


def _seen(rng, size, rows, columns, wind, ice):
    """Brightness temperatures in all bands and frames."""
    still, slow = np.zeros(2), 0.4 * wind + rng.normal(0, 0.3, 2)
    warmth = rng.normal(286, 4)
    ground = warmth + 2.5 * _drifting(rng, size, still, slope=1.8)
    for _ in range(rng.poisson(1.0)):
        angle, centre = rng.uniform(0, np.pi), rng.uniform(0, size, 2)
        y, x = rows - centre[0], columns - centre[1]
        offset = y * np.cos(angle) - x * np.sin(angle)
        ground += rng.normal(0, 4) * np.exp(-0.5 * (offset / rng.uniform(0.6, 1.2)) ** 2)
    ground += np.linspace(rng.normal(0, 1.5), rng.normal(0, 1.5), FRAMES)[:, None, None]
    low = np.maximum(_drifting(rng, size, slow, slope=1.4) - rng.normal(0.8, 0.6), 0)
    ground -= 9 * (1 - np.exp(-2 * low))
    moisture = _drifting(rng, size, slow, slope=2.0)
    minerals = _drifting(rng, size, still, slope=1.2)
    bands = []
    for number, band in enumerate(BANDS):
        below = warmth + OFFSETS[number] + CLARITY[number] * (ground - warmth)
        below -= {15: 0.3, 16: 0.4, 13: 0.05, 11: 0.3}.get(band, 0.0) * moisture
        below -= 0.5 * minerals if band == 11 else 0.0
        hidden = 1 - np.exp(-ABSORPTION[number] * ice)
        top = np.minimum(224.0, below)
        seen = below + (top - below) * hidden * (0.4 if band < 11 else 1.0)
        bands.append(seen + rng.normal(0, NOISE[number], seen.shape))
    return np.array(bands).transpose(0, 2, 3, 1).astype(np.float32)


def _drifting(rng, size, wind, slope, stretch=1.0):
    """Cloud-like noise of unit variance that moves with the wind, one image a frame."""
    wide = 2 * size
    fy, fx = np.meshgrid(np.fft.fftfreq(wide), np.fft.fftfreq(wide), indexing="ij")
    angle = rng.uniform(0, np.pi)
    along, across = fy * np.sin(angle) + fx * np.cos(angle), fy * np.cos(angle) - fx * np.sin(angle)
    distance = np.hypot(along * stretch, across / stretch)
    distance[0, 0] = np.inf
    spectrum = np.fft.fft2(rng.normal(size=(wide, wide))) * np.maximum(distance, 1 / wide) ** -slope
    spectrum[0, 0] = 0
    times = np.arange(FRAMES)[:, None, None] - LABELLED
    moved = spectrum * np.exp(-2j * np.pi * times * (fy * wind[0] + fx * wind[1]))
    frames = np.fft.ifft2(moved, axes=(1, 2)).real
    return (frames / frames.std())[:, :size, :size]
