"""A person at the prompt: what can be typed, what is asked for, and a real terminal with completion."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlagentbench.agent.human import ALIASES, HumanAgent, TypingError, complete, describe, parse
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.launch.run import resume, run

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("ls", "List Files", {}),
        ("LS data", "List Files", {"dir_path": "data"}),
        ("read train.py", "Read File", {"file_name": "train.py"}),
        ('Read File "my file.py"', "Read File", {"file_name": "my file.py"}),
        ("read file train.py", "Read File", {"file_name": "train.py"}),
        (
            "lines train.py 1 20",
            "Inspect Script Lines",
            {"script_name": "train.py", "start_line_number": 1, "end_line_number": 20},
        ),
        (
            "run train.py --lr 0.1",
            "Execute Script",
            {"script_name": "train.py", "arguments": ["--lr", "0.1"]},
        ),
        ('py print("a  b")', "Python REPL", {"command": 'print("a  b")'}),
        ("sh ls 'a b' | wc", "Run Command", {"command": "ls 'a b' | wc"}),
        ("submit I'm done.", "Final Answer", {"final_answer": "I'm done."}),
        ("write a.py 'x = 1'", "Write File", {"file_name": "a.py", "content": "x = 1"}),
    ],
)
def test_a_line_is_read_as_the_action_it_means(line, name, arguments):
    typed = parse(line)
    assert (typed.kind.name, typed.arguments) == (name, arguments)


@pytest.mark.parametrize(
    ("line", "hint"),
    [("reed x", "Did you mean 'read'?"), ("read 'x", "Close the quote"), ("read a b", "no more arguments")],
)
def test_a_line_that_is_no_action_says_what_would_be(line, hint):
    with pytest.raises(TypingError, match=hint.replace("?", r"\?")):
        parse(line)


def test_every_action_has_a_short_name_and_help():
    assert set(ALIASES.values()) == set(all_actions()) - {"Run Program", "Let Program Run"}
    listed = describe("", [])
    assert all(name in listed for name, kind in all_actions().items() if not kind.needs_showing)
    assert "Run Command" not in listed and "Run Command" in describe("", ["Run Command"])
    assert "start_line_number" in describe("lines", [])


def test_completion_knows_actions_in_any_case_and_files_after_them():
    files = ["train.py", "data/test.csv", "a b.txt"]
    assert complete("rea", 0, files) == ["read "]
    assert complete("Read F", 5, files) == ["File "]
    assert complete("inspect script l", 15, files) == ["Lines "]
    assert complete("read t", 5, files) == ["train.py"]
    assert complete("Copy File ", 10, files) == ["data/test.csv", "train.py"]
    assert complete("py t", 3, files) == [], "code is not a path"


def typing(lines: str, env) -> str:
    """What the agent says to a person who types these lines."""
    told = io.StringIO()
    HumanAgent(io.StringIO(lines), told).run(env)
    return told.getvalue()


def test_what_is_missing_is_asked_for_and_content_ends_with_a_dot(env):
    told = typing("nonsense\nwrite\na.py\nprint('one')\n\nprint('two')\n.\nrun a.py\nsubmit\nDone.\n", env)
    assert "There is no action 'nonsense'" in told
    assert "file_name (" in told and "content (" in told and "final_answer (" in told
    assert "one\n\ntwo" not in told and "one\ntwo" in told
    assert env.terminated
    assert env.history[0].action.args == {"file_name": "a.py", "content": "print('one')\n\nprint('two')\n"}


def test_the_problem_is_told_first_and_leaving_takes_no_step(env):
    with pytest.raises(KeyboardInterrupt):
        typing("ls\nquit\n", env)
    assert [step.action.name for step in env.history] == ["List Files"]
    with pytest.raises(KeyboardInterrupt):
        typing("", env)


def test_a_resumed_run_takes_over_what_was_typed_before(tiny_task, runs, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("write a.txt hello\nread a.txt\n"))
    with pytest.raises(KeyboardInterrupt):
        run(tiny_task, "human", runs=runs)
    (folder,) = runs.glob("*/*/*/*")
    monkeypatch.setattr(sys, "stdin", io.StringIO("append a.txt ' you'\nread a.txt\nsubmit done\n"))
    summary = resume(folder).summary
    assert summary.steps == 5 and summary.ended == "submitted"


class Terminal:
    """A command in a pseudo-terminal."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.said = b""
        self._main, child = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
        self._process = subprocess.Popen(
            [COMMAND, *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(child)

    def type(self, text: str) -> None:
        os.write(self._main, text.encode())

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Read on until `text` has been said since the last call."""
        until = time.monotonic() + seconds
        start = self.said.rfind(b"\0") + 1
        while text.encode() not in self.said[start:]:
            assert select.select([self._main], [], [], until - time.monotonic())[0], self.said.decode()
            try:
                self.said += os.read(self._main, 4096)
            except OSError:
                raise AssertionError(f"{text!r} was not said: {self.said.decode()}") from None
        self.said += b"\0"

    def ended(self) -> int:
        status = self._process.wait(timeout=60)
        os.close(self._main)
        return status


def test_at_a_real_terminal_tab_completes_actions_and_files(tiny_task, tmp_path):
    terminal = Terminal("run", str(tiny_task), "-a", "human", folder=tmp_path)
    terminal.wait_for("> ")
    terminal.type("Insp\t")
    terminal.wait_for("Inspect Script Lines ")
    terminal.type("tra\t")
    terminal.wait_for("train.py")
    terminal.type(" 1 2\r")
    terminal.wait_for("train.py, lines 1 to 2 of")
    terminal.type("run train.py\r")
    terminal.wait_for("exit status 0")
    terminal.type("submit Done.\r")
    terminal.wait_for("score")
    assert terminal.ended() == 0


def test_at_a_real_terminal_quit_leaves_the_run_and_says_how_to_go_on(tiny_task, tmp_path):
    terminal = Terminal("run", str(tiny_task), "-a", "human", folder=tmp_path)
    terminal.wait_for("> ")
    terminal.type("ls\r")
    terminal.wait_for("train.py")
    terminal.type("quit\r")
    terminal.wait_for("mlagentbench resume ")
    assert terminal.ended() == 130
