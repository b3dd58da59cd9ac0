"""What a run of the original benchmark is called here: its task, agent, models and actions."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.environment.limits import run_limits
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.record.importing import Words
from mlagentbench.record.original.run import OldRun
from mlagentbench.record.request import Host, Imported, RunRequest
from mlagentbench.task.definition import Limits, Task
from mlagentbench.task.preparation import Prepared, choose_variant, find_prepared
from mlagentbench.task.registry import in_suite, list_tasks, load_task
from mlagentbench.version import __version__

_AGENTS = {
    "Agent": "starter",
    "SimpleActionAgent": "act",
    "ReasoningActionAgent": "react",
    "ResearchAgent": "research",
    "LangChainAgent": "langchain",
    "AutoGPTAgent": "autogpt",
}
_PROVIDERS = (("claude", "anthropic"), ("gpt", "openai"), ("text-davinci", "openai"), ("gemini", "google"))
_TASKS = {
    "kaggle-training-reg": "house-price",
    "kaggle-training-class": "spaceship-titanic",
    "speed-up": "llama-inference",
    "vectorisation": "vectorization",
    "amp-parkinsons-disease-progression-prediction": "parkinsons-disease",
}
"""What tasks were called in logs of the original, and what they are called here."""
WITH_LOG = "research-log"
"""What the published agent with its research log is called, as in the experiments that come with this project."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._@:-]+")
_LONGEST_NAME = 80
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Placement:
    """Where a run belongs, what it is graded with, and how its words are ours."""

    request: RunRequest
    words: Words
    prepared: Prepared | None
    not_gradable: str
    """Why there is nothing to grade it with; a sentence without its first capital."""
    missing: tuple[str, ...]


def place_run(
    run: OldRun,
    *,
    task: str | Path | None = None,
    variant: str | None = None,
    agent: str | None = None,
    model: str | None = None,
) -> Placement:
    flags, now = run.told.flags, time.time()
    called = _text(flags, "task")
    loaded = load_task(task) if task is not None else _task_of(run.path, called)
    prepared, reason, variant = _data(loaded, variant, called)
    steps, seconds = _count(flags, "max_steps"), _count(flags, "max_time")
    limits = run_limits(loaded.definition.limits if loaded else Limits(), {"steps": steps, "time": seconds})
    named = run.models
    act = model or model_name(_text(flags, "llm_name") or named.get("act", ""))
    edit = model_name(_text(flags, "edit_script_llm_name"))
    fast = model_name(_text(flags, "fast_llm_name") or named.get("fast", ""))
    kind = _text(flags, "agent_type")
    who = agent or _AGENTS.get(kind) or safe_name(kind) or UNKNOWN
    retrieval = who == "research" and flags.get("retrieval") is True
    missing = []
    if who == UNKNOWN:
        missing.append("Which agent it was is not known; say so with --agent.")
    if not act and who != "starter":
        missing.append("Which model decided is not known; say so with --model.")
    request = RunRequest(
        id=time.strftime("%Y%m%d-%H%M%S-", time.gmtime(run.started)) + run.fingerprint()[:10],
        created=run.started,
        version=__version__,
        task=loaded.id if loaded else f"{safe_name(called) or UNKNOWN}@0",
        task_folder=str(loaded.folder.absolute()) if loaded and not in_suite(loaded) else "",
        variant=variant,
        data_seed=prepared.seed if prepared else 0,
        data_digest=prepared.digest if prepared else "",
        agent=who,
        label=WITH_LOG if retrieval else "",
        settings={"retrieval": True} if retrieval else {},
        model=act if who != "starter" else "",
        edit_model=edit if edit != act else "",
        fast_model=fast if fast != act else "",
        seed=0,
        sandbox="auto",
        network=True,
        actions=tuple(map(action_name, run.trace.actions)),
        limits=limits,
        host=Host(system=UNKNOWN, machine=UNKNOWN, cores=0, memory=0, python=""),
        imported=Imported(
            source=_readable(str(run.path)), time=now, task=called, unknown=_unknown(run), flags=flags
        ),
    )
    words = Words(
        imported=now,
        action=action_name,
        model=model_name,
        models={"act": act, "edit": edit or act, "fast": fast or act},
        steps_limit=steps,
        time_limit=seconds,
        most_tries=_count(flags, "max_retries") or 5,
    )
    return Placement(request, words, prepared, reason, tuple(missing))


def _task_of(path: Path, called: str) -> Task | None:
    """The task that the run's flags name; else the one that a folder on its path is called by."""
    known = list_tasks()
    names = [called] if called else [*reversed(path.parts)]
    return next((task for name in names for task in known if _is_called(task, name)), None)


def _is_called(task: Task, name: str) -> bool:
    """By its own name, perhaps with more after a dash, or by that of the competition that its data come from."""
    asked, own = _plain(name), _plain(task.name)
    sources = {
        _plain(source.name)
        for variant in task.definition.variants.values()
        for source in variant.sources
        if isinstance(getattr(source, "name", None), str)
    }
    return _TASKS.get(asked, asked) == own or asked.startswith(f"{own}-") or asked in sources


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _data(task: Task | None, variant: str | None, called: str) -> tuple[Prepared | None, str, str]:
    """The data to grade with if they are here, else why not; and their variant."""
    if task is None:
        what = f"{called!r} is no task of ours" if called else "nothing tells which task it was"
        return None, f"{what}. Name one, or the original's own task folder, with --task.", variant or UNKNOWN
    variant = choose_variant(task, variant or ("full" if "full" in task.definition.variants else None))
    try:
        prepared = find_prepared(task, variant)
    except MLAgentBenchError as error:
        return None, f"the data of {task.id} ({variant}) cannot be had: {error}", variant
    if prepared is not None:
        return prepared, "", variant
    name = task.name if in_suite(task) else task.folder
    return (
        None,
        (
            f"the data of {task.id} ({variant}) are not prepared here. "
            f"`mlagentbench prepare {name} --variant {variant}`, then `mlagentbench grade` the run."
        ),
        variant,
    )


def _unknown(run: OldRun) -> tuple[Any, ...]:
    unknown = ["cost", "execution"]
    if run.told.seconds is None:
        unknown.append("time")
    deciding = any(call.kind == "act" for call in run.calls)
    if not deciding or any(call.tokens is None for call in run.calls):
        unknown.append("tokens")
    return tuple(sorted(unknown))


def action_name(name: str) -> str:
    """Ours, where one is called so in another spelling; else the name that it has."""
    return _our_actions().get(_squeezed(name), name)


@cache
def _our_actions() -> dict[str, str]:
    return {_squeezed(name): name for name in all_actions()}


def _squeezed(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.strip().lower())


def model_name(name: str) -> str:
    """`provider/name` for a name of the original's.

    >>> model_name("claude-v1")
    'anthropic/claude-v1'
    """
    parts = [safe_name(part) for part in name.split("/")]
    if not name or "/" in name:
        return "/".join(part for part in parts if part)
    provider = next((provider for prefix, provider in _PROVIDERS if name.startswith(prefix)), "original")
    return f"{provider}/{parts[0]}"


def safe_name(name: str) -> str:
    """A name that can stand in a path."""
    return _NOT_IN_NAMES.sub("-", name).strip("-.")[:_LONGEST_NAME]


def _text(flags: dict[str, Any], name: str) -> str:
    value = flags.get(name)
    return value if isinstance(value, str) else ""


def _count(flags: dict[str, Any], name: str) -> int | None:
    value = flags.get(name)
    return value if type(value) is int and value >= 1 else None


def _readable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
