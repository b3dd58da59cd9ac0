"""A person's own problem, at a real terminal: approved, refused, steered, interrupted, applied; and killed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.terminals import PseudoTerminal, Terminal, Tmux
from support.trees import tree

from mlagentbench.record.events import Note, StepTaken
from mlagentbench.record.folder import RunFolder, find_runs

FIRST = "print('the first version')\n"
SECOND = "print('the second version')\n"
WAITING = """import os, time
print('begun', flush=True)
while not os.path.exists('go'):
    time.sleep(0.05)
print('over')
"""


def decision(name: str, **arguments: Any) -> str:
    return f"Thought: I will.\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def writing(file: str, content: str) -> str:
    return decision("Write File", file_name=file, content=content)


def running(script: str) -> str:
    return decision("Execute Script", script_name=script)


DONE = decision("Final Answer", final_answer="It is done.")


@dataclass
class Desk:
    """A person's folder, a place to work from, and a model that says what it is told to."""

    folder: Path
    project: Path
    environment: dict[str, str]
    command: Callable[..., Any]

    @property
    def runs(self) -> Path:
        return self.folder / "state" / "runs"

    def script(self, *decisions: str) -> str:
        file = self.folder / "script.jsonl"
        file.write_text("".join(f"{json.dumps(each)}\n" for each in decisions))
        return f"mock/{file}"

    def arguments(self, *decisions: str, options: tuple[str, ...] = ()) -> tuple[object, ...]:
        model = self.script(*decisions)
        return ("assist", self.project, "Make it better.", "-a", "react", "-m", model, *options)

    def run(self) -> RunFolder:
        (run,) = find_runs([self.runs])
        return run

    def steps(self) -> list[StepTaken]:
        return [event for event in self.run().history().events if isinstance(event, StepTaken)]


@pytest.fixture
def desk(place, tmp_path: Path) -> Desk:
    project = tmp_path / "project"
    (project / "lib").mkdir(parents=True)
    (project / "train.py").write_text("print('as it was')\n")
    (project / "train.py").chmod(0o755)
    (project / "notes.md").write_text("Mine.\n")
    (project / "lib" / "tool.py").write_text("X = 1\n")
    (project / "outside").symlink_to("/etc")
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / ".env").write_text("API_KEY=secret-of-mine\n")
    place.environment["MLAGENTBENCH_STATE"] = str(tmp_path / "state")
    return Desk(tmp_path, project, place.environment, place)


@pytest.fixture(params=["pty", "tmux"])
def sit_down(request: pytest.FixtureRequest, desk: Desk) -> Iterator[Callable[..., Terminal]]:
    """Gives a command at a terminal."""
    if request.param == "tmux" and not Tmux.is_there():
        pytest.skip("tmux is not installed; `make setup` installs it where it may")
    opened: list[Tmux] = []

    def give(*arguments: object) -> Terminal:
        if request.param == "pty":
            return PseudoTerminal(*arguments, folder=desk.folder, environment=desk.environment)
        opened.append(Tmux(*arguments, folder=desk.folder, environment=desk.environment))
        return opened[-1]

    yield give
    for terminal in opened:
        terminal.close()


@pytest.fixture
def at_pty(desk: Desk) -> Callable[..., PseudoTerminal]:
    def give(*arguments: object) -> PseudoTerminal:
        return PseudoTerminal(*arguments, folder=desk.folder, environment=desk.environment)

    return give


