"""What bubblewrap and the launcher of namespaces show and cover, and the flags that they are started with."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import INTERPRETER, LIMITS, python, run

from mlagentbench.errors import SandboxError, SandboxUnavailableError
from mlagentbench.sandbox import Interpreter, Job, Mount, Sandbox, bwrap, choose, view
from mlagentbench.sandbox.launch import Channels


@pytest.fixture(params=["bwrap", "namespaces"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return choose(request.param)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def flags(job: Job) -> list[str]:
    with (channels := Channels(status=2, control=None)).stack, channels.later:
        return list(bwrap.plan(bwrap.executable(), job, channels).argv)


def job_in(folder: Path) -> Job:
    return Job(("true",), folder, LIMITS)


def test_read_only_files_and_folders_cover_their_places(sandbox: Sandbox, tmp_path: Path):
    workspace, public = tmp_path / "workspace", tmp_path / "public"
    workspace.mkdir()
    public.mkdir()
    (public / "train.csv").write_text("rows")
    job = python(
        "print(open('data/deep/train.csv').read(), open('one.csv').read()); open('one.csv', 'w')",
        workspace,
        read_only={"data/deep": public, "one.csv": public / "train.csv"},
    )
    ran = run(sandbox, job)
    assert "rows rows\n" in ran.output
    assert "Read-only file system" in ran.output
    assert (workspace / "one.csv").read_text() == ""


def test_a_read_only_place_that_was_replaced_by_a_link_is_refused(tmp_path: Path):
    (tmp_path / "data").symlink_to("/etc")
    with pytest.raises(SandboxError, match="is a link"):
        flags(replace(job_in(tmp_path), read_only={"data/passwd": Path("/etc/passwd")}))


@pytest.mark.parametrize("place", ["../out", "/abs", "a/../../b", ""])
def test_a_read_only_place_outside_of_the_workspace_is_refused(tmp_path: Path, place: str):
    with pytest.raises(SandboxError, match="inside of the workspace"):
        flags(replace(job_in(tmp_path), read_only={place: Path("/etc/passwd")}))


def test_hidden_folders_are_empty_and_hidden_files_closed_inside_whatever_shows_them(
    sandbox: Sandbox, tmp_path: Path
):
    workspace, root = tmp_path / "workspace", tmp_path / "root"
    for folder in (workspace / "inner", root / "package"):
        folder.mkdir(parents=True)
        (folder / "secret").write_text("hidden")
    (root / "seen").write_text("shown")
    (root / "file").write_text("hidden")
    code = f"""
import os
print(os.listdir({str(root / "package")!r}), os.listdir("inner"), open({str(root / "seen")!r}).read())
print(open({str(root / "file")!r}).read())
"""
    interpreter = Interpreter(INTERPRETER.python, (*INTERPRETER.roots, root))
    hidden = (root / "package", workspace / "inner", root / "file", tmp_path / "missing")
    ran = run(sandbox, python(code, workspace, interpreter=interpreter, hidden=hidden))
    assert "[] [] shown\n" in ran.output
    assert "Permission denied" in ran.output


def test_hidden_folder_is_found_through_links_to_what_shows_it(sandbox: Sandbox, tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    real = tmp_path / "real"
    (real / "private").mkdir(parents=True)
    (real / "private" / "secret").write_text("hidden")
    (tmp_path / "link").symlink_to(real)
    job = python(
        "import os; print(os.listdir('/shown/private'))",
        workspace,
        mounts=(Mount(tmp_path / "link", "/shown"),),
        hidden=(tmp_path / "link" / "private",),
    )
    assert run(sandbox, job).output == "[]\n"


def test_mounts_are_seen_at_their_targets_and_written_only_where_allowed(sandbox: Sandbox, tmp_path: Path):
    for name in ("workspace", "in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "x").write_text("input")
    job = python(
        "open('/out/y', 'w').write(open('/in/x').read()); open('/in/z', 'w')",
        tmp_path / "workspace",
        mounts=(Mount(tmp_path / "in", "/in"), Mount(tmp_path / "out", "/out", writable=True)),
    )
    assert "Read-only" in run(sandbox, job).output
    assert (tmp_path / "out" / "y").read_text() == "input"


def test_only_workspace_and_temporary_folders_can_be_written(sandbox: Sandbox, tmp_path: Path):
    code = """
