"""A timed program may not hide its work in a child: the time of one that nobody waits for is counted nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import python, run

from mlagentbench.sandbox import choose

HIDES_ITS_WORK = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
reader, writer = os.pipe()
started = time.process_time()
child = {start}
if child == -1:
    raise SystemExit("Operation not permitted")
if child == 0:
    while time.process_time() - started < 0.5:
        pass
    os.write(writer, b"x")
    os._exit(0)
os.read(reader, 1)
print("worked unseen")
"""

WAYS = {
    "fork": "os.fork()",
    "spawn": "bool(os.posix_spawn('/bin/true', ['true'], {})) * 0",
    "clone": "__import__('ctypes').CDLL(None).syscall(56 if os.uname().machine == 'x86_64' else 220, 17, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("backend", ["bwrap", "namespaces", "landlock"])
@pytest.mark.parametrize("way", WAYS)
def test_no_child_can_be_started_to_work_unseen(tmp_path: Path, backend: str, way: str):
    ran = run(choose(backend), python(HIDES_ITS_WORK.format(start=WAYS[way]), tmp_path, one_process=True))
    assert ran.result.cpu_seconds < 0.4 or "worked unseen" not in ran.output
    assert "Operation not permitted" in ran.output


@pytest.mark.parametrize("backend", ["bwrap", "namespaces", "landlock"])
def test_threads_work_and_their_time_is_counted(tmp_path: Path, backend: str):
    code = """
import threading, time
def work():
    started = time.thread_time()
    while time.thread_time() - started < 0.3:
        pass
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("both done")
"""
    ran = run(choose(backend), python(code, tmp_path, one_process=True))
    assert ran.output == "both done\n"
    assert ran.result.cpu_seconds >= 0.6
