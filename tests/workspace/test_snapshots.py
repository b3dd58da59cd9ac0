"""Snapshots notice every change, survive every tree, and look at nothing twice."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlagentbench.errors import PathRefusedError, RecordError, UsageError
from mlagentbench.workspace import (
    MAX_DEPTH,
    Store,
    Workspace,
    diff,
    entries,
    find,
    materialise,
    objects,
    read,
    remove_tree,
    scanning,
)


def make_deep(folder: Path, depth: int, mode: int = 0o755) -> None:
    """Nest folders, far beyond what a path can name, with a file at the bottom."""
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 50, dir_fd=inner)
        outer, inner = inner, os.open("d" * 50, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
    os.fchmod(inner, mode)
    os.close(inner)


def test_changes_are_told_by_path(space: Workspace, folder: Path) -> None:
    space.write("kept", b"kept")
    space.write("a/old", b"1")
    space.write("a/same", b"2")
    space.snapshot(executed=False)
    (folder / "a" / "old").unlink()
    (folder / "a" / "same").write_bytes(b"3")
    (folder / "b").mkdir()
    (folder / "b" / "new").write_bytes(b"4")
    (folder / "kept").chmod(0o600)
    changes = space.snapshot(executed=True).changes
    assert [(change.path, change.kind) for change in changes] == [
        ("a/old", "removed"),
        ("a/same", "changed"),
        ("b", "added"),
        ("b/new", "added"),
        ("kept", "changed"),
    ]
    assert space.snapshot(executed=True).changes == ()


@pytest.mark.parametrize("replacement", ["folder", "link", "fifo"])
def test_a_file_that_became_something_else_is_noticed(
    space: Workspace, folder: Path, store: Store, replacement: str
) -> None:
    space.write("a", b"")
    space.snapshot(executed=False)
    (folder / "a").unlink()
    make: dict[str, Callable[[Path], object]] = {
        "folder": Path.mkdir,
        "link": lambda path: path.symlink_to("b"),
        "fifo": os.mkfifo,
    }
    make[replacement](folder / "a")
    taken = space.snapshot(executed=True)
    assert [(c.path, c.kind) for c in taken.changes] == [("a", "changed")]
    found = find(store, taken.id, "a")
    assert found is not None
    assert found.kind == replacement


def test_an_edit_that_keeps_size_and_time_is_noticed(space: Workspace, folder: Path, store: Store) -> None:
    path = folder / "a"
    path.write_bytes(b"before")
    status = path.stat()
    settled(space)
    path.write_bytes(b"after!")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read(store, space.snapshot(executed=True).id, "a", 10) == b"after!"


@pytest.mark.parametrize(("age", "read_again"), [(0.001, True), (0.015, True), (1.0, False)])
def test_a_file_so_young_that_its_times_could_repeat_is_read_again(
    space: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch, age: float, read_again: bool
) -> None:
    (folder / "a").write_bytes(b"a")
    now = (folder / "a").stat().st_ctime_ns + int(age * 10**9)
    monkeypatch.setattr(scanning.time, "time_ns", lambda: now)
    space.snapshot(executed=True)
    reads = []
    real = Store.absorb
    monkeypatch.setattr(Store, "absorb", lambda *arguments: (reads.append(1), real(*arguments))[1])
    space.snapshot(executed=True)
    assert bool(reads) == read_again


def test_an_edit_right_after_a_snapshot_is_noticed(space: Workspace, folder: Path, store: Store) -> None:
    """Within the granularity of file times, two edits look alike, so young files must be read again."""
    path = folder / "a"
    for number in range(200):
        with path.open("r+b" if number else "wb") as file:
            file.write(b"%06d" % number)
        assert read(store, space.snapshot(executed=True).id, "a", 10) == b"%06d" % number


def test_an_edit_right_after_a_write_of_the_harness_is_noticed(
    space: Workspace, folder: Path, store: Store
) -> None:
    space.snapshot(executed=True)
    for number in range(200):
        space.write("a", b"%06d" % number)
        space.snapshot(executed=False)
        with (folder / "a").open("r+b") as file:
            file.write(b"edited")
        assert read(store, space.snapshot(executed=True).id, "a", 10) == b"edited"


def settled(space: Workspace) -> None:
    """Take snapshots until no file is so young that it has to be read again."""
    while space.snapshot(executed=True) and space._fresh:
        pass


def test_files_that_did_not_change_are_not_read_again(
    space: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (folder / f"{number}").write_bytes(b"%d" % number)
    settled(space)
    monkeypatch.setattr(Store, "absorb", lambda *_: pytest.fail("read again"))
    assert space.snapshot(executed=True).changes == ()


def test_after_a_restore_files_are_not_read_again(
    space: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"a")
    taken = space.snapshot(executed=True)
    (folder / "a").write_bytes(b"b")
    space.restore(taken.id)
    settled(space)
    monkeypatch.setattr(Store, "absorb", lambda *_: pytest.fail("read again"))
    assert space.snapshot(executed=True).id == taken.id


def test_where_nothing_ran_nothing_is_scanned(space: Workspace) -> None:
    space.write("inner/a", b"1")
    space.snapshot(executed=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", lambda *_: pytest.fail("scanned"))
        space.write("inner/a", b"2")
        assert [change.path for change in space.snapshot(executed=False).changes] == ["inner/a"]
        assert space.snapshot(executed=False).changes == ()


def test_an_adopted_workspace_is_checked_by_the_next_scan(
    space: Workspace, folder: Path, store: Store
) -> None:
    space.write("inner/a", b"1")
    space.write("b", b"2")
    taken = space.snapshot(executed=False)
    later = Workspace(folder, store, {}, max_file=10**6)
    later.adopt(taken.id)
    assert later.snapshot(executed=False).id == taken.id
    (folder / "b").write_bytes(b"3")
    assert [change.path for change in later.snapshot(executed=True).changes] == ["b"]


def test_a_file_that_is_too_large_is_noted_once_and_not_kept(
    space: Workspace, folder: Path, store: Store, tmp_path: Path
) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)
    taken = space.snapshot(executed=True)
    assert taken.notes == ("'sparse' is not kept in snapshots: larger than 1 MB.",)
    entry = find(store, taken.id, "sparse")
    assert entry is not None
    assert (entry.kind, entry.size) == ("unkept", 2**40)
    assert space.snapshot(executed=True).notes == ()
    with pytest.raises(PathRefusedError, match="The content of 'sparse' was not kept: larger than 1 MB"):
        read(store, taken.id, "sparse", 10)
    materialise(store, taken.id, tmp_path / "laid")
    assert list((tmp_path / "laid").iterdir()) == []


def test_restoring_leaves_alone_what_need_not_change(space: Workspace, folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)
    space.write("a/same", b"same")
    space.write("a/edited", b"before")
    taken = space.snapshot(executed=True)
    kept = {name: (folder / name).stat() for name in ("a", "a/same", "sparse")}
    space.write("a/edited", b"after")
    (folder / "a" / "new").mkdir()
    space.restore(taken.id)
    assert {path.name for path in (folder / "a").iterdir()} == {"same", "edited"}
    assert (folder / "a" / "edited").read_bytes() == b"before"
    for name, status in kept.items():
        now = (folder / name).stat()
        assert (now.st_ino, now.st_size, now.st_mode) == (status.st_ino, status.st_size, status.st_mode)
    assert space.snapshot(executed=True).id == taken.id


def test_restoring_works_on_a_workspace_that_is_gone(space: Workspace, folder: Path) -> None:
    space.write("a/b", b"x")
    taken = space.snapshot(executed=True)
    remove_tree(folder)
    space.restore(taken.id)
    assert (folder / "a" / "b").read_bytes() == b"x"


def test_a_recheck_finds_what_a_mapped_file_hides(space: Workspace, folder: Path, store: Store) -> None:
    (folder / "a").write_bytes(b"before")
    with (folder / "a").open("r+b") as file, mmap.mmap(file.fileno(), 6) as mapped:
        mapped[:] = b"second"
        settled(space)
        mapped[:] = b"third!"
        space.recheck()
        assert read(store, space.snapshot(executed=True).id, "a", 10) == b"third!"


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 3000])
def test_folders_are_kept_down_to_a_depth(space: Workspace, folder: Path, store: Store, depth: int) -> None:
    empty = space.snapshot(executed=True)
    make_deep(folder, depth, mode=0o555)
    taken = space.snapshot(executed=True)
    kinds = [entry.kind for entry in entries(store, taken.id)]
    if depth == MAX_DEPTH:
        assert kinds == ["folder"] * MAX_DEPTH + ["file"]
    else:
        assert kinds == ["folder"] * MAX_DEPTH + ["unkept"]
        assert "nested deeper than 100 folders" in taken.notes[0]
    space.restore(taken.id)
    assert space.snapshot(executed=True).id == taken.id
    space.restore(empty.id)
    assert list(folder.iterdir()) == []
    make_deep(folder, depth, mode=0)
    space.remove("d" * 50)
    assert list(folder.iterdir()) == []


def test_modes_that_forbid_everything_forbid_no_snapshot(
    space: Workspace, folder: Path, store: Store, picture: Callable[[Path], Any]
) -> None:
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "inner" / "file").write_bytes(b"x")
    for mode in (0, 0o100, 0o200, 0o400):
        (folder / "closed" / "inner" / "file").chmod(mode)
        (folder / "closed" / "inner").chmod(mode)
        (folder / "closed").chmod(mode)
        taken = space.snapshot(executed=True)
        assert stat.S_IMODE((folder / "closed").stat().st_mode) == mode
        found = find(store, taken.id, "closed/inner/file")
        assert found is not None
        assert (found.mode, found.size) == (mode, 1)
        before = picture(folder)
        space.restore(taken.id)
        assert picture(folder) == before
        (folder / "closed").chmod(0o700)
        (folder / "closed" / "inner").chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device nodes")
def test_a_device_is_recorded_and_never_made(
    space: Workspace, folder: Path, store: Store, tmp_path: Path
) -> None:
    os.mknod(folder / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    taken = space.snapshot(executed=True)
    entry = find(store, taken.id, "zero")
    assert entry is not None
    assert (entry.kind, entry.target) == ("device", "character 1:5")
    materialise(store, taken.id, tmp_path / "laid")
    assert list((tmp_path / "laid").iterdir()) == []


def test_a_file_that_vanishes_during_the_scan_is_absent(
    space: Workspace, folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"a")
    (folder / "b").write_bytes(b"b")
    real = os.open

    def vanish(path: Any, *arguments: Any, **keywords: Any) -> int:
        if path == "a":
            (folder / "a").unlink()
        return real(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", vanish)
    assert [entry.path for entry in entries(store, space.snapshot(executed=True).id)] == ["b"]


@pytest.fixture
def public(tmp_path: Path) -> Path:
    (tmp_path / "public" / "images").mkdir(parents=True)
    (tmp_path / "public" / "images" / "1").write_bytes(b"1")
    (tmp_path / "public" / "train.csv").write_bytes(b"id\n")
    return tmp_path / "public"


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize(
    ("damage", "place"),
    [
        (lambda folder: remove_tree(folder / "data"), "'data'"),
        (lambda folder: (folder / "data").rename(folder / "moved"), "'data'"),
        (lambda folder: remove_tree(folder / "data" / "images"), "'data/images'"),
        (lambda folder: (remove_tree(folder / "data"), (folder / "data").write_text("")), "'data'"),
        (lambda folder: (remove_tree(folder / "data"), (folder / "data").symlink_to("/etc")), "'data'"),
        (lambda folder: ((folder / "train.csv").unlink(), (folder / "train.csv").mkdir()), "'train.csv'"),
        (lambda folder: ((folder / "train.csv").unlink(), os.mkfifo(folder / "train.csv")), "'train.csv'"),
        (
            lambda folder: ((folder / "train.csv").unlink(), (folder / "train.csv").write_text("forged")),
            "'train.csv'",
        ),
        (
            lambda folder: (
                (folder / "train.csv").unlink(),
                (folder / "train.csv").symlink_to("/etc/passwd"),
            ),
            "'train.csv'",
        ),
    ],
)
def test_read_only_places_are_set_right_and_it_is_said(
    folder: Path, store: Store, public: Path, link: bool, damage: Callable[[Path], object], place: str
) -> None:
    read_only = {"train.csv": public / "train.csv", "data/images": public / "images"}
    space = Workspace(folder, store, read_only, link_read_only=link, max_file=10**6)
    space.lay_placeholders()
    assert space.snapshot(executed=True).notes == ()
    damage(folder)
    taken = space.snapshot(executed=True)
    assert any(note.startswith(f"{place} is a read-only place") for note in taken.notes)
    assert not any(entry.path in ("train.csv", "data/images") for entry in entries(store, taken.id))
    assert space.snapshot(executed=True).notes == ()
    assert (public / "train.csv").read_bytes() == b"id\n"
    assert (public / "images" / "1").read_bytes() == b"1"
    assert (folder / "train.csv").is_symlink() == (folder / "data" / "images").is_symlink() == link


@pytest.mark.parametrize("link", [False, True])
def test_restoring_lays_the_read_only_places_too(
    folder: Path, store: Store, public: Path, link: bool
) -> None:
    read_only = {"train.csv": public / "train.csv", "data/images": public / "images"}
    space = Workspace(folder, store, read_only, link_read_only=link, max_file=10**6)
    empty = space.snapshot(executed=True)
    space.lay_placeholders()
    space.write("a", b"a")
    taken = space.snapshot(executed=False)
    space.restore(empty.id)
    assert {path.name for path in folder.iterdir()} == {"train.csv", "data"}
    assert space.snapshot(executed=False).id == space.snapshot(executed=True).id
    space.restore(taken.id)
    assert space.snapshot(executed=True).id == taken.id
    assert (public / "images" / "1").read_bytes() == b"1"


def test_snapshots_are_read_without_a_workspace(space: Workspace, store: Store) -> None:
    space.write("a/b", b"content")
    first = space.snapshot(executed=False).id
    space.write("a/c", b"more")
    second = space.snapshot(executed=False).id
    assert read(store, first, "a/b", 7) == b"content"
    assert [change.path for change in diff(store, first, second)] == ["a/c"]
    assert diff(store, first, first) == ()
    assert find(store, first, "a/c") is None
    assert find(store, first, "a/b/c") is None
    for path, sentence in {"a": "'a' is a folder", "x": "There is no 'x'", "../a": "contains '..'"}.items():
        with pytest.raises(PathRefusedError, match=sentence):
            read(store, first, path, 100)
    with pytest.raises(PathRefusedError, match="at most 6 B is read here"):
        read(store, first, "a/b", 6)
    assert len(objects(store, second)) == 4


def test_equal_folders_are_not_even_read(
    space: Workspace, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.write("same/a", b"1")
    space.write("other/a", b"2")
    first = space.snapshot(executed=False).id
    space.write("other/a", b"3")
    second = space.snapshot(executed=False).id
    same = find(store, first, "same")
    assert same is not None
    got: list[str] = []
    real = Store.get
    monkeypatch.setattr(Store, "get", lambda self, name, *bound: (got.append(name), real(self, name))[1])
    assert [change.path for change in diff(store, first, second)] == ["other/a"]
    assert len(got) == 4
    assert same.hash not in got


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc", "a\\u0000b"])
def test_a_forged_tree_cannot_lead_outside(store: Store, tmp_path: Path, name: str) -> None:
    tree = store.put(
        b'["mlagentbench tree 1",493]\n["%s","file",420,1,"%s",""]'
        % (name.encode(), store.put(b"x").encode())
    )
    with pytest.raises(RecordError, match="is not a tree"):
        materialise(store, tree, tmp_path / "laid")
    with pytest.raises(RecordError, match="is not a tree"):
        list(entries(store, tree))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"hello", b'["mlagentbench tree 1",-1]', b'["mlagentbench tree 1",493]\n[']
)
def test_what_is_not_a_tree_is_no_snapshot(store: Store, data: bytes) -> None:
    with pytest.raises(RecordError, match="is not a tree"):
        list(entries(store, store.put(data)))


def test_a_damaged_object_is_not_laid(space: Workspace, store: Store, tmp_path: Path) -> None:
    large = b"x" * 900_000
    for data in (b"small", large, large * 2):
        name = store.put(data)
        tree = store.put(
            b'["mlagentbench tree 1",493]\n["a","file",420,%d,"%s",""]' % (len(data), name.encode())
        )
        store.close()
        path = store.folder / "objects" / name
        path.chmod(0o600)
        path.write_bytes(b"y" * len(data))
        with pytest.raises(RecordError, match=f"{name} is damaged"):
            materialise(store, tree, tmp_path / name)


def test_a_snapshot_is_laid_only_into_an_empty_folder(space: Workspace, store: Store, tmp_path: Path) -> None:
    (tmp_path / "full" / "of").mkdir(parents=True)
    with pytest.raises(UsageError, match="is not empty"):
        materialise(store, space.snapshot(executed=True).id, tmp_path / "full")


def test_any_tree_can_be_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "closed" / "inner").mkdir(parents=True)
    (top / "closed" / "inner" / "file").touch()
    (top / ".removing-0").write_bytes(b"in the way")
    (top / ".removing-1").mkdir()
    (top / "out").symlink_to(tmp_path)
    for number in range(3):
        wide = top / f"wide{number}"
        wide.mkdir()
        make_deep(wide, 2500, mode=0)
    (top / "closed" / "inner").chmod(0)
    (top / "closed").chmod(0)
    top.chmod(0)
    limit = len(list(Path("/dev/fd").iterdir()))
    remove_tree(top)
    assert not top.exists()
    assert len(list(Path("/dev/fd").iterdir())) == limit
    remove_tree(top)
    remove_tree(tmp_path / "no" / "such")
    assert tmp_path.exists()
