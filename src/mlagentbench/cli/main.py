"""The `mlagentbench` command. Its verbs are loaded when they are called, so that `--help` is instant."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

import click

from mlagentbench.errors import MLAgentBenchError

STOPPED = 130
"""The exit status after Ctrl-C or SIGTERM."""
TRACEBACK = "MLAGENTBENCH_TRACEBACK"
"""Set, a fault of the system is shown with where it came from."""
_ADVICE = {
    errno.ENOENT: "Look whether it is spelt right.",
    errno.ENOTDIR: "A file lies where a folder must be: name another place.",
    errno.EISDIR: "It is a folder, and must be a file: name another one.",
    errno.EEXIST: "Something lies there already: move it away, or name another place.",
    errno.EACCES: "Name another place, or have its permissions changed.",
    errno.EPERM: "Name another place, or have its permissions changed.",
    errno.EROFS: "It cannot be written to: name another place.",
    errno.ENOSPC: "Free some of the disk (`mlagentbench gc` helps), or name another place.",
    errno.EDQUOT: "Free some of your part of the disk (`mlagentbench gc` helps), or name another place.",
}
"""What to do next, by what the system said."""

_YES = frozenset({"1", "true", "t", "yes", "y", "on"})

COMMANDS: dict[str, str] = {
    "run": "Let an agent work on a task, watch it, and grade what it leaves.",
    "resume": "Go on with a run that was stopped or killed.",
    "fork": "Try something else from a step of a run.",
    "assist": "Let an agent help you with a project of your own, on a copy of it.",
    "apply": "Bring what a run of `assist` changed into your own folder.",
    "experiment": "Make many runs side by side: tasks, agents, models and seeds.",
    "show": "Read a run, or one step of it with the diff that it made.",
    "annotate": "Correct what is said of a run: its failure mode, and its claims.",
    "compare": "Compare agents over their runs, with intervals.",
    "report": "Write a report of runs: a page, tables, figures.",
    "list": "List the tasks, or the runs.",
    "info": "Tell everything about a task.",
    "prepare": "Make the data of tasks ready.",
    "grade": "Grade runs again, at their end or at any step.",
    "grade-file": "Grade a submission that was made elsewhere.",
    "verify": "Check that runs are what they say: integrity, origin, grade.",
    "trust": "Let runs that were made elsewhere count like your own.",
    "checkout": "Write the files of a run, as they were at a step, into a new folder.",
    "pack": "Put a run with all that it needs into one file.",
    "unpack": "Put a packed run into a folder of runs.",
    "export": "Write runs as other tools read them: Inspect's logs, or tables.",
    "import": "Take in runs of the original benchmark.",
    "gc": "Free what deleted runs left behind.",
    "audit": "Prove that tasks can be solved, score rightly and do not leak.",
    "new-task": "Start a task of your own.",
    "model": "Fetch and serve models that run on this machine, without a key.",
    "doctor": "Tell what works on this machine, and what fixes the rest.",
}
"""Each verb with what it does; `mlagentbench.cli.commands.<verb>` holds its `command`."""


class LazyGroup(click.Group):
    """A group that knows its commands by name, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"mlagentbench.cli.commands.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, 1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}?" if near else "`mlagentbench --help` lists the commands."
            ctx.fail(f"There is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _tell_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from mlagentbench import __version__

        click.echo(f"mlagentbench {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the version.",
)
def cli() -> None:
    """A benchmark in which language agents do machine-learning research.

    Start with `mlagentbench run house-price -a starter`. Each command has --help and --json; an environment
    variable MLAGENTBENCH_MAX_STEPS stands for --max-steps, and so on. MLAGENTBENCH_TRACEBACK=1 shows where a fault of
    the system came from.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """What the installed command calls."""
    _leave_out_what_takes_time()
    signal.signal(signal.SIGTERM, _stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_status(arguments))


def _leave_out_what_takes_time() -> None:
    """A tenth of the time to a run's first step. Loading leaves next to no garbage to collect, and plugins of pydantic
    would be looked for in every package that is installed."""
    gc.set_threshold(200_000)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _status(arguments: Sequence[str] | None) -> int:
    try:
        status = cli.main(arguments, prog_name="mlagentbench", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        _tell_machines(arguments, error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return STOPPED
    except MLAgentBenchError as error:
        return _failed(arguments, str(error), error.exit_status)
    except OSError as error:
        if os.environ.get(TRACEBACK):
            raise
        return _failed(arguments, in_words(error), 1)
    return status if isinstance(status, int) else 0


def _failed(arguments: Sequence[str] | None, sentence: str, status: int) -> int:
    click.echo(f"mlagentbench: {sentence}", err=True)
    _tell_machines(arguments, sentence)
    return status


def _tell_machines(arguments: Sequence[str] | None, sentence: str) -> None:
    """With --json, standard output holds a document whatever happened."""
    given = sys.argv[1:] if arguments is None else arguments
    if "--json" in given or os.environ.get("MLAGENTBENCH_JSON", "").lower() in _YES:
        import json

        click.echo(json.dumps({"error": sentence}, indent=1))


def in_words(error: OSError) -> str:
    """What the system refused, why, and what to do next."""
    reason = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0, f"{TRACEBACK}=1 shows where this came from.")
    if error.filename is None or isinstance(error.filename, int):
        return f"The system refused something: {reason}. {advice}"
    path = Path(os.fsdecode(error.filename))
    if error.errno == errno.ENOENT and not path.parent.is_dir():
        return f"There is no folder {path.parent}. Make it first, or name another place."
    return f"{path} cannot be read or written: {reason}. {advice}"


if __name__ == "__main__":
    main()
