"""Predicts with the workspace's model for the hidden graphs: `python infer.py INPUTS OUTPUTS`, in the workspace."""

import os
import sys
from pathlib import Path

AT_ONCE = 8


def main(inputs: Path, outputs: Path) -> None:
    # Before libraries start their threads.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    import numpy as np
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    torch.manual_seed(0)
    sys.path.insert(0, str(Path.cwd()))
    from model import Model  # type: ignore[import-not-found]

    model = Model()
    model.load_state_dict(load_file("checkpoint.safetensors"))
    model.eval()
    for file in sorted(inputs.iterdir()):
        with np.load(file) as arrays:
            graphs = [torch.from_numpy(arrays[name]).float() for name in ("pos", "A", "adj")]
        with (outputs / f"{file.stem}.txt").open("w", encoding="ascii") as written, torch.no_grad():
            for batch in zip(*(array.split(AT_ONCE) for array in graphs), strict=True):
                pointers = torch.as_tensor(model.predict(*batch))
                if pointers.shape != batch[1].shape or pointers.is_floating_point() or pointers.is_complex():
                    raise SystemExit(
                        f"predict returned {pointers.dtype} of the shape {tuple(pointers.shape)}; "
                        f"it must return integers of the shape {tuple(batch[1].shape)}"
                    )
                # One line for each graph and first node of a pair, with the pointers of its pairs.
                for row in pointers.flatten(0, 1).tolist():
                    written.write(" ".join(map(str, map(int, row))) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
