"""The agents of the page on writing one run exactly as they are printed there, and can be killed and resumed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import mortal

from mlagentbench.agent.spec import build_agent
from mlagentbench.errors import UsageError
from mlagentbench.record.events import StepTaken
from mlagentbench.record.folder import RunFolder, find_runs

PAGE = (Path(__file__).parents[2] / "docs" / "own-agents.md").read_text(encoding="utf-8")
BLOCKS = {
    match[1]: match[0]
    for match in re.finditer(r"(?<=```python\n)# (\w+\.py):.*?(?=^```$)", PAGE, re.DOTALL | re.MULTILINE)
}
COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


@pytest.fixture
def here(tmp_path: Path, shared_cache: Path) -> dict[str, str]:
    """A folder with the agents of the page and with what a model will say; the environment of commands given in it."""
    for name, code in BLOCKS.items():
        (tmp_path / name).write_text(code)
    broken = "Of course:\n```python\nraise SystemExit('broken')\n```\n"
    worse = "```\nprint('validation MAE: 999999.0')\n```"
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, ["No idea.", broken, worse])) + "\n")
    return {**os.environ, "MLAGENTBENCH_CACHE": str(shared_cache)}


def give(folder: Path, environment: dict[str, str], *words: object, status: int = 0) -> str:
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        start_new_session=True,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def steps_in(folder: Path) -> list[StepTaken]:
    (run,) = find_runs([folder / "runs"])
    return [event for event in run.history().events if isinstance(event, StepTaken)]


def test_the_page_has_both_agents_and_the_first_is_short():
    assert BLOCKS.keys() == {"rewriter.py", "twice.py"}
    class_of_it = BLOCKS["rewriter.py"].partition("class Rewriter")[2]
    assert sum(bool(line.strip()) for line in class_of_it.splitlines()) <= 25


def test_the_agent_of_the_page_asks_runs_and_submits_the_best(here, tiny_task, tmp_path):
    model = f"mock/{tmp_path / 'said.jsonl'}"
    give(tmp_path, here, COMMAND, "run", tiny_task, "-a", "rewriter:Rewriter", "-m", model, "-c", "tries=3")
    steps = steps_in(tmp_path)
    assert [step.action.name for step in steps] == [
        "Read File", *["Write File", "Execute Script"] * 4, "Final Answer",
    ]  # fmt: skip
    assert steps[-3].action.args == steps[1].action.args, "the starter is the best, and is submitted"
    assert RunFolder.open(find_runs([tmp_path / "runs"])[0].path).request().settings == {"tries": 3}


@pytest.mark.parametrize("point", ["after:3", "before:8", "after:11"])
def test_killed_and_resumed_it_ends_the_same(here, tiny_task, tmp_path, point):
    model = f"mock/{tmp_path / 'said.jsonl'}"
    run = ("run", tiny_task, "-a", "rewriter:Rewriter", "-m", model)
    give(tmp_path, here, sys.executable, mortal.__file__, point, *run, status=-9)
    give(tmp_path, here, COMMAND, "resume", "last")
    steps = steps_in(tmp_path)
    assert len(steps) == 10 and steps[-1].final
    give(tmp_path, here, COMMAND, "verify", "last")


def test_the_function_of_the_page_is_an_agent(here, tiny_task, tmp_path):
    give(tmp_path, here, COMMAND, "run", tiny_task, "-a", "twice:twice")
    assert [step.action.args.get("arguments") for step in steps_in(tmp_path)] == [["0.1"], ["0.01"], None]


def test_a_function_takes_no_settings(here, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    agent, kept = build_agent("twice:twice", {})
    assert callable(agent.run) and kept == {}
    with pytest.raises(UsageError, match="takes no settings"):
        build_agent("twice:twice", {"rate": 1})
