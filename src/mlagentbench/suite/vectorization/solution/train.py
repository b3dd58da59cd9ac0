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
        kernel_height, kernel_width, channels, kernels = self.weights.shape
        count, height, width, _ = images.shape
        if self.padding:
            edge = self.padding
            padded = np.zeros((count, height + 2 * edge, width + 2 * edge, channels))
            padded[:, edge : edge + height, edge : edge + width] = images
        else:
            padded = images
        windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel_height, kernel_width), axis=(1, 2))
        windows = windows[:, :: self.stride, :: self.stride].transpose(0, 1, 2, 4, 5, 3)
        # One row a window, one column a kernel: a single matrix product.
        flat = windows.reshape(-1, kernel_height * kernel_width * channels)
        output = flat @ self.weights.reshape(-1, kernels)
        output += self.bias
        return output.reshape(*windows.shape[:3], kernels)


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
