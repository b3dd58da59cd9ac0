"""A convolution layer, and how long its forward pass takes on the example."""

import json
import time
from pathlib import Path

import numpy as np


class ConvolutionLayer:
    """Slides kernels over images: each output value is the sum of a window times a kernel, plus a bias.

    weights: (kernel height, kernel width, input channels, output channels)
    bias: (output channels,)
    stride: step from one window to the next, down and to the right
    padding: number of zeros put around each image on all four sides
    """

    def __init__(self, weights, bias, stride=1, padding=0):
        self.weights = weights
        self.bias = bias
        self.stride = stride
        self.padding = padding

    def forward(self, images):
        """From (images, height, width, input channels) to (images, rows, columns, output channels)."""
        kernel_height, kernel_width, _, kernels = self.weights.shape
        border = (self.padding, self.padding)
        padded = np.pad(images, ((0, 0), border, border, (0, 0)))
        count, height, width, _ = padded.shape
        rows = (height - kernel_height) // self.stride + 1
        columns = (width - kernel_width) // self.stride + 1
        output = np.zeros((count, rows, columns, kernels))

        flat = self.weights.reshape(-1, kernels)
        for image in range(count):
            for row in range(rows):
                top = row * self.stride
                for column in range(columns):
                    left = column * self.stride
                    window = padded[image, top : top + kernel_height, left : left + kernel_width, :]
                    output[image, row, column] = window.reshape(-1) @ flat + self.bias
        return output


def main():
    example = Path("example")
    images, weights, bias, expected = (
        np.load(example / f"{name}.npy") for name in ("images", "weights", "bias", "expected")
    )
    settings = json.loads((example / "settings.json").read_text())
    layer = ConvolutionLayer(weights, bias, settings["stride"], settings["padding"])

    start = time.perf_counter()
    output = layer.forward(images)
    print(f"forward pass: {time.perf_counter() - start:.4f} s")
    print(f"largest difference from the right result: {np.abs(output - expected).max():.1e}")


if __name__ == "__main__":
    main()
