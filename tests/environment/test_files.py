"""What the actions on files do, and what they say when they cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.acting import (
    appending,
    content,
    copying,
    execute,
    inspecting,
    listing,
    reading,
    undoing,
    writing,
)

from mlagentbench import Action, Environment

ODD_NAMES = [
    "a b.py",
    'it\'s "quoted".py',
    "-c.py",
    "--version",
    "$(touch hit).py",
    "größe-文件-🎲.py",
    "two\nlines.py",
    "tab\there.py",
    "semi;colon&and|pipe.py",
    "back\\slash.py",
    "a/b c/-d.py",
    " leading and trailing ",
    "é.py",
    "n" * 250 + ".py",
]


def test_listing_tells_sizes_folders_links_and_what_is_read_only(env: Environment) -> None:
    execute(
        env,
        "import os\nos.mkdir('inner'); os.symlink('train.py', 'link'); os.symlink('nowhere', 'dangling')\n"
        "os.mkfifo('pipe')\nopen('big.bin', 'wb').write(bytes(1500))\n",
    )
    lines = env.step(listing()).text.splitlines()
    assert "inner/" in lines
    assert "link -> train.py" in lines
    assert "dangling -> nowhere" in lines
    assert "big.bin  1.5 KB" in lines
    assert any(line.startswith("train.csv  ") and line.endswith("[read-only]") for line in lines)
    assert any(line.startswith("train.py  ") and "read-only" not in line for line in lines)
    assert any(line.startswith("pipe  [") for line in lines)


def test_listing_says_when_a_folder_is_empty_or_missing(env: Environment) -> None:
    execute(env, "import os; os.mkdir('inner')")
    assert env.step(listing("inner")).text == "[the folder is empty]"
    missing = env.step(listing("outer"))
    assert not missing.ok and "outer" in missing.text
    file = env.step(listing("train.py"))
    assert not file.ok and "train.py" in file.text


def test_a_folder_of_thousands_is_listed_in_part_and_the_rest_is_counted(env: Environment) -> None:
    execute(env, "import os; os.mkdir('many'); [open(f'many/{i:05}', 'w').close() for i in range(1500)]")
    text = env.step(listing("many")).text
    assert text.count("\n") == 1000 and text.endswith("[… and 500 more]")


def test_the_root_of_the_workspace_has_several_spellings(env: Environment) -> None:
    expected = env.step(listing(".")).text
    assert {
        env.step(Action("List Files", args)).text for args in ({}, {"dir_path": ""}, {"dir_path": "./"})
    } == {expected}


def test_what_is_written_is_read_back_exactly(env: Environment) -> None:
    for text in (
        "",
        "x",
        "no newline",
        "line\n",
        "crlf\r\n\r\ttab\n",
        "ünïcödé 🎲\n",
        "\ufeffmark",
        "'\"\\`$",
    ):
        assert env.step(writing("file.txt", text)).ok
        assert content(env, "file.txt") == text


def test_writing_replaces_and_makes_folders_on_the_way(env: Environment) -> None:
    env.step(writing("one/two/three.txt", "first, and longer"))
    env.step(writing("one/two/three.txt", "second"))
    assert content(env, "one/two/three.txt") == "second"
    assert (env.folder.workspace / "one/two/three.txt").read_text() == "second"


def test_appending_adds_at_the_end_and_makes_a_missing_file(env: Environment) -> None:
    env.step(appending("log.txt", "one\n"))
    env.step(appending("log.txt", "two"))
    env.step(appending("log.txt", ""))
    assert content(env, "log.txt") == "one\ntwo"


def test_a_copy_of_read_only_data_may_be_changed_and_the_data_may_not(env: Environment) -> None:
    before = content(env, "train.csv")
    assert env.step(copying("train.csv", "mine.csv")).ok
    assert content(env, "mine.csv") == before
    assert env.step(appending("mine.csv", "more\n")).ok
    assert content(env, "mine.csv") == before + "more\n"
    assert content(env, "train.csv") == before


def test_a_folder_is_copied_with_all_it_holds(env: Environment) -> None:
    env.step(writing("model/deep/part.py", "print('part')"))
    env.step(writing("model/main.py", "print('main')"))
    assert env.step(copying("model", "backup/model")).ok
    assert content(env, "backup/model/deep/part.py") == "print('part')"
    env.step(writing("model/main.py", "changed"))
    assert content(env, "backup/model/main.py") == "print('main')"


@pytest.mark.parametrize(
    ("source", "destination", "about"),
    [
        ("train.py", "train.py", "itself"),
        ("model", "model/inner", "itself"),
        ("missing.py", "x.py", "missing.py"),
        ("model", "other", "other"),
        ("train.py", "model", "model"),
        ("train.py", "train.csv", "train.csv"),
        ("train.py", "train.csv/x", "train.csv"),
        ("train.py", "train.py/x", "train.py"),
        ("train.py", ".", "workspace"),
        (".", "everything", ""),
    ],
)
def test_a_copy_that_cannot_be_made_is_refused_in_words(
    env: Environment, source: str, destination: str, about: str
) -> None:
    env.step(writing("model/a.py", "a"))
    env.step(writing("other/b.py", "b"))
    said = env.step(copying(source, destination))
    assert not said.ok and about in said.text, said.text
    assert content(env, "other/b.py") == "b" and content(env, "model/a.py") == "a"


def test_reading_tells_what_cannot_be_shown(env: Environment) -> None:
    execute(
        env, "open('data.bin', 'wb').write(bytes(range(256)))\nopen('long.txt', 'w').write('é' * 150_000)"
    )
    binary = env.step(reading("data.bin"))
    assert not binary.ok and "not a text file" in binary.text
    long = env.step(reading("long.txt"))
    assert long.ok and len(long.text) < 110_000 and "cut after 200,000 bytes" in long.text
    missing = env.step(reading("missing.txt"))
    assert not missing.ok and "missing.txt" in missing.text
    folder = env.step(reading("."))
    assert not folder.ok


def test_a_failed_read_creates_nothing(env: Environment) -> None:
    env.step(reading("missing.txt"))
    env.step(inspecting("missing.py"))
    assert not (env.folder.workspace / "missing.txt").exists()
    assert not (env.folder.workspace / "missing.py").exists()


def test_inspecting_shows_exactly_the_lines_asked_for(env: Environment) -> None:
    env.step(writing("script.py", "".join(f"line {i}\n" for i in range(1, 251))))
    assert env.step(inspecting("script.py", 3, 5)).text == (
        "script.py, lines 3 to 5 of 250:\nline 3\nline 4\nline 5"
    )
    assert env.step(inspecting("script.py", 250, 300)).text.endswith("250 of 250:\nline 250")
    hundred = env.step(inspecting("script.py", 1, 100))
    assert hundred.ok and hundred.text.endswith("line 100")


@pytest.mark.parametrize(
    ("first", "last", "about"),
    [
        (1, 101, "At most 100"),
        (5, 4, "before the start"),
        (251, 252, "has 250 lines"),
        (0, 5, "start_line_number"),
    ],
)
def test_inspecting_says_which_lines_it_cannot_show(
    env: Environment, first: int, last: int, about: str
) -> None:
    env.step(writing("script.py", "".join(f"line {i}\n" for i in range(1, 251))))
    said = env.step(inspecting("script.py", first, last))
    assert not said.ok and about in said.text


def test_inspecting_counts_lines_as_python_and_editors_do(env: Environment) -> None:
    env.step(writing("script.py", "a = '\x0c'\nb = 2\u2028still b\nc = 3\n"))
    said = env.step(inspecting("script.py", 2, 3))
    assert said.text == "script.py, lines 2 to 3 of 3:\nb = 2\u2028still b\nc = 3"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_works_in_every_action_and_is_never_taken_apart(env: Environment, name: str) -> None:
    assert env.step(writing(name, "import sys; print('ran', sys.argv[1:])")).ok
    assert env.step(appending(name, "\nprint('twice')")).ok
    assert content(env, name).endswith("print('twice')")
    assert "twice" in env.step(inspecting(name)).text
    ran = env.step(Action("Execute Script", {"script_name": name, "arguments": ["a b", "-x", "$HOME"]}))
    assert ran.ok and ran.text.startswith("ran ['a b', '-x', '$HOME']\ntwice"), ran.text
    assert env.step(copying(name, f"copy of {name.replace('/', ' ')[:200]}")).ok
    assert env.step(undoing(name)).ok
    assert "twice" not in content(env, name)
    assert not (env.folder.workspace / "hit").exists()
    assert all(line.isprintable() for line in env.step(listing()).text.split("\n"))


class TestUndo:
    def test_restores_what_was_there_before_the_last_edit(self, env: Environment) -> None:
        before = content(env, "train.py")
        env.step(writing("train.py", "broken"))
        assert env.step(undoing("train.py")).ok
        assert content(env, "train.py") == before

    def test_twice_goes_back_two_edits(self, env: Environment) -> None:
        for version in ("one", "two", "three"):
            env.step(writing("model.py", version))
        env.step(undoing("model.py"))
        assert content(env, "model.py") == "two"
        env.step(undoing("model.py"))
        assert content(env, "model.py") == "one"

    def test_of_a_file_that_did_not_exist_removes_it(self, env: Environment) -> None:
        env.step(writing("new.py", "new"))
        assert env.step(undoing("new.py")).ok
        assert not (env.folder.workspace / "new.py").exists()
        again = env.step(undoing("new.py"))
        assert not again.ok and "no edit of new.py" in again.text

    def test_works_in_sub_folders_and_leaves_namesakes_alone(self, env: Environment) -> None:
        env.step(writing("a/train.py", "a1"))
        env.step(writing("b/train.py", "b1"))
        env.step(writing("a/train.py", "a2"))
        env.step(writing("b/train.py", "b2"))
        env.step(undoing("./a//train.py"))
        assert content(env, "a/train.py") == "a1"
        assert content(env, "b/train.py") == "b2"
        assert "a1" not in content(env, "train.py")

    def test_takes_back_a_copy_over_a_file_by_the_name_it_was_saved_under(self, env: Environment) -> None:
        env.step(writing("old.py", "old"))
        env.step(writing("new.py", "new"))
        env.step(copying("new.py", "old.py"))
        env.step(undoing("old.py"))
        assert content(env, "old.py") == "old"
        assert content(env, "new.py") == "new"

    def test_of_a_script_is_not_misled_by_a_copy_made_of_it_since(self, env: Environment) -> None:
        env.step(writing("model.py", "first"))
        env.step(writing("model.py", "second"))
        env.step(copying("model.py", "backup.py"))
        env.step(undoing("model.py"))
        assert content(env, "model.py") == "first"
        assert content(env, "backup.py") == "second"

    def test_of_a_copied_folder_removes_the_copy(self, env: Environment) -> None:
        env.step(writing("model/a.py", "a"))
        env.step(copying("model", "backup"))
        assert env.step(undoing("backup")).ok
        assert not (env.folder.workspace / "backup").exists()
        assert content(env, "model/a.py") == "a"

    def test_restores_the_exact_bytes_whatever_a_script_did_meanwhile(self, env: Environment) -> None:
        execute(env, "open('data.bin', 'wb').write(bytes(range(256)) * 9)")
        env.step(writing("data.bin", "text now"))
        execute(env, "open('data.bin', 'a').write('and more')")
        env.step(undoing("data.bin"))
        assert (env.folder.workspace / "data.bin").read_bytes() == bytes(range(256)) * 9

    def test_keeps_the_mode_of_the_file(self, env: Environment) -> None:
        execute(env, "import os; open('tool.sh', 'w').write('one'); os.chmod('tool.sh', 0o755)")
        env.step(writing("tool.sh", "two"))
        env.step(undoing("tool.sh"))
        assert (env.folder.workspace / "tool.sh").stat().st_mode & 0o777 == 0o755

    def test_without_an_edit_says_so(self, env: Environment) -> None:
        execute(env, "open('made.py', 'w').write('by a script')")
        for name in ("train.py", "made.py", "missing.py"):
            said = env.step(undoing(name))
            assert not said.ok and f"no edit of {name}" in said.text


def test_failed_actions_leave_everything_as_it_was(
    env: Environment, picture: Callable[..., dict[str, bytes]]
) -> None:
    env.step(writing("folder/file.txt", "text"))
    before = picture(env.folder.workspace)
    for action in (
        writing("train.csv", "x"),
        writing("folder", "x"),
        writing("folder/file.txt/below", "x"),
        appending("test.csv", "x"),
        appending("folder", "x"),
        copying("folder", "train.py"),
        writing("", "x"),
        writing("/etc/passwd", "x"),
        writing("x" * 300, "x"),
        writing("/".join("x" * 200), "x"),
    ):
        assert not env.step(action).ok, action
    assert picture(env.folder.workspace) == before
    assert [step.changes for step in env.history[1:]] == [()] * 10
