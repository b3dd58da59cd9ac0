"""The command as a whole: quick to start, and helpful about mistakes."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import mlagentbench
from mlagentbench.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]


def modules_after(code: str) -> set[str]:
    """What is imported once `code` has run in a new interpreter, beyond what Python itself imports."""
    script = (
        f"import sys; before = set(sys.modules)\n{code}\nprint('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_bare_help_imports_click_and_a_handful_of_ours_and_nothing_heavy():
    code = (
        "import contextlib, io\nfrom mlagentbench.cli.main import cli\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n    cli.main(['--help'], standalone_mode=False)"
    )
    loaded = modules_after(code)
    ours = {name for name in loaded if name.startswith("mlagentbench")}
    assert ours == {
        "mlagentbench",
        "mlagentbench._lazy",
        "mlagentbench.cli",
        "mlagentbench.cli.main",
        "mlagentbench.errors",
        "mlagentbench.version",
    }
    outside = {name.partition(".")[0] for name in loaded - ours} - sys.stdlib_module_names
    assert outside == {"click"}
    assert not loaded & {"asyncio", "email", "http", "importlib.metadata", "unittest", "urllib.request"}


def test_importing_the_package_imports_nothing_but_the_package():
    assert {name for name in modules_after("import mlagentbench") if "mlagentbench" in name} == {
        "mlagentbench",
        "mlagentbench._lazy",
        "mlagentbench.version",
    }


def test_the_version_is_that_of_the_project():
    assert (
        mlagentbench.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    )


@pytest.mark.parametrize("name", sorted(set(mlagentbench.__all__)))
def test_every_public_name_is_there_and_says_what_it_is(name):
    found = getattr(mlagentbench, name)
    assert name == "__version__" or (callable(found) and found.__doc__)


def test_every_verb_is_a_function_too():
    verbs = COMMANDS.keys() - {"model"}  # a noun with verbs of its own, and a part of the package
    words = {"import": "import_runs"}  # a function cannot be called as a word of the language
    assert {words.get(name, name.replace("-", "_")) for name in verbs} <= set(mlagentbench.__all__)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_verb_has_a_module_help_and_json(name):
    command = importlib.import_module(f"mlagentbench.cli.commands.{name.replace('-', '_')}").command
    assert isinstance(command, click.Command) and command.name == name
    assert command.help and command.help.splitlines()[0] == COMMANDS[name]
    assert "--json" in {flag for parameter in command.params for flag in parameter.opts}
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, f"{parameter.name} has no help"


def test_every_option_has_one_environment_variable_of_its_name():
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.envvar:
                long = next(flag for flag in parameter.opts if flag.startswith("--"))
                assert parameter.envvar == "MLAGENTBENCH_" + long[2:].replace("-", "_").upper()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["runn"], "Did you mean 'run'?"),
        (["list", "--rnus"], "--runs"),
        (["run", "hous-price"], "Did you mean house-price?"),
        (["run", "house-price", "-a", "orcale"], "Did you mean 'oracle'?"),
        (["run", "house-price", "--sandbox", "bwarp"], "Did you mean bwrap?"),
        (["run", "house-price", "--memory", "lots"], "write it like 512MB"),
        (["run", "house-price", "--show-action", "Run Comand"], "Did you mean 'Run Command'?"),
        (["run"], "Name one task"),
        (["run", "house-price", "-c", "nothing.toml"], "neither KEY=VALUE nor a file"),
        (["show", "last"], "mlagentbench"),
        (["prepare"], "--all"),
    ],
)
def test_wrong_use_is_answered_with_the_right_one_and_status_2(place, arguments, hint):
    done = place(*arguments, status=2)
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_settings_come_from_files_and_pairs_and_the_later_ones_win(tmp_path):
    from mlagentbench.cli.options import read_settings

    (tmp_path / "a.toml").write_text('depth = 1\nname = "x"\n')
    (tmp_path / "b.json").write_text('{"depth": 2}')
    given = [
        str(tmp_path / "a.toml"),
        str(tmp_path / "b.json"),
        "rate=0.5",
        "name=a=b",
        "on=true",
        "text=1 2",
    ]
    assert read_settings(given) == {"depth": 2, "name": "a=b", "rate": 0.5, "on": True, "text": "1 2"}
