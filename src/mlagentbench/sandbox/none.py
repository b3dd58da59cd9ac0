"""No protection at all: a plain process group, with the limits that hold without walls."""

from __future__ import annotations

from pathlib import Path

from mlagentbench.sandbox import view
from mlagentbench.sandbox.launch import CONTROL_VARIABLE, GROUP, SHELL_GATE_EXEC, Channels, Launch
from mlagentbench.sandbox.process import Supervisor
from mlagentbench.sandbox.spec import KEEPS_ALL, Job, OutputSink, Process, Result
from mlagentbench.sandbox.started import Started
from mlagentbench.sandbox.temporary import temporary_folder


class NoSandbox:
    """Programs run as the harness does. Whoever chooses it is warned by the caller."""

    name = "none"
    isolating = False
    own_network = False
    cannot = KEEPS_ALL

    def gaps(self) -> tuple[str, ...]:
        return (
            "Nothing is isolated: programs read and write whatever the user who started this can.",
            "The network is open.",
            "A program that leaves its process group may outlive its step.",
        )

    def workspace_path(self, workspace: Path) -> str:
        return str(workspace)

    def links_read_only(self) -> bool:
        return True

    def run(self, job: Job, on_output: OutputSink, stdin: bytes = b"") -> Result:
        return Supervisor(plan, job, on_output, stdin).run()

    def start(self, job: Job, on_output: OutputSink, *, talks: bool = True) -> Process:
        return Started(plan, job, on_output, talks)

    def check(self) -> None:
        """It always works."""


def plan(job: Job, channels: Channels) -> Launch:
    temporary = channels.later.enter_context(temporary_folder("tmp"))
    environment = view.environment(job, home=str(temporary), temporary=str(temporary))
    descriptors: tuple[int, ...] = ()
    if channels.control is not None:
        environment[CONTROL_VARIABLE] = str(channels.control)
        descriptors = (channels.control,)
    argv = ("/bin/sh", "-c", SHELL_GATE_EXEC, "sh", *job.argv)
    return Launch(
        argv,
        environment,
        GROUP,
        descriptors,
        folder=job.workspace,
        counted=(temporary,),
        reports=False,
        tells_signals_as_status=False,
    )
