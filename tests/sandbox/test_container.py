"""Container engines: the command lines, and the way through a stand-in for an engine."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import LIMITS, run

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import Interpreter, Job, Mount, Service, choose, container
from mlagentbench.sandbox.container import ContainerSandbox, Engine
from mlagentbench.sandbox.launch import Channels

ENGINES: tuple[Engine, ...] = ("docker", "podman")


def command(engine: Engine, job: Job) -> list[str]:
    with (channels := Channels(status=2, control=None)).stack, channels.later:
        return list(ContainerSandbox(engine).plan(job, channels).argv)


def values(argv: list[str], flag: str) -> list[str]:
    return [argv[at + 1] for at, word in enumerate(argv) if word == flag]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "data").mkdir()
    return Job(
        ("python", "train.py"),
        tmp_path,
        LIMITS,
        interpreter=Interpreter(Path("/opt/python/bin/python"), (Path("/opt/python"),)),
        read_only={"data": Path("/srv/data")},
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_engine_is_told_to_isolate(engine: Engine, job: Job):
    argv = command(engine, job)
    assert argv[:3] == [engine, "run", "--interactive"]
    assert values(argv, "--network") == ["none"]
    assert values(argv, "--cap-drop") == ["ALL"]
    assert values(argv, "--security-opt") == ["no-new-privileges"]
    assert "--read-only" in argv
    assert values(argv, "--memory") == values(argv, "--memory-swap") == [str(LIMITS.memory)]
    assert int(values(argv, "--pids-limit")[0]) >= LIMITS.processes
    assert values(argv, "--tmpfs")[0].startswith("/tmp:")


@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_workspace_is_writable(engine: Engine, job: Job):
    mounts = values(command(engine, job), "--mount")
    writable = [mount for mount in mounts if not mount.endswith(",readonly")]
    assert writable == [f"type=bind,src={job.workspace},dst=/workspace"]
    assert "type=bind,src=/srv/data,dst=/workspace/data,readonly" in mounts
    assert "type=bind,src=/opt/python,dst=/opt/python,readonly" in mounts


def test_environment_is_what_the_job_says_and_not_the_harnesses(job: Job, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    argv = command("docker", replace(job, environment={"SEED": "1"}))
    assert "SEED=1" in values(argv, "--env")
    assert not [word for word in argv if "hidden" in word]


@pytest.mark.parametrize("engine", ["docker", "podman", "apptainer"])
def test_a_secret_reaches_the_engine_by_its_environment_and_stands_on_no_command_line(
    engine: Engine, job: Job
):
    secret = replace(job, environment={"MY_KEY": "hidden"}, secret=frozenset({"MY_KEY"}))
    with (channels := Channels(status=2, control=None)).stack, channels.later:
        launch = ContainerSandbox(engine).plan(secret, channels)
    assert not [word for word in launch.argv if "hidden" in word]
    assert "hidden" in launch.environment.values()


def test_network_devices_and_cores_when_asked_for(job: Job):
    argv = command("docker", replace(job, network=True, devices=("0", "1"), cores=(2, 3)))
    assert values(argv, "--network") == ["host"]
    assert values(argv, "--gpus") == ['"device=0,1"']
    assert values(argv, "--cpuset-cpus") == ["2,3"]
    assert values(command("docker", replace(job, devices=("all",))), "--gpus") == ["all"]


def test_hidden_folders_are_covered(job: Job, tmp_path: Path):
    shown = tmp_path / "shown"
    (shown / "private").mkdir(parents=True)
    covered = replace(job, mounts=(Mount(shown, "/shown"),), hidden=(shown / "private",))
    assert "/shown/private:ro,size=4k" in values(command("docker", covered), "--tmpfs")


def test_services_come_through_a_socket_that_is_mounted(job: Job):
    argv = command("docker", replace(job, services=(Service(8000, "127.0.0.1", 9),)))
    assert any("dst=/run/mlagentbench/sockets" in mount for mount in values(argv, "--mount"))
    assert "/run/mlagentbench/relay.py" in argv


def test_apptainer_is_told_the_same(job: Job):
    argv = command("apptainer", job)
    for flag in ("--containall", "--no-home", "--cleanenv", "--no-privs"):
        assert flag in argv
    assert values(argv, "--network") == ["none"]
    assert f"{job.workspace}:/workspace:rw" in values(argv, "--bind")
    assert "/srv/data:/workspace/data:ro" in values(argv, "--bind")
    assert "--network" not in command("apptainer", replace(job, network=True))


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine that runs what it is given as it is, and notes what it was asked."""
    folder = tmp_path / "engine"
    folder.mkdir()
    script = folder / "podman"
    script.write_text(f"""#!{sys.executable}
import os, sys
open({str(folder / "asked")!r}, "a").write(sys.argv[1] + "\\n")
if sys.argv[1] == "run":
    words = sys.argv
    environment = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--env")
    mounts = [words[at + 1] for at, word in enumerate(words) if word == "--mount"]
    command = words[words.index("--entrypoint") + 3:]
    for mount in (mount for mount in mounts if "dst=/run/mlagentbench-control" in mount):
        source = dict(pair.split("=") for pair in mount.split(",") if "=" in pair)["src"]
        command = [word.replace("/run/mlagentbench-control", source) for word in command]
    os.execve("/bin/sh", ["sh", *command], environment)
if sys.argv[1] == "inspect":
    print("false")
""")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "asked"


def test_a_program_runs_through_an_engine_and_the_container_is_removed(stand_in: Path, tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    ran = run(choose("podman"), Job(("sh", "-c", "cat; exit 3"), workspace, LIMITS), b"through")
    assert (ran.output, ran.result.exit_status) == ("through", 3)
    assert stand_in.read_text().split() == ["info", "run", "kill", "inspect", "rm"]


def test_a_program_that_stays_talks_through_a_named_pipe(stand_in: Path, tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = 'while read line; do echo "back $line" >&$MLAGENTBENCH_CONTROL_FD; done'
    process = ContainerSandbox("podman").start(
        Job(("sh", "-c", program), workspace, LIMITS), lambda chunk: None
    )
    process.send(b"one\n")
    assert process.receive(10) == b"back one"
    process.freeze()
    process.thaw()
    process.send(b"two\n")
    assert process.receive(10) == b"back two"
    process.kill()
    process.wait()
    asked = stand_in.read_text().split()
    assert asked.index("pause") < asked.index("unpause") < asked.index("kill") < asked.index("rm")


def test_an_engine_that_does_not_answer_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "apptainer").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (tmp_path / "apptainer").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    container._failure.cache_clear()
    with pytest.raises(SandboxUnavailableError, match="broken"):
        choose("apptainer")
    container._failure.cache_clear()
