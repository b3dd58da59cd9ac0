"""A program that stays: messages, freezing, limits of one call, the harness's death."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import processes_with, python

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import LimitReached, Process, Sandbox, choose, temporary

ECHO = """
import os, sys, threading, time
control = int(os.environ["MLAGENTBENCH_CONTROL_FD"])
def tick():
    while True:
        open("ticks", "a").write("x"); time.sleep(0.005)
threading.Thread(target=tick, daemon=True).start()
for line in sys.stdin:
    if line == "spin\\n":
        while True: pass
    if line == "eat\\n":
        held = [bytearray(b"x" * 10_000_000) for _ in range(100)]
    print("said", line, end="", flush=True)
    os.write(control, line.encode())
"""


@pytest.fixture(params=["bwrap", "namespaces", "landlock", "none"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return choose(request.param)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def start(sandbox: Sandbox, folder: Path, output: bytearray | None = None) -> Process:
    return sandbox.start(python(ECHO, folder), (output if output is not None else bytearray()).extend)


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def test_messages_come_back_after_the_output_before_them(sandbox: Sandbox, tmp_path: Path):
    output = bytearray()
    process = start(sandbox, tmp_path, output)
    for number in range(20):
        process.send(b"%d\n" % number)
        assert process.receive(20) == b"%d" % number
        assert output.endswith(b"said %d\n" % number)
    process.kill()
    assert process.receive(1) is None


def test_nothing_of_it_runs_while_it_is_frozen(sandbox: Sandbox, tmp_path: Path):
    ticks = tmp_path / "ticks"
    ticks.touch()
    process = start(sandbox, tmp_path)
    wait_until(lambda: ticks.stat().st_size > 0)
    process.freeze()
    before = ticks.stat().st_size
    time.sleep(0.2)
    assert ticks.stat().st_size == before
    process.thaw()
    wait_until(lambda: ticks.stat().st_size > before)
    process.send(b"again\n")
    assert process.receive(20) == b"again"
    process.kill()


def test_a_call_that_takes_too_long_ends_it_and_names_the_limit(sandbox: Sandbox, tmp_path: Path):
    process = start(sandbox, tmp_path)
    process.send(b"spin\n")
    assert process.receive(0.5) is None
    limit = process.wait().limit
    assert limit is not None
    assert (limit.name, limit.value) == ("time", 0.5)


def test_memory_limit_holds_while_it_is_thawed(sandbox: Sandbox, tmp_path: Path):
    process = start(sandbox, tmp_path)
    process.send(b"eat\n")
    assert process.receive(20) is None
    limit = process.wait().limit
    assert limit is not None
    assert limit.name == "memory"


def test_ending_by_itself_is_told_with_its_exit_status(sandbox: Sandbox, tmp_path: Path):
    process = sandbox.start(python("raise SystemExit(5)", tmp_path), lambda chunk: None)
    assert process.receive(20) is None
    assert process.wait().exit_status == 5


def test_frozen_program_can_be_killed(sandbox: Sandbox, tmp_path: Path):
    process = start(sandbox, tmp_path)
    process.freeze()
    process.kill()
    assert process.wait().signal == signal.SIGKILL


@pytest.mark.parametrize("frozen", [False, True], ids=["running", "frozen"])
def test_nothing_is_left_when_the_harness_is_killed(sandbox: Sandbox, tmp_path: Path, frozen: bool):
    if sandbox.name == "none":
        pytest.skip("nothing ends it with the harness")
    mark = secrets.token_hex(8)
    harness = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from programs import python
from mlagentbench.sandbox import choose
code = "import os, time; os.fork(); os.fork() or os.setsid(); open(str(os.getpid()), 'w'); time.sleep(60)"
process = choose({sandbox.name!r}).start(python("# {mark}\\n" + code, Path({str(tmp_path)!r})), print)
while len(list(Path({str(tmp_path)!r}).iterdir())) < 4:
    time.sleep(0.01)
if {frozen}:
    process.freeze()
print("started", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", harness], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"started\n"
        assert processes_with(mark)
        os.kill(started.pid, signal.SIGKILL)
    wait_until(lambda: not processes_with(mark))
    temporary.remove_stale.cache_clear()
    temporary.remove_stale(tempfile.gettempdir())
    assert list(Path(tempfile.gettempdir()).glob(f"mlagentbench-*-{started.pid}-*")) == []


def test_one_that_does_not_talk_has_no_input_and_no_channel(sandbox: Sandbox, tmp_path: Path):
    output = bytearray()
    code = "import os, sys; print(repr(sys.stdin.read()), 'MLAGENTBENCH_CONTROL_FD' in os.environ)"
    process = sandbox.start(python(code, tmp_path), output.extend, talks=False)
    wait_until(lambda: process.ended(0.1))
    assert process.wait().exit_status == 0
    assert output == b"'' False\n"


def test_one_that_does_not_talk_can_be_frozen_and_ended_by_a_limit(sandbox: Sandbox, tmp_path: Path):
    ticks = tmp_path / "ticks"
    ticks.touch()
    code = "import time\nwhile True:\n    open('ticks', 'a').write('x'); time.sleep(0.005)"
    process = sandbox.start(python(code, tmp_path), lambda chunk: None, talks=False)
    wait_until(lambda: ticks.stat().st_size > 0)
    process.freeze()
    before = ticks.stat().st_size
    assert not process.ended(0.2)
    assert ticks.stat().st_size == before
    process.thaw()
    wait_until(lambda: ticks.stat().st_size > before)
    process.kill(LimitReached("time", 5))
    assert process.ended(0)
    assert process.wait().limit == LimitReached("time", 5)
