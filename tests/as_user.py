"""A second pass of the tests that root runs: what depends on the sandbox, as an ordinary user on the fallback.

    python tests/as_user.py             what is in QUICK
    python tests/as_user.py tests/cli   these instead

A machine on which it is impossible is told why in the last line, and that is no failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.users import USER, as_unprivileged, why_not

_AUDIT = "tests/auditing/test_suite.py::test_a_task_of_the_suite_passes_its_audit_or_is_refused_in_a_sentence"
QUICK = (
    *(
        f"{_AUDIT}[{task}]"
        for task in ("house-price", "spaceship-titanic", "vectorization", "bibtex-generation")
    ),
    "tests/environment/test_execution.py",
    "tests/environment/test_repl.py",
    "tests/grading",
    "tests/cli/test_runs.py",
)
"""Audits, and whole runs from end to end. The attacks run as an ordinary user in the first pass too."""


def main(chosen: list[str]) -> int:
    reason = why_not()
    if reason:
        print(f"Not run a second time on Landlock as an ordinary user: {reason}.")
        return 0
    print("The second pass: as an ordinary user, on Landlock.", flush=True)
    home = Path(tempfile.gettempdir()) / f"mlagentbench-tests-{USER}"
    home.mkdir(exist_ok=True)
    os.chown(home, USER, USER)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLAGENTBENCH_")}
    environment = kept | {"HOME": str(home), "MLAGENTBENCH_SANDBOX": "landlock"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-m", "not slow"]
    done = subprocess.run(
        as_unprivileged([*command, *(chosen or QUICK)]),
        env=environment,
        cwd=Path(__file__).resolve().parents[1],
    )
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
