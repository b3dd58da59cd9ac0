"""Changes of a copy carried over into the original: exactly, not at all where it was changed, and after any kill."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.trees import tree

from mlagentbench.errors import PathRefusedError, UsageError
from mlagentbench.workspace import Change, Store, Workspace, diff
from mlagentbench.workspace.applying import apply_changes, with_needed

Picture = dict[str, bytes | str | None]
"""Files by their bytes, links by their target, folders as None."""


def build(folder: Path, content: Picture) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, what in sorted(content.items()):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if what is None:
            place.mkdir(exist_ok=True)
        elif isinstance(what, str):
            place.symlink_to(what)
        else:
            place.write_bytes(what)


class Scene:
    """An original, and a copy that was changed."""

    def __init__(self, folder: Path, before: Picture, after: Picture) -> None:
        self.original = folder / "original"
        self.store = Store(folder / "store")
        build(self.original, before)
        build(folder / "before", before)
        build(folder / "after", after)
        self.wanted = tree(folder / "after")
        self.before = self._snapshot(folder / "before")
        self.after = self._snapshot(folder / "after")
        self.changes = diff(self.store, self.before, self.after)

    def _snapshot(self, folder: Path) -> str:
        return Workspace(folder, self.store, {}, max_file=10**9).snapshot(executed=True).id

    def apply(self, *paths: str) -> tuple[str, ...]:
        chosen: list[Change] = list(self.changes)
        if paths:
            chosen = with_needed(self.changes, paths)
        return apply_changes(self.store, chosen, self.original, {}).changed


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Callable[[Picture, Picture], Scene]]:
    made: list[Scene] = []

    def make(before: Picture, after: Picture) -> Scene:
        made.append(Scene(tmp_path, before, after))
        return made[-1]

    yield make
    for each in made:
        each.store.close()


BEFORE: Picture = {
    "train.py": b"old\n",
    "gone.txt": b"gone",
    "lib/a.py": b"a",
    "lib/deep/b.py": b"b",
    "becomes-folder": b"file",
    "becomes-file/x": b"x",
    "becomes-file/y/z": b"z",
    "link": "train.py",
    "empty": None,
}
AFTER: Picture = {
    "train.py": b"new\n" * 500_000,
    "lib/a.py": b"a, changed",
    "new/folder/c.py": b"c",
    "becomes-folder/inner": b"inner",
    "becomes-file": b"a file now",
    "link": "lib/a.py",
    "lib/link": "../train.py",
    "another-empty": None,
}


def test_everything_is_applied_exactly_and_a_second_time_does_nothing(scene):
    one = scene(BEFORE, AFTER)
    (one.original / "train.py").chmod(0o644)
    assert one.apply()
    assert tree(one.original) == one.wanted
    assert one.apply() == ()


def test_one_file_is_applied_with_the_folders_it_needs_and_nothing_else(scene):
    one = scene(BEFORE, AFTER)
    before = tree(one.original)
    assert one.apply("new/folder/c.py") == ("new", "new/folder", "new/folder/c.py")
    after = tree(one.original)
    assert {name for name in after if name not in before} == {"new", "new/folder", "new/folder/c.py"}
    assert {name: after[name] for name in before} == before
    assert one.apply("becomes-file") == (
        "becomes-file",
        "becomes-file/x",
        "becomes-file/y",
        "becomes-file/y/z",
    )
    assert (one.original / "becomes-file").read_bytes() == b"a file now"


def test_a_folder_goes_with_the_last_of_its_files_and_not_before(scene):
    one = scene({"old/a": b"a", "old/deep/b": b"b", "keep": b"k"}, {"keep": b"k"})
    assert one.apply("old/deep/b") == ("old/deep", "old/deep/b")
    assert (one.original / "old" / "a").exists()
    one.apply("old/a", "old/deep/b")
    assert tree(one.original).keys() == {"keep"}


@pytest.mark.parametrize("executable", [True, False])
def test_modes_are_carried_over(tmp_path, executable):
    one = Scene(tmp_path, {"run.sh": b"x"}, {"run.sh": b"x"})
    (tmp_path / "after" / "run.sh").chmod(0o755 if executable else 0o600)
    one.after = one._snapshot(tmp_path / "after")
    one.changes = diff(one.store, one.before, one.after)
    assert one.apply() == ("run.sh",)
    assert (one.original / "run.sh").stat().st_mode & 0o7777 == (0o755 if executable else 0o600)
    one.store.close()


@pytest.mark.parametrize(
    ("meddle", "told"),
    [
        (lambda folder: (folder / "train.py").write_bytes(b"mine"), "'train.py' has been changed"),
        (lambda folder: (folder / "train.py").chmod(0o700), "'train.py' has been changed"),
        (lambda folder: (folder / "train.py").unlink(), "'train.py' is not there any more"),
        (lambda folder: (folder / "gone.txt").write_bytes(b"needed"), "'gone.txt' has been changed"),
        (lambda folder: (folder / "new").write_bytes(b"mine"), "'new' has come to be there"),
        (
            lambda folder: (folder / "another-empty").symlink_to("/etc"),
            "'another-empty' has come to be there",
        ),
        (lambda folder: (folder / "becomes-file" / "mine").write_bytes(b"x"), "holds 'mine'"),
        (lambda folder: _replaced_by_link(folder / "lib"), "is a link"),
        (lambda folder: _replaced_by_link(folder / "train.py"), "'train.py' has been changed"),
    ],
)
def test_what_was_changed_meanwhile_is_a_conflict_and_nothing_is_done(scene, tmp_path, meddle, told):
    one = scene(BEFORE, AFTER)
    meddle(one.original)
    before, elsewhere = tree(one.original), tree(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="Nothing was applied") as refusal:
        one.apply()
    assert told in str(refusal.value)
    assert tree(one.original) == before and tree(tmp_path / "elsewhere") == elsewhere


def _replaced_by_link(place: Path) -> None:
    """The same content, but elsewhere, behind a link."""
    elsewhere = place.parents[1] / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)


def test_what_was_not_copied_stays_in_a_folder_that_the_copy_lost(scene):
    one = scene({"old/a": b"a", "keep": b"k"}, {"keep": b"k"})
    (one.original / "old" / "data.bin").write_bytes(b"large")
    one.apply()
    assert tree(one.original).keys() == {"keep", "old", "old/data.bin"}


def test_a_link_in_place_of_the_folder_itself_is_where_the_person_said(scene, tmp_path):
    one = scene({"a": b"1"}, {"a": b"2"})
    one.original.rename(tmp_path / "real")
    one.original.symlink_to(tmp_path / "real")
    one.apply()
    assert (tmp_path / "real" / "a").read_bytes() == b"2"


CALLS = ("rename", "unlink", "mkdir", "rmdir", "symlink", "fchmod", "fsync")


def _dies_at(one: Scene, count: int) -> bool:
    """Apply in a process that is killed before its `count`-th change to the file system; False if it had fewer."""
    child = os.fork()
    if child == 0:
        left = count

        def dying(real):
            def call(*args, **kwargs):
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **kwargs)

            return call

        for name in CALLS:
            setattr(os, name, dying(getattr(os, name)))
        one.apply()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_kill_at_any_instant_leaves_each_file_old_or_new_and_to_apply_again_completes_it(tmp_path):
    killed = 0
    for count in range(1, 200):
        folder = tmp_path / str(count)
        one = Scene(folder, BEFORE, AFTER)
        before = tree(one.original)
        dead = _dies_at(one, count)
        killed += dead
        now = tree(one.original)
        for name in before.keys() | one.wanted.keys():
            makes_room = name.partition("/")[0] in ("becomes-folder", "becomes-file")
            allowed = {before.get(name), one.wanted.get(name)} | ({None} if makes_room else set())
            whole = now.get(name) in allowed
            assert whole or (folder / "after" / name).is_dir(), f"{name} is half done after {count}"
        one.apply()
        assert tree(one.original) == one.wanted, "nothing is left over either"
        one.store.close()
        if not dead:
            break
    assert killed > 20


names = st.sampled_from(["a", "b", "c", "é"])
leaves = st.binary(max_size=3) | st.sampled_from(["a", "../x", "nowhere"]) | st.none()


def _flat(content, prefix: str = "") -> Picture:
    found: Picture = {}
    for name, what in content.items():
        if isinstance(what, dict) and what:
            found |= _flat(what, f"{prefix}{name}/")
        else:
            found[f"{prefix}{name}"] = None if isinstance(what, dict) else what
    return found


pictures = st.recursive(
    st.dictionaries(names, leaves, max_size=3),
    lambda inner: st.dictionaries(names, leaves | inner, max_size=3),
    max_leaves=10,
).map(_flat)


@given(before=pictures, after=pictures)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
def test_any_folder_becomes_any_other(before, after):
    with tempfile.TemporaryDirectory() as temporary:
        one = Scene(Path(temporary), before, after)
        one.apply()
        assert tree(one.original) == one.wanted
        assert one.apply() == ()
        one.store.close()


def test_paths_that_lead_out_are_refused(tmp_path):
    from mlagentbench.workspace import Entry

    one = Scene(tmp_path, {}, {"a": b"1"})
    (change,) = one.changes
    for path in ("../escaped", "/tmp/escaped"):
        outward = Change(path, "added", None, Entry(path, "file", 0o644, 1, change.after.hash))
        with pytest.raises((UsageError, PathRefusedError)):
            apply_changes(one.store, [outward], one.original, {})
    assert not (tmp_path / "escaped").exists()
    one.store.close()
