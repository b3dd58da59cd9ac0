from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from mlagentbench.errors import PreparationError
from mlagentbench.task.interpreter import find_interpreter, interpreter_for


def answer(python: Path, code: str) -> str:
    return subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip is told to install from, and from nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def wheel(index: Path, name: str, content: str = "") -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(index / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def test_it_is_not_the_harnesses_own_and_does_not_hold_this_package(cache):
    interpreter = interpreter_for(())
    assert interpreter.python.is_relative_to(cache)
    code = "import importlib.util as u; print(u.find_spec('mlagentbench'), u.find_spec('pydantic'))"
    assert answer(interpreter.python, code) == "None None"


def test_its_roots_are_all_that_it_needs(cache):
    interpreter = interpreter_for(())
    needed = json.loads(
        answer(
            interpreter.python,
            "import json, sys, os; print(json.dumps([sys.executable, os.path.realpath(sys.executable),"
            " sys.prefix, sys.base_prefix, *(p for p in sys.path if os.path.isdir(p))]))",
        )
    )
    for path in needed:
        assert any(Path(path).is_relative_to(root) for root in interpreter.roots), path
    assert not any(Path(sys.prefix).is_relative_to(root) for root in interpreter.roots)


def test_once_ready_no_process_is_started(cache, monkeypatch):
    assert find_interpreter(()) is None
    made = interpreter_for(())

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert interpreter_for(()) == find_interpreter(()) == made


def test_tasks_with_the_same_requirements_share_one(cache, index):
    wheel(index, "alpha", "VALUE = 7")
    wheel(index, "beta")
    said: list[str] = []
    first = interpreter_for(("alpha==1.0", "beta"), None, said.append)
    assert answer(first.python, "import alpha; print(alpha.VALUE)") == "7"
    assert any("Successfully installed" in line for line in said)
    assert interpreter_for(["beta", "alpha==1.0"]) == first
    assert interpreter_for(()) != first


def test_what_pip_says_is_told_when_it_fails_and_nothing_is_ready(cache, index):
    said: list[str] = []
    with pytest.raises(
        PreparationError, match=r"(?s)could not install missing==9.*--python.*No matching"
    ) as caught:
        interpreter_for(("missing==9",), None, said.append)
    assert "\n" in str(caught.value)
    assert find_interpreter(("missing==9",)) is None
    wheel(index, "missing")
    with pytest.raises(PreparationError):
        interpreter_for(("missing==9",))


def test_requirements_may_not_bring_this_package_in(cache, index):
    wheel(index, "mlagentbench")
    with pytest.raises(PreparationError, match="could read the solutions"):
        interpreter_for(("mlagentbench",))


def test_a_build_that_was_killed_is_made_again(cache):
    made = interpreter_for(())
    folder = made.python.parent.parent
    (folder / "mlagentbench-ready.json").unlink()
    (folder / "pyvenv.cfg").unlink()
    said: list[str] = []
    assert interpreter_for((), None, said.append) == made
    assert any("never finished" in line for line in said)
    assert answer(made.python, "print(1)") == "1"


def test_two_processes_that_want_it_at_once_build_it_once(cache, tmp_path):
    code = "from mlagentbench.task.interpreter import *; print(interpreter_for((), None, print).python)"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [process.communicate()[0].splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs[0][-1] == outputs[1][-1]
    assert sum(line.startswith("Making an interpreter") for output in outputs for line in output) == 1


BACKEND = """
import os, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(os.path.join(folder, "leak-1.0-py3-none-any.whl"), "w") as archive:
        archive.writestr("leak.py", f"NAMES = {sorted(os.environ)}")
        archive.writestr("leak-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: leak\\nVersion: 1\\n")
        archive.writestr("leak-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        archive.writestr("leak-1.0.dist-info/RECORD", "")
    return "leak-1.0-py3-none-any.whl"
"""


def test_keys_of_the_user_do_not_reach_what_pip_builds(cache, index, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    source = tmp_path / "leak"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (source / "backend.py").write_text(BACKEND)
    interpreter = interpreter_for((str(source),))
    names = answer(interpreter.python, "import leak; print(*leak.NAMES)").split()
    assert "PATH" in names and "OPENAI_API_KEY" not in names


def own_venv(folder: Path, *, with_harness: bool) -> Path:
    venv.create(folder, symlinks=True)
    if with_harness:
        site = next(folder.glob("lib/python*/site-packages"))
        (site / "mlagentbench.py").write_text("")
    return folder / "bin" / "python"


def test_the_users_own_interpreter_is_taken_and_asked_only_once(cache, tmp_path, monkeypatch):
    python = own_venv(tmp_path / "own", with_harness=False)
    found = interpreter_for(("anything",), str(python))
    assert found.python == python
    assert tmp_path / "own" in found.roots
    monkeypatch.setattr(subprocess, "run", None)
    assert find_interpreter(("anything",), str(python)) == found


def test_an_own_interpreter_that_holds_this_package_is_refused_also_when_it_came_later(cache, tmp_path):
    python = own_venv(tmp_path / "own", with_harness=False)
    interpreter_for((), str(python))
    site = next((tmp_path / "own").glob("lib/python*/site-packages"))
    (site / "mlagentbench").mkdir()
    (site / "mlagentbench" / "__init__.py").write_text("")
    with pytest.raises(PreparationError, match="has mlagentbench installed"):
        interpreter_for((), str(python))


def test_a_launcher_that_picks_an_interpreter_is_followed_to_it(cache, tmp_path):
    python = own_venv(tmp_path / "own", with_harness=False)
    shim = tmp_path / "shim"
    shim.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    shim.chmod(0o755)
    assert interpreter_for((), str(shim)).python == python


@pytest.mark.parametrize("name", ["no-such-python", "/bin/true", "/bin/false"])
def test_what_is_no_interpreter_is_told(cache, name):
    with pytest.raises(PreparationError, match=r"no interpreter|is not a working Python|does not run"):
        interpreter_for((), name)


def test_a_harness_that_was_stopped_leaves_no_half_built_interpreter_in_use(cache, index, tmp_path):
    """Killed while pip runs, by the signal that nobody can catch."""
    wheel(index, "alpha")
    code = (
        "import os, signal\nfrom mlagentbench.task.interpreter import interpreter_for\n"
        "def tell(line):\n    if 'Processing' in line: os.kill(os.getpid(), signal.SIGKILL)\n"
        "interpreter_for(('alpha',), None, tell)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert find_interpreter(("alpha",)) is None
    made = interpreter_for(("alpha",))
    assert answer(made.python, "import alpha; print('yes')") == "yes"
