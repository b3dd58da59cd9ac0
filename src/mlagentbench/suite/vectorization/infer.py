"""Runs the workspace's layer over the hidden inputs: `python infer.py INPUTS OUTPUTS`, in the workspace."""

import json
import os
import sys
from pathlib import Path


def main(inputs: Path, outputs: Path) -> None:
    # Before NumPy starts its threads.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    import numpy as np

    sys.path.insert(0, str(Path.cwd()))
    from train import ConvolutionLayer  # type: ignore[import-not-found]

    for case in sorted(inputs.iterdir()):
        images, weights, bias = (np.load(case / f"{name}.npy") for name in ("images", "weights", "bias"))
        settings = json.loads((case / "settings.json").read_text(encoding="utf-8"))
        output = ConvolutionLayer(weights, bias, settings["stride"], settings["padding"]).forward(images)
        np.save(outputs / f"{case.name}.npy", np.ascontiguousarray(output), allow_pickle=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