import os
for place in ("/", "/usr", "/etc", "/dev", "/proc", "/run", "/workspace", "/tmp", "/dev/shm", os.path.expanduser("~")):
    try:
        open(place + "/probe", "w").close(); print(place)
    except OSError:
        pass
"""
    assert run(sandbox, python(code, tmp_path)).output.split() == [
        "/workspace",
        "/tmp",
        "/dev/shm",
        "/tmp/home",
    ]


def test_the_first_process_shows_no_environment_of_the_harness(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    assert "SECRET" not in run(sandbox, python("print(open('/proc/1/environ').read())", tmp_path)).output


def test_identity_is_the_same_on_every_machine(sandbox: Sandbox, tmp_path: Path):
    code = (
        "import getpass, os, socket; print(os.getuid(), getpass.getuser(), socket.gethostname(), os.getcwd())"
    )
    assert run(sandbox, python(code, tmp_path)).output == "1000 agent sandbox /workspace\n"


def test_shared_memory_and_worker_processes_work(sandbox: Sandbox, tmp_path: Path):
    code = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory
with ProcessPoolExecutor(2) as pool:
    print(sum(pool.map(abs, range(-4, 0))))
block = shared_memory.SharedMemory(create=True, size=100); block.unlink()
with multiprocessing.Manager() as manager:
    print(manager.list([1, 2]))
"""
    ran = run(sandbox, python(code, tmp_path))
    assert ran.output == "10\n[1, 2]\n", ran


def test_network_is_shared_only_when_asked_for(tmp_path: Path):
    assert "--unshare-net" in flags(job_in(tmp_path))
    shared = flags(replace(job_in(tmp_path), network=True))
    assert "--unshare-net" not in shared
    assert "/etc/hosts" in shared


def test_gpus_are_passed_by_their_nodes(tmp_path: Path):
    argv = flags(replace(job_in(tmp_path), devices=("0", "2")))
    bound = {argv[at + 1] for at, flag in enumerate(argv) if flag == "--dev-bind-try"}
    assert {"/dev/nvidia0", "/dev/nvidia2", "/dev/nvidiactl", "/dev/nvidia-uvm"} <= bound
    assert "/dev/nvidia1" not in bound
    assert argv.index("--dev-bind-try") < argv.index("--remount-ro")
    assert "--dev-bind-try" not in flags(job_in(tmp_path))


def test_capabilities_and_namespaces_are_spelled_out(tmp_path: Path):
    argv = flags(job_in(tmp_path))
    for flag in (
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--die-with-parent",
        "--new-session",
    ):
        assert flag in argv
    assert argv[argv.index("--cap-drop") + 1] == "ALL"
    assert "--unshare-all" not in argv


def test_interpreter_below_a_closed_home_works(sandbox: Sandbox, tmp_path: Path):
    ran = run(sandbox, python("import sys; print(sys.base_prefix)", tmp_path))
    assert ran.output.strip() == sys.base_prefix


def test_roots_inside_one_another_are_shown_once():
    roots = (Path("/opt/base/lib"), Path("/opt/base"), Path("/usr/lib/python3"))
    assert view.interpreter_roots(Interpreter(Path("/opt/base/bin/python"), roots)) == (Path("/opt/base"),)


def test_a_program_that_only_pretends_to_be_bubblewrap_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho bwrap tutorial 1.0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    bwrap.executable.cache_clear()
    try:
        with pytest.raises(SandboxUnavailableError, match="is not bubblewrap"):
            bwrap.executable()
    finally:
        monkeypatch.undo()
        bwrap.executable.cache_clear()


def test_failure_of_bubblewrap_itself_is_not_taken_for_the_programs(sandbox: Sandbox, tmp_path: Path):
    job = replace(python("pass", tmp_path), mounts=(Mount(tmp_path / "missing", "/x"),))
    with pytest.raises(SandboxError, match="could not be set up"):
        run(sandbox, job)
