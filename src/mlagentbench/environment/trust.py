"""The border around runs that others made. What a foreign run says about this machine decides nothing here.

`docs/trust.md` has the rule of every command.
"""

from __future__ import annotations

from pathlib import Path

from mlagentbench.environment.limits import run_limits
from mlagentbench.errors import UsageError
from mlagentbench.model.options import CallOptions
from mlagentbench.record.events import RunEnded
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import trust_grades
from mlagentbench.record.request import RunRequest
from mlagentbench.record.signature import End, sign_run
from mlagentbench.task.registry import is_installed, load_task


class ForeignRunError(UsageError):
    """A foreign run was to decide something about this machine."""


def local_request(folder: RunFolder, task: str | Path | None = None) -> RunRequest:
    """What was asked of a run, as far as this machine follows it: all of it for a run of our own, or a trusted one.

    Of a foreign run, what concerns the host is replaced by this machine's defaults: sandbox, network, interpreter,
    limits, models. Its task must be installed here by name, or be given as `task`, since a task's own code runs.
    """
    request = folder.request()
    if folder.origin != "foreign":
        return request
    found = _task(folder, request, task)
    return request.model_copy(
        update={
            "sandbox": "auto",
            "network": False,
            "python": "",
            "task_folder": found if task is not None else "",
            "limits": run_limits(load_task(found).definition.limits),
            "base_url": "",
            "model": "",
            "edit_model": "",
            "fast_model": "",
            "model_options": {},
            "model_calls": CallOptions(),
        }
    )


def _task(folder: RunFolder, request: RunRequest, task: str | Path | None) -> str:
    if task is not None:
        named = load_task(task)
        if named.id != request.task:
            raise UsageError(f"The run is of {request.task}, and the task that you named is {named.id}.")
        return str(named.folder)
    if request.task_folder:
        raise ForeignRunError(
            f"This run was not made here, and its task lies in a folder: {_short(request.task_folder)}. A task's own "
            "code would run. If you have that task and trust it, name its folder with --task."
        )
    if not is_installed(request.task.partition("@")[0]):
        raise ForeignRunError(
            f"This run was not made here, and no task {request.task!r} is installed. If you have that task and trust "
            "it, name its folder with --task."
        )
    return request.task


def taken_over(request: RunRequest) -> list[str]:
    """What a run decides about this machine where it is trusted, a sentence each."""
    folders = request.settings.get("mounts") or ()
    said = {
        "code runs in the sandbox": request.sandbox,
        "programs reach the network": "yes" if request.network else "",
        "the interpreter is": request.python,
        "the task's own code comes from": request.task_folder,
        "the agent is": request.agent,
        "it starts the command": request.settings.get("command"),
        "programs may read": ", ".join(map(str, folders)) if isinstance(folders, list | tuple) else folders,
        "other settings of the agent are": {
            name: value for name, value in request.settings.items() if name not in ("command", "mounts")
        },
        "models are": ", ".join(
            dict.fromkeys(filter(None, (request.model, request.edit_model, request.fast_model)))
        ),
        "models are asked, with your keys, at": request.base_url,
        "the models' provider is told": request.model_options,
        "changes are applied to": request.own.folder if request.own else "",
    }
    return [f"{what} {_short(value)}" for what, value in said.items() if value]


def _short(value: object) -> str:
    text = "".join(char if char.isprintable() else "�" for char in str(value))
    return text if len(text) <= 300 else f"{text[:300]}…"


def demand_own(folder: RunFolder, doing: str, trust: bool = False) -> None:
    """Refuse to let a foreign run decide about this machine; with `trust`, sign it as trusted instead."""
    if folder.origin != "foreign":
        return
    if trust:
        trust_run(folder)
        return
    listed = "\n".join(f"  - {line}" for line in taken_over(folder.request()))
    raise ForeignRunError(
        f"Nothing shows that {folder.path} was made here: it carries no signature of this installation. {doing} it "
        f"would let whoever made it decide about this machine:\n{listed}\n"
        "If you agree with all of that, say --trust. `mlagentbench trust` does the same without doing anything else."
    )


def trust(run: Path | str) -> list[str]:
    """Sign a run that was made elsewhere, given by its folder, as `trust_run` does."""
    return trust_run(RunFolder.open(run))


def trust_run(folder: RunFolder) -> list[str]:
    """Sign a run as it is now: from here on it counts like one of our own. Gives what it decides."""
    request = folder.request()
    history = folder.history()
    over = any(isinstance(event, RunEnded) for event in history.events)
    end = End(head=history.head, events=len(history.events)) if over else None
    folder.lock()
    try:
        sign_run(folder.path, folder.request_bytes(), "trusted", end)
        trust_grades(folder)
    finally:
        folder.unlock()
    return taken_over(request)
