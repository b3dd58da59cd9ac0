"""What cannot be done is answered with a sentence, for people and for machines, and leaves nothing behind."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from mlagentbench.cli.main import TRACEBACK, in_words


@pytest.mark.parametrize(
    ("model", "hint", "status"),
    [
        ("openai/gpt-4.1", "OPENAI_API_KEY", 1),
        ("local/smollm2-135m", "mlagentbench model fetch smollm2-135m", 2),
        ("foo/bar", "There is no provider of models 'foo'", 2),
        ("qwen", "There is no provider of models 'qwen'", 2),
        ("mock/nix.txt", "nix.txt", 2),
        ("replay/nix", "nix is not a run", 1),
    ],
)
def test_a_model_that_cannot_be_had_leaves_no_run(place, tmp_path, model, hint, status):
    place.environment.pop("OPENAI_API_KEY", None)
    place.environment["MLAGENTBENCH_CACHE"] = str(tmp_path / "no-weights-here")
    place.environment["HOME"] = str(tmp_path)
    done = place("run", place.task, "-a", "react", "-m", model, status=status)
    assert hint in done.stderr and "Traceback" not in done.stderr
    assert not (place.folder / "runs").exists()


def test_with_json_an_error_is_a_document_too(place):
    for arguments in (("run", "hous-price"), ("list", "--rnus"), ("show", "last")):
        done = place(*arguments, "--json", status=2)
        told = json.loads(done.stdout)
        assert told.keys() == {"error"} and told["error"].splitlines()[0] in done.stderr
    place.environment["MLAGENTBENCH_JSON"] = "1"
    assert "Did you mean house-price?" in json.loads(place("info", "hous-price", status=2).stdout)["error"]


def test_a_fault_of_the_system_is_one_sentence_and_its_traceback_can_be_had(place):
    (place.folder / "file").write_text("")
    command = ("run", place.task, "-a", "starter", "-o", "file/runs")
    done = place(*command, status=1)
    assert str(place.folder / "file") in done.stderr and "name another place" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert json.loads(place(*command, "--json", status=1).stdout)["error"].endswith("name another place.")
    place.environment[TRACEBACK] = "1"
    assert "Traceback" in place(*command, status=1).stderr


def test_each_fault_says_where_why_and_what_to_do():
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory", Path("/nix/da/x.tar.gz"))
    assert in_words(missing) == "There is no folder /nix/da. Make it first, or name another place."
    missing.filename = "/x.tar.gz"
    assert in_words(missing) == (
        "/x.tar.gz cannot be read or written: No such file or directory. Look whether it is spelt right."
    )
    assert "permissions" in in_words(PermissionError(errno.EACCES, "Permission denied", "/x"))
    assert "Free some of the disk" in in_words(OSError(errno.ENOSPC, "No space left on device"))
    assert TRACEBACK in in_words(ConnectionResetError("gone"))


BROKEN = {
    "crooked": ("def x(:\n", "SyntaxError: .*crooked.py, line 1"),
    "raising": ("x = 1 / 0\n", "ZeroDivisionError: .*raising.py, line 1"),
    "leaving": ("raise SystemExit(3)\n", "SystemExit: 3"),
    "number": ("x = 3\n", "type int: name a class"),
    "wanting": (
        "class x:\n    def __init__(self, much): ...\n    def run(self, env): ...\n",
        "no `Settings`.*much",
    ),
    "idle": ("class x: ...\n", "has no method run"),
    "loose": ("class x:\n    class Settings: ...\n    def run(self, env): ...\n", "pydantic.BaseModel"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_own_agent_that_is_none_is_told_in_a_sentence(name, tmp_path, monkeypatch):
    from mlagentbench.agent.spec import build_agent, needs_model
    from mlagentbench.errors import UsageError

    code, words = BROKEN[name]
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=words):
        build_agent(f"{name}:x", {})
    assert needs_model(f"{name}:x")


def test_a_plan_that_cannot_run_here_ends_with_2_when_it_is_only_looked_at(place):
    done = place("experiment", "-t", "hous-price", "-a", "starter", "--dry-run", status=2)
    assert "There is no task 'hous-price'" in done.stdout
    done = place("experiment", "-t", place.task, "-a", "starter", "-c", "try=4", "--dry-run", status=2)
    assert "The agent 'starter' takes no settings, but was given try." in done.stdout
    place("experiment", "-t", place.task, "-a", "starter", "--dry-run")
    assert not (place.folder / "runs").exists()
