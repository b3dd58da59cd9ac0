"""Programs as people write them: all run where there are namespaces, and what the fallback cannot run is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from programs import INTERPRETER, LIMITS
from usual import PROGRAMS, RUNS, UsualProgram, table

from mlagentbench.sandbox import Interpreter, Job, choose
from mlagentbench.task.interpreter import interpreter_for
from mlagentbench.task.registry import load_task

_DOCUMENT = Path(__file__).parents[2] / "docs" / "sandbox.md"
_AMPLE = replace(LIMITS, seconds=300, memory=3_000_000_000, processes=200, disk=1_000_000_000, files=20_000)
_TASK_WITH = {"tables": "house-price", "torch": "cifar10"}


def interpreter_with(kind: str) -> Interpreter:
    if kind == "plain":
        return INTERPRETER
    return interpreter_for(load_task(_TASK_WITH[kind]).definition.requirements)


@pytest.mark.xdist_group("usual-programs")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_usual_program_runs_or_fails_as_the_table_says(
    program: UsualProgram, backend: str, tmp_path: Path
) -> None:
    interpreter = interpreter_with(program.interpreter)
    (tmp_path / "program.py").write_text(f"{program.code}\nprint('ok')\n")
    said = bytearray()
    job = Job((str(interpreter.python), "program.py"), tmp_path, _AMPLE, interpreter)
    result = choose(backend).run(job, said.extend)
    expected = backend != "landlock" or program.landlock == RUNS
    ran = result.exit_status == 0 and said.endswith(b"ok\n")
    assert ran == expected, (result, said.decode(errors="replace")[-2000:])
    assert result.limit is None, "it fails at once, and does not hang"


def test_the_documentation_prints_which_programs_run() -> None:
    assert table() in _DOCUMENT.read_text()
