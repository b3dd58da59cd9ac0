"""Options that several commands share. Each is mirrored by an environment variable `MLAGENTBENCH_<NAME>`."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mlagentbench.errors import UsageError
from mlagentbench.units import parse_duration, parse_size

if TYPE_CHECKING:
    from mlagentbench.environment.models import ModelChoice

    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]


class _Units(_Type):
    """A size or a duration as people write it."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


SIZE = _Units("size", parse_size)
DURATION = _Units("duration", parse_duration)


class ActionName(_Type):
    """The name of an action, in any case. In an environment variable, several are set apart by commas."""

    name = "action"
    envvar_list_splitter = ","

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from mlagentbench.environment.actions.registry import all_actions

        names = {name.lower(): name for name in all_actions()}
        asked = str(value).strip().lower()
        if asked in names:
            return names[asked]
        near = get_close_matches(asked, names, 1)
        hint = (
            f"Did you mean {names[near[0]]!r}?" if near else f"The actions are: {', '.join(names.values())}."
        )
        self.fail(f"There is no action {value!r}. {hint}", param, ctx)


def option(*names: str, mirrored: bool = True, **details: Any) -> Decorator[Any]:
    """A click option that an environment variable stands for."""
    long = next(name for name in names if name.startswith("--"))
    if mirrored:
        details["envvar"] = "MLAGENTBENCH_" + long.lstrip("-").split("/")[0].replace("-", "_").upper()
    return click.option(*names, **details)


def combined(*decorators: Decorator[Any]) -> Decorator[Any]:
    """All of them, shown in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = option(
    "--json", "as_json", is_flag=True, help="One JSON document on standard output; words on standard error."
)
folder_option = option(
    "-o", "--folder", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
    help="The folder of runs.",
)  # fmt: skip
key_option = option(
    "--key", help="The key that the data are made with, so that nobody without it can make them."
)
variant_option = option("--variant", help="The size of the data: mini (the default), full, …")
data_seed_option = option(
    "--data-seed", type=int, default=0, show_default=True, help="Another one is a fresh set of data."
)
python_option = option("--python", help="The interpreter for the sandbox, instead of one made for the task.")
sandbox_option = option(
    "--sandbox",
    help="Where agent code runs: auto, bwrap, namespaces, landlock, docker, podman, apptainer;"
    " none gives no protection.",
)
task_of_foreign_option = option(
    "--task", "task", type=click.Path(path_type=Path),
    help="The folder of the task, for runs that were not made here and whose task is not installed.",
)  # fmt: skip
trust_option = option(
    "--trust", is_flag=True, mirrored=False,
    help="Let a run that was not made here decide about this machine. Without it you are told what it would decide.",
)  # fmt: skip
service_network_option = option(
    "--network", type=click.Choice(["on", "off"]), default="off", show_default=True,
    help="For services that a task offers.",
)  # fmt: skip
settings_option = option(
    "-c", "--config", "config", multiple=True, metavar="FILE|KEY=VALUE", mirrored=False,
    help="Settings of the agent: a .toml or .json file, or one setting. Later ones win.",
)  # fmt: skip
interactive_option = option("--interactive", is_flag=True, help="You answer when the agent asks for help.")

agent_options = combined(
    option(
        "--protocol",
        type=click.Choice(["text", "tools", "json", "auto"]),
        help="How the agent speaks with its model.",
    ),
    option("--profile", help="A named set of the agent's settings, like small for small models."),
    option("--retrieval", is_flag=True, help="Keep a research log, and find in it what matters."),
)
program_options = combined(
    option("--command", help="The program that is the agent `command`, as a line for the shell."),
    option(
        "--mount",
        "mounts",
        multiple=True,
        type=click.Path(path_type=Path),
        mirrored=False,
        help="A folder or file that this program may read, like its installation.",
    ),
    option(
        "--env",
        multiple=True,
        metavar="NAME",
        mirrored=False,
        help="A variable that this program gets from your environment or .env; its value is never recorded.",
    ),
)


def take_agent_settings(values: dict[str, Any]) -> dict[str, Any]:
    """Take the settings that have flags of their own out of a command's values."""
    names = ("protocol", "profile", "retrieval", *_OF_PROGRAMS)
    given = {name: values.pop(name, None) for name in names}
    return {name: value for name, value in given.items() if value}


_OF_PROGRAMS = {"command": "--command", "mounts": "--mount", "env": "--env"}


def refuse_for_others(agent: str, settings: dict[str, Any]) -> None:
    """Flags that describe a program are refused where the agent is another one of ours."""
    if agent == "command" or ":" in agent:
        return
    for name, flag in _OF_PROGRAMS.items():
        if name in settings:
            raise UsageError(
                f"{flag} describes a program that is the agent, and this run's agent is {agent!r}. Add `-a command`."
            )


label_option = option(
    "--label", metavar="NAME", help="What tables call the agent with these settings, to tell it from others."
)
model_options = combined(
    option("-m", "--model", help="The model that decides, as provider/name."),
    option("--edit-model", help="The model that edits, if it is another."),
    option("--fast-model", help="The model that reads and sums up, if it is another."),
    option("--base-url", help="Where the model is served, for servers of your own."),
    option(
        "--model-option", "model_options", multiple=True, metavar="KEY=VALUE", mirrored=False,
        help="Passed on to the model's provider, like threads=2 or context=16384 for local models.",
    ),
    option(
        "--price", "prices", multiple=True, metavar="MODEL=IN,OUT[,CACHED]", mirrored=False,
        help="What a model costs, in US dollars for a million tokens.",
    ),
)  # fmt: skip


