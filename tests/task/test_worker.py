from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlagentbench.errors import GraderFailedError, MachineFaultError, PreparationError, SubmissionRefusedError
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task import worker
from mlagentbench.task.interpreter import interpreter_for


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        return interpreter_for(())


@pytest.fixture
def call(interpreter, tmp_path):
    def run(body: str, seconds: float = 30.0, **more: object):
        script = tmp_path / "grade.py"
        script.write_text(body)
        return worker.call(script, "grade", more.pop("arguments", {}), interpreter, seconds=seconds, **more)

    return run


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and is only not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_arguments_arrive_with_their_types_and_the_result_comes_back(call, tmp_path):
    body = "def grade(a, b, c, d):\n    return [type(x).__name__ for x in (a, b, c, d)], a / 'f' == b"
    types, _ = call(body, arguments={"a": tmp_path, "b": "text", "c": 2**63, "d": None})
    assert types in (["PosixPath", "str", "int", "NoneType"],)


def test_the_script_may_import_its_neighbours_and_this_packages_small_modules_only(call, tmp_path):
    (tmp_path / "neighbour.py").write_text("VALUE = 5")
    body = """
import sys
from neighbour import VALUE
from mlagentbench.errors import SubmissionRefusedError
from mlagentbench.grading.table import read_submission
def grade():
    try:
        import pydantic
    except ImportError:
        return VALUE, "pydantic" in sys.modules
"""
    assert call(body) == [5, False]


def test_what_the_script_prints_is_progress_and_no_answer(call):
    said: list[str] = []
    body = (
        "import os, sys\n"
        "def grade():\n    print('{\"result\": 9}'); print('loud', file=sys.stderr); os.write(1, b'raw\\n')\n"
        "    return 1\n"
    )
    assert call(body, progress=said.append) == 1
    assert sorted(said) == ["loud", "raw", '{"result": 9}']


def test_more_output_than_a_pipe_holds_does_not_block(call):
    assert call("def grade():\n    print('x' * 5_000_000)\n    return list(range(100_000))")[-1] == 99_999


def test_numbers_of_libraries_come_back_as_plain_ones(call):
    body = "class N:\n    def tolist(self): return 1.5\ndef grade():\n    return {'score': N()}"
    assert call(body) == {"score": 1.5}


@pytest.mark.parametrize("kind", [SubmissionRefusedError, PreparationError])
def test_a_refusal_comes_back_as_what_it_is(call, kind):
    body = f"from mlagentbench.errors import *\ndef grade():\n    raise {kind.__name__}('row 3: ü')"
    with pytest.raises(kind, match=r"^row 3: ü$"):
        call(body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("def grade():\n    return 1 / 0", "ZeroDivisionError: division by zero"),
        ("def grade(:", "SyntaxError"),
        ("x = 1", "has no attribute 'grade'"),
        ("def grade():\n    return object()", "a object cannot be given back"),
        (
            "import os\ndef grade():\n    print('so far', flush=True)\n    os._exit(3)",
            "status 3 before grade.*so far",
        ),
        ("import os\ndef grade():\n    os.kill(os.getpid(), 11)", "status -11"),
        ("import sys\ndef grade():\n    sys.exit(0)", "SystemExit"),
    ],
)
def test_any_other_end_is_a_failure_with_its_last_lines(call, body, told):
    with pytest.raises(GraderFailedError, match=f"(?s){told}"):
        call(body)
    with pytest.raises(PreparationError, match=f"(?s){told}"):
        call(body, failure=PreparationError)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import os\ndef grade():\n    os.kill(os.getpid(), 9)", "killed by signal 9"),
        (
            "import errno\ndef grade():\n    raise OSError(errno.ENOSPC, 'full', 'x.bin')",
            "'x.bin' could not be used",
        ),
        (
            "import errno\nfrom mlagentbench.errors import SubmissionRefusedError\ndef grade():\n    try:\n"
            "        raise OSError(errno.EIO, 'broken')\n    except OSError as error:\n"
            "        raise SubmissionRefusedError('cannot be read') from error",
            "Input/output error",
        ),
        ("def grade():\n    raise MemoryError", "not enough memory"),
    ],
)
def test_what_the_machine_did_to_a_grader_is_no_failure_of_it(call, body, told):
    with pytest.raises(MachineFaultError, match=told):
        call(body)


def test_time_runs_out_for_it_and_for_all_that_it_started(call, tmp_path):
    body = f"""
import subprocess, time
def grade():
    child = subprocess.Popen(["sleep", "1000"])
    open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
    print("working", flush=True)
    time.sleep(1000)
"""
    with pytest.raises(GraderFailedError, match=r"(?s)took more than 1.50 s and was stopped.*working"):
        call(body, seconds=1.5)
    pid = int((tmp_path / "pid").read_text())
    assert wait_until(lambda: not alive(pid))


def test_silence_can_be_the_limit(call):
    body = "import time\ndef grade():\n    time.sleep(1000)"
    with pytest.raises(GraderFailedError, match=r"said nothing for 0.30 s"):
        call(body, silence=0.3)


def test_it_asks_nothing_and_sees_no_key(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    environment = call("import os\ndef grade():\n    return dict(os.environ)")
    assert (
        "OPENAI_API_KEY" not in environment and "PYTHONPATH" not in environment and "HOME" not in environment
    )
    with pytest.raises(GraderFailedError, match="EOFError"):
        call("def grade():\n    return input('Press any key')")


def test_nothing_is_written_beside_the_script(call, tmp_path):
    (tmp_path / "neighbour.py").write_text("")
    call("import neighbour\ndef grade():\n    return 1")
    assert not (tmp_path / "__pycache__").exists()


def test_no_descriptor_is_left_open(call):
    call("def grade(): return 1")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for body in ("def grade(): return 1", "def grade(): return 1 / 0", "import os\ndef grade(): os._exit(1)"):
        try:
            call(body)
        except GraderFailedError:
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_it_ends_when_the_harness_is_killed(interpreter, tmp_path):
    script = tmp_path / "prepare.py"
    script.write_text(
        "import os, time\ndef prepare(out):\n"
        "    part = out.with_name('part'); part.write_text(str(os.getpid())); part.rename(out)\n"
        "    time.sleep(1000)\n"
    )
    out = tmp_path / "pid"
    code = f"""
from pathlib import Path
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task import worker
worker.call(Path({str(script)!r}), "prepare", {{"out": Path({str(out)!r})}},
            Interpreter(Path({str(interpreter.python)!r}), ()), seconds=1000)
"""
    harness = subprocess.Popen([sys.executable, "-c", code])
    assert wait_until(out.exists)
    pid = int(out.read_text())
    assert alive(pid)
    harness.kill()
    harness.wait()
    assert wait_until(lambda: not alive(pid))


@pytest.mark.parametrize("said", [b"", b'{"script": "gra'])
def test_a_worker_whose_harness_dies_before_it_says_what_to_do_ends(said: bytes) -> None:
    bootstrap = Path(worker.__file__).with_name("_bootstrap.py")
    done = subprocess.run(
        [sys.executable, "-I", str(bootstrap)], input=said, capture_output=True, timeout=600
    )
    assert done.returncode == 1 and b"before it said what to do" in done.stderr
