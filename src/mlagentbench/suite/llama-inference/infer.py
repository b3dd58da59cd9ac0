"""Runs the workspace's generator over the hidden prompts: `python infer.py INPUTS OUTPUTS`, in the workspace."""

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
    from inference import Generator  # type: ignore[import-not-found]

    asked = json.loads((inputs / "prompts.json").read_text(encoding="utf-8"))
    told = Generator(Path("model")).generate(asked["prompts"], asked["new_tokens"])
    for name, array in zip(("tokens", "likely", "logprobs"), told, strict=True):
        np.save(outputs / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
