from __future__ import annotations

import subprocess
import sys

import mlagentbench.task


def test_every_name_that_the_package_shows_is_there():
    for name in mlagentbench.task.__all__:
        assert getattr(mlagentbench.task, name).__name__ == name
    assert dir(mlagentbench.task) == sorted(mlagentbench.task.__all__)


def test_importing_the_package_imports_nothing_heavy():
    code = "import mlagentbench.task, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"pydantic", "subprocess", "click", "rich", "kagglehub"} & set(loaded)
