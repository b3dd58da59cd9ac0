"""Run lengths of masks, as submissions hold them."""

import numpy as np


def encode(mask):
    """Start and length of each run of ones, column by column, counted from 1; `-` for an empty mask."""
    line = np.concatenate([[0], np.asarray(mask).T.reshape(-1) != 0, [0]]).astype(int)
    starts, ends = np.flatnonzero(np.diff(line) == 1), np.flatnonzero(np.diff(line) == -1)
    return " ".join(f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True)) or "-"


def decode(text, shape):
    """The mask that `encode` was given."""
    line = np.zeros(shape[0] * shape[1], dtype=int)
    numbers = [] if text == "-" else [int(number) for number in text.split()]
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        line[start - 1 : start - 1 + length] = 1
    return line.reshape(shape[1], shape[0]).T