def test_a_person_approves_refuses_steers_interrupts_and_applies(desk, sit_down):
    before = tree(desk.project)
    terminal = sit_down(
        *desk.arguments(
            writing("train.py", FIRST),
            writing("notes.md", "Yours.\n"),
            running("train.py"),
            writing("train.py", SECOND),
            decision("Request Help", request="Which number?"),
            writing("wait.py", WAITING),
            running("wait.py"),
            DONE,
            DONE,
        )
    )
    assert ".git (version control)" in terminal.wait_for("Allow it?")
    terminal.type("y")
    came = terminal.wait_for("Allow it?")
    assert "-Mine." in came and "+Yours." in came
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type("leave my notes alone")
    came = terminal.wait_for("Allow it?")
    assert "python train.py" in came and "in the sandbox" in came
    terminal.type("write the second version first")
    terminal.wait_for("Allow it?")
    terminal.type("a")
    terminal.wait_for("The agent asks:")
    terminal.wait_for("Which number?")
    terminal.wait_for("Your answer")
    terminal.type("Forty-two.")
    terminal.wait_for("python wait.py")
    terminal.wait_for("Allow it?")
    terminal.type("y")
    terminal.wait_for("begun")
    terminal.interrupt()
    terminal.wait_for("Paused.")
    terminal.type("hurry up")
    terminal.wait_for("The agent will be told.")
    (desk.run().workspace / "go").touch()
    terminal.wait_for("Is it done?")
    terminal.type("check it once more")
    terminal.wait_for("Is it done?")
    assert tree(desk.project) == before, "nothing is applied yet"
    terminal.type("y")
    terminal.wait_for("file by file")
    assert tree(desk.project) == before
    terminal.type("f")
    for name, answer in (("train.py", "y"), ("wait.py", "n"), ("go", "n")):
        terminal.wait_for(f"Apply {name}?")
        terminal.type(answer)
    terminal.wait_for("applied ")
    terminal.wait_for("train.py")
    assert terminal.ended() == 0
    after = tree(desk.project)
    assert after.pop("train.py") == before.pop("train.py").split(b" ")[0] + b" " + SECOND.encode()
    assert after == before, "the mode is kept, and nothing else has changed"
    told = [step.observation.text for step in desk.steps()]
    assert told[0] == "train.py is written."
    assert "did not allow this change" in told[1] and "[The person says: leave my notes alone]" in told[1]
    assert "nothing was run" in told[2] and "[The person says: write the second version first]" in told[2]
    assert told[4] == "Forty-two."
    assert "over" in told[6] and told[6].endswith("[The person says: hurry up]"), (
        "it was not ended by the pause"
    )
    assert "[The person says: check it once more]" in told[7]
    desk.command("verify", desk.run().path)


def test_ctrl_c_twice_leaves_the_copy_and_plain_resume_goes_on_with_the_same_words(desk, sit_down):
    before = tree(desk.project)
    terminal = sit_down(*desk.arguments(writing("train.py", FIRST), running("train.py"), DONE))
    terminal.wait_for("Allow it?")
    terminal.type("not like this")
    terminal.wait_for("python train.py")
    terminal.wait_for("Allow it?")
    terminal.interrupt()
    terminal.wait_for("once more leaves")
    terminal.interrupt()
    terminal.wait_for("Go on with:")
    assert terminal.ended() == 130
    assert tree(desk.project) == before and len(desk.steps()) == 1
    terminal = sit_down("resume", desk.run().path)
    terminal.wait_for("(recorded)")
    terminal.wait_for("Allow it?")
    terminal.type("y")
    terminal.wait_for("Is it done?")
    terminal.type("y")
    terminal.wait_for("nothing that could be applied")
    assert terminal.ended() == 0
    steps = desk.steps()
    assert "[The person says: not like this]" in steps[0].observation.text
    assert "as it was" in steps[1].observation.text
    assert tree(desk.project) == before


def test_a_kill_at_the_question_loses_nothing_and_changes_nothing(desk, sit_down):
    before = tree(desk.project)
    model = desk.script(writing("train.py", FIRST), writing("new.py", SECOND), DONE)
    terminal = sit_down("assist", desk.project, "Make it better.", "-a", "react", "-m", model)
    terminal.wait_for("Allow it?")
    terminal.type("y")
    terminal.wait_for("b/new.py")
    terminal.wait_for("Allow it?")
    terminal.kill()
    assert tree(desk.project) == before
    told = desk.command.json("assist", "--resume", "last", "--yes")
    assert told["summary"]["ended"] == "submitted" and told["applied"] == []
    assert [change["path"] for change in told["changes"]] == ["new.py", "train.py"]
    assert tree(desk.project) == before
    desk.command("apply", "last", "new.py")
    desk.command("apply", "last", "--all")
    assert (desk.project / "train.py").read_text() == FIRST
    assert (desk.project / "new.py").read_text() == SECOND
    desk.command("verify", desk.run().path)


