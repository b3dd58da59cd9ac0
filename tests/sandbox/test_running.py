"""One program in each backend that works here: its output, its end, its limits."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from programs import LIMITS, processes_with, python, run

from mlagentbench.errors import SandboxError, SandboxUnavailableError
from mlagentbench.sandbox import Job, Mount, Sandbox, choose


@pytest.fixture(params=["bwrap", "namespaces", "landlock", "none"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return choose(request.param)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def test_output_and_errors_come_in_the_order_in_which_they_were_written(sandbox: Sandbox, tmp_path: Path):
    code = "import os\nfor n in range(50): os.write(1 + n % 2, b'%d ' % n)"
    assert run(sandbox, python(code, tmp_path)).output == "".join(f"{n} " for n in range(50))


def test_exit_status_is_told(sandbox: Sandbox, tmp_path: Path):
    result = run(sandbox, python("raise SystemExit(7)", tmp_path)).result
    assert (result.exit_status, result.signal, result.limit) == (7, None, None)


def test_signal_that_ended_it_is_told_and_nothing_is_added_to_the_output(sandbox: Sandbox, tmp_path: Path):
    ran = run(sandbox, python("import os; os.kill(os.getpid(), 11)", tmp_path))
    assert (ran.result.exit_status, ran.result.signal) == (None, signal.SIGSEGV)
    assert ran.output == ""


def test_missing_program_is_the_programs_failure_and_not_the_sandboxes(sandbox: Sandbox, tmp_path: Path):
    ran = run(sandbox, Job(("no-such-program",), tmp_path, LIMITS))
    assert ran.result.exit_status == 127
    assert "no-such-program" in ran.output


def test_arguments_arrive_as_they_are(sandbox: Sandbox, tmp_path: Path):
    job = python("import sys; print(sys.argv[1:])", tmp_path)
    given = ("a b", "'", '"', "$HOME", "*", "\n", "-c", "")
    assert run(sandbox, replace(job, argv=(*job.argv, *given))).output == f"{list(given)}\n"


def test_large_standard_input_arrives_whole(sandbox: Sandbox, tmp_path: Path):
    sent = secrets.token_bytes(700_000)
    ran = run(
        sandbox,
        python("import sys; print(hash(sys.stdin.buffer.read()) and 'x', flush=True)", tmp_path),
        sent,
    )
    assert ran.output == "x\n"
    code = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    assert run(sandbox, python(code, tmp_path), sent).output.strip() == hashlib.sha256(sent).hexdigest()


def test_standard_input_is_empty_by_default(sandbox: Sandbox, tmp_path: Path):
    assert run(sandbox, python("input()", tmp_path)).result.exit_status == 1


def test_a_program_that_reads_no_input_does_not_block_the_harness(sandbox: Sandbox, tmp_path: Path):
    assert run(sandbox, python("print('done')", tmp_path), b"x" * 1_000_000).output == "done\n"


def test_progress_bars_without_a_newline_do_not_block(sandbox: Sandbox, tmp_path: Path):
    code = "import sys\nfor n in range(20000): sys.stderr.write(f'\\r{n:6d} steps')"
    ran = run(sandbox, python(code, tmp_path))
    assert ran.result.exit_status == 0
    assert ran.output.endswith(" 19999 steps")


def test_output_is_streamed_while_it_runs(sandbox: Sandbox, tmp_path: Path):
    arrived: list[float] = []
    code = "import time\nprint('first', flush=True); time.sleep(0.5); print('second', flush=True)"
    sandbox.run(python(code, tmp_path), lambda chunk: arrived.append(time.monotonic()))
    assert arrived[-1] - arrived[0] > 0.3


def test_environment_is_built_from_nothing(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    job = python("import os; print(sorted(os.environ))", tmp_path, environment={"GIVEN": "1"})
    allowed = {
        "GIVEN",
        "HOME",
        "LANG",
        "LC_CTYPE",
        "OLDPWD",
        "PATH",
        "PWD",
        "PYTHONDONTWRITEBYTECODE",
        "_",
        "SHLVL",
    }
    allowed |= {"PYTHONUNBUFFERED", "TMPDIR"}
    if sandbox.name == "landlock":
        allowed |= {"GIT_CONFIG_NOSYSTEM", "PIP_CONFIG_FILE"}
    assert set(eval(run(sandbox, job).output)) <= allowed


def test_working_folder_is_the_workspace_and_what_is_written_stays(sandbox: Sandbox, tmp_path: Path):
    ran = run(sandbox, python("import os; open('kept', 'w').write('yes'); print(os.getcwd())", tmp_path))
    assert ran.output.strip() == sandbox.workspace_path(tmp_path)
    assert (tmp_path / "kept").read_text() == "yes"


def test_interpreter_is_first_in_the_path(sandbox: Sandbox, tmp_path: Path):
    job = python("import shutil; print(shutil.which('python3'))", tmp_path)
    assert run(sandbox, job).output.strip() == str(Path(sys.base_prefix, "bin", "python3"))


def test_home_and_temporary_folder_can_be_written_and_are_gone_afterwards(sandbox: Sandbox, tmp_path: Path):
    code = "import os, tempfile; open(os.path.expanduser('~/x'), 'w').close(); print(tempfile.mkstemp()[1])"
    ran = run(sandbox, python(code, tmp_path))
    assert ran.result.exit_status == 0, ran.output
    assert not Path(ran.output.strip()).exists()


def test_processor_time_counts_children_and_those_that_were_killed(sandbox: Sandbox, tmp_path: Path):
    spin = (
        "import os, time\nos.fork()\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    )
    assert run(sandbox, python(spin + "time.sleep(0.2)", tmp_path)).result.cpu_seconds > 0.45
    stopped = run(sandbox, python(spin + "time.sleep(20)", tmp_path, seconds=3)).result
    assert stopped.limit is not None
    assert stopped.cpu_seconds > 0.45


def test_peak_memory_is_the_programs_and_not_the_harnesses(sandbox: Sandbox, tmp_path: Path):
    ballast = bytearray(b"x" * 150_000_000)
    small = run(sandbox, python("pass", tmp_path)).result.peak_memory
    large = run(
        sandbox, python("import time; x = bytearray(b'x') * 120_000_000; time.sleep(0.1)", tmp_path)
    ).result
    assert small < 60_000_000 < 110_000_000 < large.peak_memory < 200_000_000
    assert len(ballast) == 150_000_000


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("time", 0.4, "while True: pass"),
        ("memory", 100_000_000, "x = [bytearray(b'x' * 10_000_000) for _ in range(100)]"),
        (
            "processes",
            10,
            "import threading, time\nfor _ in range(40): threading.Thread(target=time.sleep, args=(9,)).start()",
        ),
        ("disk", 20_000_000, "for n in range(200): open(f'{n}', 'wb').write(bytes(1_000_000))"),
        ("files", 300, "import time\nfor n in range(2000): open(f'{n}', 'wb').close()\ntime.sleep(5)"),
        ("output", 50_000, "while True: print('x' * 1000)"),
    ],
)
def test_each_limit_stops_it_and_is_named(
    sandbox: Sandbox, tmp_path: Path, name: str, value: float, code: str
):
    field = {"time": "seconds"}.get(name, name)
    result = run(sandbox, python(code, tmp_path, **{field: value})).result
    assert result.limit is not None
    assert (result.limit.name, result.limit.value) == (name, value)
    assert result.limit.sentence().startswith("It was stopped: it ")


def test_output_beyond_its_limit_is_not_delivered(sandbox: Sandbox, tmp_path: Path):
    ran = run(sandbox, python("while True: print('x' * 999)", tmp_path, output=10_000))
    assert len(ran.output) == 10_000


def test_a_daemon_is_gone_when_the_call_returns(sandbox: Sandbox, tmp_path: Path):
    if sandbox.name == "none":
        pytest.skip("nothing holds a process that leaves its group")
    mark = secrets.token_hex(8)
    code = (
        f"import os, subprocess\nif os.fork() == 0:\n os.setsid()\n subprocess.run(['sleep', '30', '{mark}'])"
    )
    run(sandbox, python(code + "\nimport time; time.sleep(0.2)", tmp_path))
    assert processes_with(mark) == []


def test_cores_are_pinned(sandbox: Sandbox, tmp_path: Path):
    core = max(os.sched_getaffinity(0))
    job = python("import os; print(os.sched_getaffinity(0))", tmp_path, cores=(core,))
    assert run(sandbox, job).output == f"{{{core}}}\n"


def test_error_of_the_listener_ends_the_program_and_is_raised(sandbox: Sandbox, tmp_path: Path):
    mark = secrets.token_hex(8)

    def refuse(chunk: bytes) -> None:
        raise LookupError("no room for output")

    with pytest.raises(LookupError):
        sandbox.run(python(f"print('{mark}', flush=True)\nwhile True: pass", tmp_path), refuse)
    assert processes_with(mark) == []


def test_workspace_that_is_not_there_is_an_error_of_ours(sandbox: Sandbox, tmp_path: Path):
    with pytest.raises((SandboxError, FileNotFoundError)):
        run(sandbox, python("pass", tmp_path / "missing"))


def test_no_descriptor_stays_open_in_the_harness(sandbox: Sandbox, tmp_path: Path):
    run(sandbox, python("pass", tmp_path))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        run(sandbox, python("pass", tmp_path))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("disk", 20_000_000, "for n in range(200): open(f'{place}/{n}', 'wb').write(bytes(1_000_000))"),
        (
            "files",
            300,
            "import time\nfor n in range(2000): open(f'{place}/{n}', 'wb').close()\ntime.sleep(5)",
        ),
    ],
)
def test_a_writable_folder_of_the_host_counts_against_the_limits_too(
    sandbox: Sandbox, tmp_path: Path, name: str, value: int, code: str
):
    workspace, outputs = tmp_path / "workspace", tmp_path / "outputs"
    workspace.mkdir()
    outputs.mkdir()
    mount = Mount(outputs, str(outputs), writable=True)
    job = python(f"place = {str(outputs)!r}\n{code}", workspace, mounts=(mount,), **{name: value})
    result = run(sandbox, job).result
    assert result.limit is not None
    assert (result.limit.name, result.limit.value) == (name, value)
