"""Attacks by action arguments, and on the grader: whatever is asked for, nothing outside is read or changed, the run
goes on, and its record can be read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.acting import (
    appending,
    copying,
    execute,
    executing,
    inspecting,
    listing,
    reading,
    steps_of,
    submitting,
    undoing,
    writing,
)
from support.trees import tree

from mlagentbench import Action, Environment, Grade
from mlagentbench.task.preparation import find_prepared
from mlagentbench.task.registry import load_task

CANARY = "canary-7f3a"
LONGEST = 20.0
"""Seconds for all that is tried on one path: nothing may hang."""


class Outside:
    """Things beside the workspace that an agent must neither see nor change."""

    def __init__(self, folder: Path, run: Path, private: Path) -> None:
        self.folder = folder
        self.run = run
        self.answers = private / "answers.csv"
        self.secret = folder / "secret.txt"
        self.script = folder / "script.py"
        (folder / "inner").mkdir(parents=True)
        self.secret.write_text(f"{CANARY}\n")
        self.script.write_text(f"print('{CANARY}')\n")
        (folder / "inner" / "deep.txt").write_text(f"{CANARY}\n")

    def seen(self) -> dict[str, bytes]:
        return tree(self.folder) | tree(self.answers.parent) | {"run": (self.run / "run.json").read_bytes()}


@pytest.fixture
def attacked(
    backend: str, open_env: Callable[..., Environment], tiny_task: Path, tmp_path: Path
) -> Iterator[tuple[Environment, Outside]]:
    env = open_env(sandbox=backend)
    prepared = find_prepared(load_task(tiny_task))
    assert prepared is not None
    outside = Outside(tmp_path / "outside", env.folder.path, prepared.private)
    before = outside.seen()
    yield env, outside
    assert outside.seen() == before, "something outside of the workspace was changed"


def everything_with(path: str) -> list[Action]:
    """Each action that takes a path, with this one in each of its places."""
    return [
        reading(path),
        inspecting(path),
        listing(path),
        executing(path),
        copying(path, f"stolen-{time.monotonic_ns()}"),
        writing(path, "overwritten"),
        appending(path, "appended"),
        copying("train.py", path),
        undoing(path),
        writing(f"{path}/below", "x"),
        reading(f"{path}/below"),
    ]


def try_all(env: Environment, path: str) -> list[str]:
    """What is said to each; none of it may hold the canary, hang, or end the run."""
    began = time.monotonic()
    said = [env.step(action) for action in everything_with(path)]
    assert time.monotonic() - began < LONGEST
    for observation in said:
        assert CANARY not in observation.text
        assert "root:" not in observation.text
    assert env.step(listing()).ok
    assert len(steps_of(env.folder.path)) == len(env.history)
    for file in env.folder.workspace.rglob("*"):
        if file.is_file() and not file.is_symlink() and os.access(file, os.R_OK):
            assert CANARY.encode() not in file.read_bytes()
    return [observation.text for observation in said if not observation.ok]


@pytest.mark.parametrize(
    "path",
    [
        "../{run}",
        "../events.jsonl",
        "../run.json",
        "..",
        "../../../../../../../../../../etc/passwd",
        "inner/../../run.json",
        "./../run.json",
        "{secret}",
        "//{secret}",
        "{answers}",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/dev/stdin",
        "/dev/zero",
        "/workspace/../etc/passwd",
        "/workspace-evil/x",
        "train.csv/../../run.json",
        "~/.bashrc",
        "$HOME/.bashrc",
        "file://{secret}",
        "..\\..\\run.json",
        "\u2025/run.json",
        "%2e%2e/run.json",
        "",
        ".",
        "/",
        "a/" * 3000 + "x",
        "x" * 5000,
    ],
)
def test_a_path_that_leads_out_is_refused_by_every_action(
    attacked: tuple[Environment, Outside], path: str
) -> None:
    env, outside = attacked
    path = path.format(secret=outside.secret, answers=outside.answers, run="run.json")
    inside = path.startswith(
        ("~", "$", "file:", "..\\", "\u2025", "%")
    )  # odd names, but names in the workspace
    refusals = try_all(env, path)
    if not inside:
        assert len(refusals) >= (8 if path in ("", ".") else 10)
    assert all(refusal and "Traceback" not in refusal for refusal in refusals)


PLANTED = {
    "a link to a file outside": "os.symlink({secret!r}, 'bait')",
    "a link to a script outside": "os.symlink({script!r}, 'bait')",
    "a link to the private answers": "os.symlink({answers!r}, 'bait')",
    "a link to a folder outside": "os.symlink({folder!r}, 'bait')",
    "a relative link to the record": "os.symlink('../events.jsonl', 'bait')",
    "a link to the folder above": "os.symlink('..', 'bait')",
    "a link to a system file": "os.symlink('/etc/passwd', 'bait')",
    "a link to an endless device": "os.symlink('/dev/zero', 'bait')",
    "a link to the harness's memory": "os.symlink('/proc/self/mem', 'bait')",
    "a link to itself": "os.symlink('bait', 'bait')",
    "links in a ring": "os.symlink('bait', 'two'); os.symlink('two', 'bait')",
    "a dangling link": "os.symlink('/nowhere/at/all', 'bait')",
    "a link to a link": "os.symlink({secret!r}, 'hop'); os.symlink('hop', 'bait')",
    "a pipe": "os.mkfifo('bait')",
    "a socket": "import socket; socket.socket(socket.AF_UNIX).bind('bait')",
    "a sparse file": "os.truncate(os.open('bait', os.O_CREAT | os.O_WRONLY), 200_000_000)",
    "a file that may not be read": "open('bait', 'w').close(); os.chmod('bait', 0)",
    "a folder that may not be opened": "os.mkdir('bait'); os.chmod('bait', 0)",
    "a folder of links": "os.mkdir('bait'); os.symlink({secret!r}, 'bait/below')",
    "a folder that is a link, with a pipe in it": (
        "os.mkdir('real'); os.mkfifo('real/below'); os.symlink('real', 'bait')"
    ),
    "a deep tree": "[(os.mkdir('bait'), os.chdir('bait')) for _ in range(300)]",
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_a_script_planted_leads_no_action_astray(
    attacked: tuple[Environment, Outside], what: str
) -> None:
    env, outside = attacked
    names = {name: str(getattr(outside, name)) for name in ("secret", "script", "answers", "folder")}
    planted = execute(env, f"import os\n{PLANTED[what].format(**names)}\n")
    assert planted.ok or "Permission" in planted.text or "not permitted" in planted.text, planted.text
    try_all(env, "bait")
    execute(env, "import os, sys\nos.path.islink('bait') and os.remove('bait')\nprint('the run goes on')")
    assert "the run goes on" in env.history[-1].observation.text


def test_a_parent_folder_swapped_for_a_link_is_not_followed_by_undo(
    attacked: tuple[Environment, Outside],
) -> None:
    env, outside = attacked
    env.step(writing("inner/deep.txt", "first"))
    env.step(writing("inner/deep.txt", "second"))
    execute(
        env,
        f"import os, shutil\nshutil.rmtree('inner'); os.symlink({str(outside.folder / 'inner')!r}, 'inner')",
    )
    said = env.step(undoing("inner/deep.txt"))
    assert not said.ok and "link" in said.text
    try_all(env, "inner/deep.txt")


def test_a_file_swapped_for_a_link_is_not_written_through_by_undo(
    attacked: tuple[Environment, Outside],
) -> None:
    env, outside = attacked
    env.step(writing("note.txt", "first"))
    env.step(writing("note.txt", "second"))
    execute(env, f"import os\nos.remove('note.txt'); os.symlink({str(outside.secret)!r}, 'note.txt')")
    env.step(undoing("note.txt"))
    assert outside.secret.read_text() == f"{CANARY}\n"


OVERWRITING = {
    "opening for writing": "open('train.csv', 'w').write('x')",
    "opening for appending": "open('train.csv', 'a').write('x')",
    "chmod and open": "os.chmod('train.csv', 0o666); open('train.csv', 'w').write('x')",
    "truncate": "os.truncate('train.csv', 0)",
    "remove and write": "os.remove('train.csv'); open('train.csv', 'w').write('x')",
    "rename over it": "open('mine', 'w').write('x'); os.rename('mine', 'train.csv')",
    "rename it away": "os.rename('train.csv', 'old.csv'); open('train.csv', 'w').write('x')",
    "a hard link": "os.link('train.csv', 'mine.csv'); open('mine.csv', 'w').write('x')",
    "through a link": "os.symlink('train.csv', 'mine.csv'); open('mine.csv', 'w').write('x')",
    "through its real path": "open(os.path.realpath('train.csv'), 'w').write('x')",
    "through an open descriptor": "f = os.open('train.csv', os.O_RDONLY); open(f'/proc/self/fd/{f}', 'w').write('x')",
    "a link in its place": "os.remove('train.csv'); os.symlink('/etc/passwd', 'train.csv')",
    "a folder in its place": "os.remove('train.csv'); os.mkdir('train.csv'); open('train.csv/x', 'w').write('x')",
}


@pytest.mark.parametrize("how", OVERWRITING)
def test_read_only_data_cannot_be_changed_by_a_script(
    attacked: tuple[Environment, Outside], how: str
) -> None:
    env, outside = attacked
    public = outside.answers.parent.parent / "public"
    before = {file: file.read_bytes() for file in public.iterdir()}
    execute(env, f"import os\n{OVERWRITING[how]}")
    assert {file: file.read_bytes() for file in public.iterdir()} == before
    real = (public / "train.csv").read_text()
    assert env.step(reading("train.csv")).text == real
    assert execute(env, "print(open('train.csv').read(), end='')", name="look.py").text.startswith(real[:100])


@pytest.mark.parametrize(
    "place", ["train.csv", "./train.csv", "/workspace/train.csv", "a/../train.csv", "test.csv"]
)
def test_read_only_data_cannot_be_changed_by_an_action_however_it_is_spelled(
    env: Environment, place: str
) -> None:
    for action in (
        writing(place, "x"),
        appending(place, "x"),
        copying("train.py", place),
        writing(f"{place}/x", "x"),
        undoing(place),
    ):
        assert not env.step(action).ok, action
    assert env.step(reading("train.csv")).text.startswith("id,speed")


SUBMISSIONS = {
    "a link to the private answers": ("os.symlink({answers!r}, 'submission.csv')", "link"),
    "a link to a good submission": (
        "os.rename('submission.csv', 'good.csv'); os.symlink('good.csv', 'submission.csv')",
        "link",
    ),
    "a link to nowhere": ("os.symlink('/nowhere', 'submission.csv')", "link"),
    "a pipe": ("os.mkfifo('submission.csv')", "fifo"),
    "a socket": ("import socket; socket.socket(socket.AF_UNIX).bind('submission.csv')", "socket"),
    "a folder": ("os.mkdir('submission.csv')", "folder"),
    "nothing": ("None", "no "),
    "an empty file": ("open('submission.csv', 'w').close()", "empty"),
    "gigabytes of nothing": (
        "os.truncate(os.open('submission.csv', os.O_CREAT | os.O_WRONLY), 600_000_000)",
        "600 MB",
    ),
    "a pickle": (
        "import pickle\nclass Evil:\n    def __reduce__(self): return (open, ({hit!r}, 'w'))\n"
        "pickle.dump(Evil(), open('submission.csv', 'wb'))",
        "",
    ),
    "a compressed file": ("import gzip; gzip.open('submission.csv', 'w').write(b'id,distance')", ""),
    "a formula": ("open('submission.csv', 'w').write('id,distance\\n1,=1+1\\n')", ""),
    "code": ("open('submission.csv', 'w').write('id,distance\\n1,__import__(\"os\").getpid()\\n')", ""),
    "a read-only file that was linked": ("os.link('test.csv', 'submission.csv')", ""),
}


def graded(env: Environment, code: str) -> Grade:
    execute(env, f"import os\n{code}", name="submit.py")
    env.step(submitting())
    return env.grade()


@pytest.mark.parametrize("what", SUBMISSIONS)
def test_a_submission_that_is_no_file_of_rows_is_invalid_with_a_sentence(
    attacked: tuple[Environment, Outside], tmp_path: Path, what: str
) -> None:
    env, outside = attacked
    env.step(executing("train.py"))
    code, word = SUBMISSIONS[what]
    hit = tmp_path / "hit"
    if "rename" not in code:
        code = f"os.remove('submission.csv')\n{code}"
    grade = graded(env, code.format(answers=str(outside.answers), hit=str(hit)))
    assert not grade.valid and grade.score is None and not grade.success
    assert word in grade.reason and "Traceback" not in grade.reason, grade.reason
    assert not hit.exists()


PLANTED_MODULES = (
    "grade.py", "csv.py", "json.py", "math.py", "os.py", "sitecustomize.py", "usercustomize.py", "conftest.py",
    "eval.py", "mlagentbench/__init__.py", "mlagentbench/grading/table.py", "pathlib.py", "random.py",
    "python", "pyvenv.cfg", ".pythonrc.py", "encodings/__init__.py", "evil.pth",
)  # fmt: skip


def test_the_trusted_grader_imports_and_executes_nothing_that_the_agent_wrote(
    attacked: tuple[Environment, Outside], tmp_path: Path
) -> None:
    env, _ = attacked
    env.step(executing("train.py"))
    honest = env.grade()
    hit = tmp_path / "hit"
    for name in PLANTED_MODULES:
        env.step(
            writing(name, f"open({str(hit)!r}, 'w').write('executed')\ndef grade(*_, **__): return 0.0\n")
        )
    env.step(writing("score.json", '{"score": 0.0}'))
    assert env.step(listing()).ok
    assert env.grade().score == honest.score
    assert not hit.exists()


def test_a_verdict_that_the_agent_wrote_itself_is_not_believed(attacked: tuple[Environment, Outside]) -> None:
    env, _ = attacked
    for name in ("grades.json", "summary.json", "grade.json", "run.json"):
        env.step(writing(name, '{"format": 1, "grades": {}, "valid": true, "score": 0.0, "success": true}'))
    assert not env.grade().valid


@pytest.mark.parametrize(
    "name",
    [b"line\nbreak", b"\xff\xfe\xfd", b"\x1b[2Jclear", b"x" * 255, b"\xe2\x80\xae.py", b"-rf", b"*", b" "],
)
def test_file_names_of_any_bytes_are_kept_listed_and_recorded(
    attacked: tuple[Environment, Outside], name: bytes
) -> None:
    env, _ = attacked
    said = execute(env, f"open({name!r}, 'w').write('content')")
    assert said.ok, said.text
    text = env.step(listing()).text
    assert all(character == "\n" or character.isprintable() for character in text)
    assert len(steps_of(env.folder.path)[1].changes) == 1