def test_stopping_at_the_pause_ends_the_run_where_it_stands(desk, at_pty):
    terminal = at_pty(
        *desk.arguments(writing("train.py", FIRST), writing("wait.py", WAITING), running("wait.py"))
    )
    for _ in range(3):
        terminal.wait_for("Allow it?")
        terminal.type("y")
    terminal.wait_for("begun")
    terminal.interrupt()
    terminal.wait_for("Paused.")
    terminal.type("s")
    terminal.wait_for("stopped: The person ended it.")
    terminal.wait_for("file by file")
    terminal.type("a")
    assert terminal.ended() == 0
    assert (desk.project / "train.py").read_text() == FIRST
    assert len(desk.steps()) == 2, "what was cut short does not count"
    assert any(isinstance(event, Note) and "Applied 2" in event.text for event in desk.run().history().events)


def test_what_the_agent_says_cannot_steer_the_terminal_or_hide(desk, at_pty):
    hostile = "harmless\x1b[2K\x1b[1A\x1b]0;owned\x07 \u202ereversed\u202c \x9bm"
    terminal = at_pty(
        *desk.arguments(
            writing("train.py", f"# {hostile}\n"),
            decision("Run Command", command=f"rm -rf x # {hostile}"),
            decision("Request Help", request=hostile),
            decision("Final Answer", final_answer=hostile),
        )
    )
    for answer in ("y", "n", "", "well", "y"):
        terminal.wait_for("> ")
        terminal.type(answer)
    terminal.wait_for("file by file")
    terminal.type("n")
    assert terminal.ended() == 0
    said = terminal.said
    assert "\x1b]0;" not in said and "\x07" not in said and "\u202e" not in said and "\x9b" not in said
    assert "harmless\x1b" not in said
    assert said.count("harmless\\x1b[2K\\x1b[1A\\x1b]0;owned\\x07 \\u202ereversed") >= 4, (
        "written out to be seen"
    )


def test_a_key_pressed_before_the_question_is_no_answer(desk, at_pty):
    terminal = at_pty(*desk.arguments(writing("wait.py", WAITING), running("wait.py"), running("train.py")))
    for _ in range(2):
        terminal.wait_for("Allow it?")
        terminal.type("y")
    terminal.wait_for("begun")
    terminal.type("y")
    (desk.run().workspace / "go").touch()
    terminal.wait_for("python train.py")
    terminal.wait_for("Allow it?")
    terminal.type("q")
    terminal.wait_for("Go on with:")
    assert terminal.ended() == 130
    assert len(desk.steps()) == 2


def test_an_agent_that_acts_in_a_thread_of_its_own_can_be_left_too(desk, at_pty):
    pytest.importorskip("langgraph")
    call = {"tool_calls": [{"name": "execute_script", "arguments": {"script_name": "train.py"}}]}
    (desk.folder / "calls.jsonl").write_text(json.dumps(call))
    model = f"mock/{desk.folder / 'calls.jsonl'}"
    terminal = at_pty("assist", desk.project, "Make it better.", "-a", "langchain", "-m", model)
    terminal.wait_for("Allow it?")
    terminal.interrupt()
    terminal.wait_for("once more leaves")
    terminal.interrupt()
    terminal.wait_for("Go on with:")
    assert terminal.ended() == 130
    assert desk.steps() == []


def test_without_a_terminal_it_says_what_to_do_and_nothing_happens(desk):
    done = desk.command(*desk.arguments(DONE), status=2)
    assert "there is no terminal" in done.stderr and "--yes" in done.stderr
    assert not desk.runs.exists()


def test_what_is_left_out_is_not_to_be_seen_and_nothing_is_applied_there(desk):
    before = tree(desk.project)
    told = desk.command.json(
        *desk.arguments(
            decision("Run Command", command="ls -a; cat .env .git/HEAD outside/hostname"),
            decision("Read File", file_name=".env"),
            decision("Read File", file_name="outside/hostname"),
            writing("outside/x", "x"),
            writing("../x", "x"),
            writing(".git/hooks/post-checkout", "#!/bin/sh\n"),
            decision(
                "Run Command",
                command="ln -s /etc/hostname link; ln -s train.py near; rm notes.md; chmod 644 train.py",
            ),
            DONE,
            options=("--yes",),
        )
    )
    texts = [step.observation.text for step in desk.steps()]
    assert all("secret-of-mine" not in text and "refs/heads" not in text for text in texts)
    assert "There is no '.env'" in texts[1] and "links are not followed" in texts[2] + texts[3]
    assert "contains '..'" in texts[4]
    assert told["withheld"][".git/hooks/post-checkout"] == "lies where nothing was copied from"
    assert "link out of the folder" in told["withheld"]["link"]
    assert [change["path"] for change in told["changes"]] == ["near", "notes.md", "train.py"]
    assert tree(desk.project) == before
    assert "cannot be applied" in desk.command("apply", "last", "link", status=2).stderr
    desk.command("apply", "last", "--all")
    after = tree(desk.project)
    assert after.pop("near") == b"-> train.py" and "notes.md" not in after
    assert after["train.py"].startswith(b"100644 ")
    assert {name for name in before if before[name] != after.get(name)} == {"notes.md", "train.py"}


