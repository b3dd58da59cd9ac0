"""What agents do with files: by forgiving paths, all or nothing, never where it is read-only."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlagentbench.errors import PathRefusedError, UsageError
from mlagentbench.workspace import MAX_DEPTH, Store, Workspace


@pytest.fixture
def public(tmp_path: Path) -> Path:
    public = tmp_path / "public"
    (public / "images").mkdir(parents=True)
    (public / "images" / "1.png").write_bytes(b"png")
    (public / "train.csv").write_bytes(b"id,y\n")
    for path in (public / "images" / "1.png", public / "train.csv"):
        path.chmod(0o444)
    return public


@pytest.fixture(params=["mount", "link"])
def shown(request: pytest.FixtureRequest, folder: Path, store: Store, public: Path) -> Workspace:
    """A workspace with read-only data, shown by mount points or by links."""
    read_only = {"train.csv": public / "train.csv", "data/images": public / "images"}
    space = Workspace(folder, store, read_only, link_read_only=request.param == "link", max_file=10**6)
    space.lay_placeholders()
    return space


@pytest.mark.parametrize(
    "path", ["a/b.py", "./a/b.py", "a//b.py", "/workspace/a/b.py", "/workspace//a/./b.py"]
)
def test_one_file_has_many_spellings(space: Workspace, folder: Path, path: str) -> None:
    space.write(path, b"x")
    assert (folder / "a" / "b.py").read_bytes() == b"x"
    assert space.read(path, 10) == b"x"
    assert space.exists(path)


def test_the_agent_may_know_the_workspace_by_another_path(folder: Path, store: Store) -> None:
    space = Workspace(folder, store, {}, max_file=10, seen_as="/home/agent/work/")
    space.write("/home/agent/work/x", b"x")
    assert space.read("x", 10) == b"x"
    with pytest.raises(PathRefusedError, match="outside"):
        space.write("/home/agent/workshop/x", b"x")


def test_new_files_and_folders_have_plain_modes_whatever_the_mask(space: Workspace, folder: Path) -> None:
    mask = os.umask(0o077)
    try:
        space.write("a/b", b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "a" / "b").stat().st_mode) == 0o644


def test_a_file_that_is_there_keeps_its_mode(space: Workspace, folder: Path) -> None:
    (folder / "run.sh").write_bytes(b"old")
    (folder / "run.sh").chmod(0o750)
    space.write("run.sh", b"new")
    space.append("run.sh", b"er")
    assert (folder / "run.sh").read_bytes() == b"newer"
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o750


def test_a_write_that_fails_changes_nothing(space: Workspace, folder: Path) -> None:
    space.write("a", b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", full)
        with pytest.raises(OSError, match="no space left"):
            space.write("a", b"new")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a": b"old"}


def test_a_file_with_other_names_is_not_written_through_them(
    space: Workspace, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_bytes(b"outside")
    os.link(tmp_path / "outside", folder / "hard")
    space.write("hard", b"inside")
    space.append("hard", b"!")
    assert (tmp_path / "outside").read_bytes() == b"outside"
    assert (folder / "hard").read_bytes() == b"inside!"


def refusals(space: Workspace, folder: Path, tmp_path: Path) -> dict[str, tuple[Callable[[], object], str]]:
    (folder / "file").write_bytes(b"x")
    (folder / "folder" / "inner").mkdir(parents=True)
    (folder / "link").symlink_to("file")
    (folder / "out").symlink_to(tmp_path)
    os.mkfifo(folder / "fifo")
    (folder / "pipes").mkdir()
    os.mkfifo(folder / "pipes" / "fifo")
    (folder / "huge").mkdir()
    with (folder / "huge" / "sparse").open("wb") as file:
        file.truncate(2**40)
    deep = "/".join(["d"] * (MAX_DEPTH + 1))
    return {
        "write to the workspace": (lambda: space.write(".", b""), "That is the workspace itself"),
        "write to a folder": (lambda: space.write("folder", b""), "'folder' is a folder, not a plain file"),
        "write to a link": (lambda: space.write("link", b""), "'link' is a link"),
        "write beneath a link": (lambda: space.write("out/new", b""), "'out' is a link"),
        "write to a fifo": (lambda: space.write("fifo", b""), "'fifo' is a FIFO"),
        "append to a fifo": (lambda: space.append("fifo", b""), "'fifo' is a FIFO"),
        "append to a link": (lambda: space.append("link", b""), "'link' is a link"),
        "write beneath a file": (lambda: space.write("file/new", b""), "'file' is not a folder"),
        "write too much": (lambda: space.write("new", b"x" * 1_000_001), "1 MB are too many for 'new'"),
        "write too deep": (lambda: space.write(deep, b""), f"nested deeper than {MAX_DEPTH} folders"),
        "copy into itself": (lambda: space.copy("folder", "folder/inner/x"), "into itself"),
        "copy onto itself": (lambda: space.copy("file", "file"), "to itself"),
        "copy the workspace": (lambda: space.copy("", "all"), "into itself"),
        "copy over a folder": (lambda: space.copy("file", "folder"), "'folder' is a folder"),
        "copy a folder over a file": (lambda: space.copy("folder", "file"), "already a plain file at 'file'"),
        "copy nothing": (lambda: space.copy("missing", "new"), "There is no 'missing'"),
        "copy from beneath a link": (lambda: space.copy("out/space", "new"), "'out' is a link"),
        "copy a fifo": (lambda: space.copy("pipes", "new"), "'pipes/fifo' is a fifo and cannot be copied"),
        "copy a huge file": (
            lambda: space.copy("huge", "new"),
            "'huge/sparse' cannot be copied: it is larger",
        ),
        "copy too deep": (lambda: space.copy("folder", "d/" * 98 + "x/y"), "nested deeper"),
        "list a file": (lambda: space.list("file"), "'file' is not a folder"),
        "list beneath a link": (lambda: space.list("out"), "'out' is a link"),
        "list nothing": (lambda: space.list("missing"), "There is no 'missing'"),
        "remove nothing": (lambda: space.remove("missing/x"), "There is no 'missing/x'"),
        "remove the workspace": (lambda: space.remove("."), "That is the workspace itself"),
        "remove beneath a link": (lambda: space.remove("out/space"), "'out' is a link"),
    }


def test_what_cannot_be_done_is_said_and_nothing_is_changed(
    space: Workspace, folder: Path, tmp_path: Path
) -> None:
    cases = refusals(space, folder, tmp_path)
    before = sorted(str(path) for path in folder.rglob("*"))
    for what, (attempt, sentence) in cases.items():
        with pytest.raises(PathRefusedError) as caught:
            attempt()
        assert sentence in str(caught.value), what
        assert sorted(str(path) for path in folder.rglob("*")) == before, what


def test_a_folder_is_copied_with_all_that_is_in_it(
    space: Workspace, folder: Path, picture: Callable[[Path], Any]
) -> None:
    (folder / "a" / "empty").mkdir(parents=True)
    (folder / "a" / "run.sh").write_bytes(b"#!")
    (folder / "a" / "run.sh").chmod(0o755)
    (folder / "a" / "link").symlink_to("nowhere")
    space.copy("a", "deep/b")
    assert picture(folder / "deep" / "b") == picture(folder / "a")


def test_removing_a_link_leaves_what_it_leads_to(space: Workspace, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "canary").mkdir()
    (tmp_path / "canary" / "x").write_bytes(b"x")
    (folder / "inner").mkdir()
    (folder / "inner" / "link").symlink_to(tmp_path / "canary")
    space.remove("inner")
    assert (tmp_path / "canary" / "x").read_bytes() == b"x"
    assert space.list() == []


def test_read_only_data_are_listed_and_read_in_their_places(shown: Workspace) -> None:
    shown.write("data/notes.txt", b"mine")
    assert [(entry.path, entry.kind, entry.read_only) for entry in shown.list()] == [
        ("data", "folder", False),
        ("train.csv", "file", True),
    ]
    assert [(entry.path, entry.read_only) for entry in shown.list("data")] == [
        ("data/images", True),
        ("data/notes.txt", False),
    ]
    (image,) = shown.list("./data/images/")
    assert (image.path, image.size, image.read_only) == ("data/images/1.png", 3, True)
    assert shown.read("train.csv", 100) == b"id,y\n"
    assert shown.read("/workspace/data/images/1.png", 100) == b"png"
    assert shown.exists("data/images/1.png")
    assert not shown.exists("data/images/2.png")


def test_refusals_call_read_only_data_by_the_agents_path(folder: Path, store: Store, public: Path) -> None:
    (public / "images" / "link").symlink_to("1.png")
    space = Workspace(folder, store, {"deep/pictures": public / "images"}, max_file=10**6)
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("There is no 'deep/pictures/2.png'", lambda: space.read("deep/pictures/2.png", 10)),
        ("'deep/pictures/link' is a link", lambda: space.read("deep/pictures/link", 10)),
        ("'deep/pictures' is a folder", lambda: space.read("deep/pictures", 10)),
        ("'deep/pictures/1.png' has 3 B", lambda: space.read("deep/pictures/1.png", 2)),
        ("'deep/pictures/1.png' is not a folder", lambda: space.list("deep/pictures/1.png")),
        ("There is no 'deep/pictures/a'", lambda: space.copy("deep/pictures/a/b", "c")),
        ("There is no 'deep/pictures/2.png'", lambda: space.copy("deep/pictures/2.png", "c")),
    ]
    for sentence, attempt in attempts:
        with pytest.raises(PathRefusedError, match=re.escape(sentence)):
            attempt()


@pytest.mark.parametrize(
    "path",
    ["train.csv", "./train.csv", "data//images", "data/images/1.png", "data/images/new", "train.csv/x"],
)
@pytest.mark.parametrize("way", ["write", "append", "copy", "remove"])
def test_read_only_data_cannot_be_changed(shown: Workspace, public: Path, path: str, way: str) -> None:
    shown.write("mine", b"x")
    attempts = {
        "write": lambda: shown.write(path, b"x"),
        "append": lambda: shown.append(path, b"x"),
        "copy": lambda: shown.copy("mine", path),
        "remove": lambda: shown.remove(path),
    }
    with pytest.raises(PathRefusedError, match="is read-only; write to another path"):
        attempts[way]()
    assert (public / "train.csv").read_bytes() == b"id,y\n"
    assert [path.name for path in (public / "images").iterdir()] == ["1.png"]


def test_a_folder_above_read_only_data_cannot_be_removed(shown: Workspace) -> None:
    with pytest.raises(PathRefusedError, match="'data' holds read-only data"):
        shown.remove("data")


def test_a_copy_of_read_only_data_can_be_changed(shown: Workspace, folder: Path) -> None:
    shown.copy("train.csv", "mine.csv")
    shown.copy("data", "mine")
    shown.append("mine.csv", b"1,2\n")
    shown.write("mine/images/1.png", b"changed")
    assert (folder / "mine.csv").read_bytes() == b"id,y\n1,2\n"
    assert stat.S_IMODE((folder / "mine" / "images" / "1.png").stat().st_mode) & 0o600 == 0o600
    assert (folder / "mine" / "images" / "1.png").read_bytes() == b"changed"


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        ({"data": "images", "data/images": "images"}, "lies inside another"),
        ({"data/images": "images", "data": "images"}, "lies inside another"),
        ({"": "images"}, "lies inside another"),
        ({"x": "missing"}, "does not exist"),
    ],
)
def test_places_that_make_no_sense_are_refused(
    folder: Path, store: Store, public: Path, places: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        Workspace(folder, store, {at: public / name for at, name in places.items()}, max_file=1)
