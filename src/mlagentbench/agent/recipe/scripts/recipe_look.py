"""Lists the files of the workspace, one a line, as far as three folders down."""

import os
from itertools import islice
from pathlib import Path

MOST = 40  # of one folder

for root, folders, files in os.walk("."):
    folders[:] = sorted(folders)[:MOST] if len(Path(root).parts) < 3 else []
    for name in islice(sorted(files), MOST):
        print((Path(root) / name).as_posix())