def take_models(values: dict[str, Any], before: ModelChoice | None = None) -> ModelChoice:
    """Take what was said of models, and of calling them, out of a command's values; the rest is as it was before."""
    from mlagentbench.environment.models import ModelChoice, changed_calls

    models = before or ModelChoice()
    if (act := values.pop("model")) is not None:
        models = models.with_act(act)
    names = {"edit": "edit_model", "fast": "fast_model", "base_url": "base_url"}
    said = {field: value for field, name in names.items() if (value := values.pop(name)) is not None}
    if options := read_settings(values.pop("model_options")):
        said["options"] = options
    said["prices"] = {**models.prices, **_prices(values.pop("prices"))}
    return replace(models, **said, calls=changed_calls(models.calls, take_calls(values)))


def _prices(texts: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    if not texts:
        return {}
    from mlagentbench.model.prices import parse_prices

    return {
        name: (price.input, price.output, *(() if price.cached is None else (price.cached,)))
        for name, price in parse_prices(texts).items()
    }


_CALLS = {
    "model_timeout": "timeout",
    "model_retries": "retries",
    "model_patience": "patience",
    "rpm": "rpm",
    "tpm": "tpm",
    "model_cache": "cache",
}

call_options = combined(
    option("--model-timeout", type=DURATION, help="Time for one reply of a hosted model (10m)."),
    option("--model-retries", type=click.IntRange(0, 1000), help="Requests after one that failed (7)."),
    option("--model-patience", type=DURATION, help="Waiting between the requests for one reply (15m)."),
    option("--rpm", type=click.FloatRange(0, min_open=True), help="Requests a minute of each model."),
    option("--tpm", type=click.FloatRange(0, min_open=True), help="Tokens a minute of each model."),
    option(
        "--model-cache/--no-model-cache", default=None,
        help="Answer what was asked before from disk (off).",
    ),
)  # fmt: skip


def take_calls(values: dict[str, Any]) -> dict[str, Any]:
    """Take what was said of calling models out of a command's values, by the names that the record has for it."""
    given = {field: values.pop(name) for name, field in _CALLS.items()}
    return {field: value for field, value in given.items() if value is not None}


_LIMITS = {
    "max_steps": "steps",
    "max_time": "time",
    "token_limit": "tokens",
    "cost_limit": "cost",
    "execution_time": "execution_time",
    "memory": "memory",
    "processes": "processes",
    "disk": "disk",
    "files": "files",
    "output_limit": "output",
}

limit_options = combined(
    option("--max-steps", type=click.IntRange(1), help="Steps of the run (50)."),
    option("--max-time", type=DURATION, help="Working time of the run, like 5h."),
    option("--token-limit", type=click.IntRange(1), help="Tokens that models may use."),
    option("--cost-limit", type=click.FloatRange(0), help="Dollars that models may cost."),
    option("--execution-time", type=DURATION, help="Time of one execution, like 10m."),
    option("--memory", type=SIZE, help="Memory of one execution, like 4GB."),
    option("--processes", type=click.IntRange(1), help="Processes and threads of one execution."),
    option("--disk", type=SIZE, help="What one execution may write, like 2GB."),
    option("--files", type=click.IntRange(1), help="Files that one execution may make."),
    option("--output-limit", type=SIZE, help="What one execution may print, like 64MB."),
)


def take_limits(values: dict[str, Any]) -> dict[str, Any]:
    """Take the limits that the user gave out of a command's values, by the names that the record has for them."""
    given = {limit: values.pop(name) for name, limit in _LIMITS.items()}
    return {limit: value for limit, value in given.items() if value is not None}


def read_settings(config: Iterable[str]) -> dict[str, Any]:
    """The agent's settings out of files and `key=value` pairs."""
    settings: dict[str, Any] = {}
    for each in config:
        name, equals, value = each.partition("=")
        if equals and name.isidentifier():
            settings[name] = _value(value)
        else:
            settings |= _read_file(Path(each))
    return settings


def _value(text: str) -> Any:
    """Numbers, true, false, null, lists and objects as JSON writes them; everything else is text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _read_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"-c {file}: neither KEY=VALUE nor a file that can be read ({error}).") from None
    except ValueError as error:
        raise UsageError(
            f"-c {file} is not valid {'TOML' if file.suffix == '.toml' else 'JSON'}: {error}."
        ) from None
    if not isinstance(content, dict):
        raise UsageError(f'-c {file} must hold settings by name, as in {{"file": "actions.jsonl"}}.')
    return content


def find_own_agents(agent: str) -> None:
    """Let `module:Class` name a module in the current folder. It is looked for last, so that it hides nothing."""
    here = str(Path.cwd())
    if ":" in agent and here not in sys.path:
        sys.path.append(here)


def ask_person(question: str) -> str:
    """For agents that ask for help in an interactive run."""
    from mlagentbench.cli.screen import cleaned

    click.echo(f"The agent asks: {cleaned(question)}", err=True)
    answer = click.prompt("Your answer", err=True)
    return str(answer)


def warn_of_gaps(sandbox: str | None, network: bool) -> None:
    """Say loudly, once, what stands open."""
    if sandbox == "none":
        click.secho(
            "WARNING: --sandbox none. Code that the agent writes runs as you, with all that you can read and write.",
            fg="yellow", bold=True, err=True,
        )  # fmt: skip
    if network:
        click.secho(
            "WARNING: --network on. The agent can reach the network; it is recorded and shown beside every result.",
            fg="yellow", bold=True, err=True,
        )  # fmt: skip