def test_a_file_that_the_person_changed_meanwhile_stops_all_of_it(desk):
    desk.command(
        *desk.arguments(writing("train.py", FIRST), writing("new.py", SECOND), DONE, options=("--yes",))
    )
    (desk.project / "train.py").write_text("print('mine, meanwhile')\n")
    before = tree(desk.project)
    done = desk.command("apply", "last", "--all", status=2)
    assert "Nothing was applied" in done.stderr and "'train.py' has been changed meanwhile" in done.stderr
    assert tree(desk.project) == before
    desk.command("apply", "last", "new.py")
    assert (desk.project / "new.py").read_text() == SECOND


def test_the_run_is_an_ordinary_one_that_cannot_be_graded(desk, tmp_path):
    desk.command(*desk.arguments(writing("train.py", FIRST), DONE, options=("--yes",)))
    run = desk.run().path
    assert "Write File" in desk.command("show", run).stdout
    assert "nothing to grade" in desk.command("verify", run).stdout
    assert "nothing to grade" in desk.command("grade", run, status=2).stderr
    desk.command("pack", run, tmp_path / "packed.mlab.tar.gz")
    desk.command("unpack", tmp_path / "packed.mlab.tar.gz", "-o", tmp_path / "others")
    (other,) = find_runs([tmp_path / "others"])
    desk.command("verify", other.path)
    assert "is a run on a task" not in desk.command("apply", run, "--all").stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("assist", "nowhere", "x", "-m", "mock/x"), "There is no folder nowhere"),
        (("assist", "project", " ", "-m", "mock/x"), "Say what you want"),
        (("assist", "project"), "say what you want"),
        (("assist", "project", "x"), "needs a language model"),
        (("assist", "project", "x", "-a", "tree", "-m", "mock/x"), "works on tasks only"),
        (("assist", "project", "x", "-m", "mock/x", "-o", "project/runs"), "inside of the folder"),
        (("assist", "project", "x", "-m", "mock/x", "--python", "nowhere/python"), "no interpreter"),
        (("assist", "project", "x", "--resume", "last"), "leave them out"),
        (("apply", "last"), "there is no folder"),
    ],
)
def test_wrong_use_gets_a_sentence_and_touches_nothing(desk, arguments, sentence):
    before = tree(desk.project)
    (desk.folder / "x").write_text("")
    status = 1 if "interpreter" in sentence else 2
    extra = ("--yes",) if arguments[0] == "assist" else ()
    done = desk.command(*arguments, *extra, status=status)
    assert sentence in done.stderr, done.stderr
    assert tree(desk.project) == before
    assert not desk.runs.exists()


def test_the_folders_own_environment_is_what_code_runs_on(desk):
    import venv

    venv.create(desk.project / ".venv", with_pip=False)
    site = next((desk.project / ".venv").glob("lib/python*/site-packages"))
    (site / "installed_here.py").write_text("WHERE = 'in the environment'\n")
    (desk.project / "pyproject.toml").write_text("[project]\n")
    (desk.project / "src" / "ours").mkdir(parents=True)
    (desk.project / "src" / "ours" / "__init__.py").write_text("")
    (site / "ours.pth").write_text(f"{desk.project / 'src'}\n")
    code = "import installed_here, ours; print(installed_here.WHERE, ours.__file__)"
    desk.command(
        *desk.arguments(
            writing("src/ours/__init__.py", "V = 2\n"),
            decision("Run Command", command=f'python -c "{code}"; ls {desk.project / "src"}'),
            DONE,
            options=("--yes",),
        )
    )
    said = desk.steps()[1].observation.text
    assert "in the environment" in said and f"{os.sep}src{os.sep}ours" in said
    assert str(desk.project) not in said.split("\n")[0], "the copy is imported, not the original"
    assert "No such file" in said, "the original cannot even be seen"
