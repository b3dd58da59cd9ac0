"""Random images and layers: one example for the agent, and hidden cases of other shapes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Shape:
    count: int
    height: int
    width: int
    channels: int
    kernel: tuple[int, int]
    kernels: int
    stride: int
    padding: int


EXAMPLES = {
    "mini": Shape(8, 64, 64, 3, (3, 3), 8, 2, 1),
    "full": Shape(32, 64, 64, 3, (3, 3), 8, 2, 1),
}
# The corners of the definition, cheap to compute: kernels of one pixel, kernels as large as the image, gaps
# between windows, windows that leave pixels over at the edge, padding wider than the kernel.
CORNERS = [
    Shape(2, 17, 19, 2, (1, 1), 3, 2, 0),
    Shape(3, 9, 7, 5, (9, 7), 4, 1, 0),
    Shape(2, 21, 26, 3, (2, 2), 3, 4, 1),
    Shape(1, 13, 12, 1, (5, 3), 2, 3, 0),
    Shape(1, 6, 5, 2, (3, 2), 1, 1, 4),
]
# Most of the time goes into these, enough that starting the interpreter hardly counts for the starter.
BULK = {
    "mini": [
        Shape(12, 32, 32, 3, (3, 3), 8, 1, 1),
        Shape(6, 64, 64, 3, (5, 5), 8, 2, 2),
        Shape(3, 60, 56, 3, (3, 5), 16, 1, 0),
        Shape(16, 28, 24, 1, (5, 5), 6, 1, 2),
    ],
    "full": [
        Shape(32, 64, 64, 3, (5, 5), 8, 2, 2),
        Shape(32, 32, 32, 3, (3, 3), 8, 1, 1),
        Shape(10, 60, 56, 3, (3, 5), 16, 1, 0),
        Shape(32, 40, 48, 1, (5, 5), 6, 1, 2),
    ],
}


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    rng = np.random.default_rng(int.from_bytes(hashlib.blake2b(str(seed).encode()).digest(), "big"))
    shape = EXAMPLES[variant]
    images, weights, bias = draw(rng, shape)
    write(public / "example", images, weights, bias, shape.stride, shape.padding)
    np.save(public / "example" / "expected.npy", convolve(images, weights, bias, shape.stride, shape.padding))

    (private / "expected").mkdir()
    for index, shape in enumerate([jittered(rng, shape) for shape in BULK[variant]] + CORNERS):
        images, weights, bias = draw(rng, shape)
        name = f"case-{index}"
        write(private / "inputs" / name, images, weights, bias, shape.stride, shape.padding)
        expected = convolve(images, weights, bias, shape.stride, shape.padding)
        np.save(private / "expected" / f"{name}.npy", expected)


def jittered(rng: np.random.Generator, shape: Shape) -> Shape:
    """About that size: the exact one is known to nobody without the seed."""
    higher, wider = map(int, rng.integers(-2, 3, size=2))
    return replace(shape, height=shape.height + higher, width=shape.width + wider)


def draw(rng: np.random.Generator, shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        rng.normal(size=(shape.count, shape.height, shape.width, shape.channels)),
        rng.normal(size=(*shape.kernel, shape.channels, shape.kernels)),
        rng.normal(size=shape.kernels),
    )


def write(
    folder: Path, images: np.ndarray, weights: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> None:
    folder.mkdir(parents=True)
    for name, array in (("images", images), ("weights", weights), ("bias", bias)):
        np.save(folder / f"{name}.npy", array)
    settings = json.dumps({"stride": stride, "padding": padding})
    (folder / "settings.json").write_text(settings + "\n", encoding="utf-8")


def convolve(
    images: np.ndarray, weights: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """The right result, by a sum over kernel positions; `einsum` and no BLAS, for the same bits each time."""
    border = (padding, padding)
    padded = np.pad(images, ((0, 0), border, border, (0, 0)))
    rows = (padded.shape[1] - weights.shape[0]) // stride + 1
    columns = (padded.shape[2] - weights.shape[1]) // stride + 1
    output: np.ndarray = np.zeros((len(images), rows, columns, len(bias))) + bias
    for down, right in np.ndindex(*weights.shape[:2]):
        shifted = padded[:, down:, right:][:, ::stride, ::stride][:, :rows, :columns]
        output += np.einsum("nhwc,ck->nhwk", shifted, weights[down, right])
    return output
