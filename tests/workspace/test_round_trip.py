"""Any tree comes back from its snapshot as it was."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.errors import PathRefusedError
from mlagentbench.workspace import Store, Workspace, diff, entries, materialise, remove_tree

quietly = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)

names = (
    (st.binary(min_size=1, max_size=20) | st.text("aé\n \\'\"*", min_size=1, max_size=8).map(os.fsencode))
    .map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_"))
    .filter(lambda name: name not in (b".", b".."))
    .map(os.fsdecode)
) | st.sampled_from(["x" * 255, "é" * 127, "-rf", "~", ".writing-0", ".removing-0", '","file"'])
targets = names | st.sampled_from(["/etc/passwd", "..", "missing", "a/b", "\udcff\udcfe"])
modes = st.integers(0, 0o777) | st.sampled_from([0, 0o644, 0o755])


@pytest.fixture(name="trees")
def trees_of(thing: Any) -> st.SearchStrategy[dict[str, Any]]:
    leaf = (
        st.builds(thing, st.just("file"), modes, st.binary(max_size=40))
        | st.builds(thing, st.just("link"), target=targets)
        | st.builds(thing, st.sampled_from(["fifo", "socket"]), modes)
    )
    return st.dictionaries(
        names,
        st.recursive(
            leaf,
            lambda inner: st.builds(
                thing, st.just("folder"), modes, inner=st.dictionaries(names, inner, max_size=4)
            ),
            max_leaves=12,
        ),
        max_size=5,
    )


@given(data=st.data())
@quietly
def test_a_snapshot_of_any_tree_is_laid_and_restored_exactly(
    data: st.DataObject, trees: Any, build: Callable[..., None], picture: Callable[[Path], Any]
) -> None:
    with tempfile.TemporaryDirectory() as temporary, Store(Path(temporary) / "store") as store:
        folder, copy = Path(temporary) / "space", Path(temporary) / "copy"
        try:
            folder.mkdir()
            build(folder, data.draw(trees))
            root_mode = data.draw(modes)
            folder.chmod(root_mode)
            space = Workspace(folder, store, {}, max_file=10**6)
            taken = space.snapshot(executed=True)
            assert folder.stat().st_mode & 0o7777 == root_mode
            folder.chmod(0o700)
            original = picture(folder)
            assert {entry.path for entry in entries(store, taken.id)} == set(original)
            assert {change.path for change in taken.changes} == set(original)

            materialise(store, taken.id, copy)
            assert copy.stat().st_mode & 0o7777 == root_mode
            copy.chmod(0o700)
            assert picture(copy) == original

            remove_tree(folder)
            folder.mkdir()
            build(folder, data.draw(trees))
            other = space.snapshot(executed=True)
            space.restore(taken.id)
            assert folder.stat().st_mode & 0o7777 == root_mode
            again = Workspace(folder, store, {}, max_file=10**6).snapshot(executed=True)
            assert again.id == taken.id
            folder.chmod(0o700)
            assert picture(folder) == original

            forth, back = diff(store, taken.id, other.id), diff(store, other.id, taken.id)
            assert [(c.path, c.before, c.after) for c in forth] == [(c.path, c.after, c.before) for c in back]
            before = {entry.path: entry for entry in entries(store, taken.id)}
            assert {c.path for c in forth if c.before} <= set(before)
            unchanged = set(before) - {c.path for c in forth}
            after = {entry.path: entry for entry in entries(store, other.id)}
            for path in unchanged:
                assert before[path].kind == after[path].kind == "folder" or before[path] == after[path]
        finally:
            remove_tree(folder)
            remove_tree(copy)


words = st.sampled_from(
    ["a", "b", "c", "data", "train.csv", "deep/er", "a/x", "data/notes", "new/y/z", "é\n"]
)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("write"), words, st.binary(max_size=5)),
        st.tuples(st.just("append"), words, st.binary(max_size=5)),
        st.tuples(st.just("copy"), words, words),
        st.tuples(st.just("remove"), words),
        st.tuples(st.just("snapshot")),
    ),
    max_size=14,
)


@given(steps=operations, link=st.booleans())
@quietly
def test_what_the_harness_did_itself_needs_no_scan(steps: list[Any], link: bool) -> None:
    with tempfile.TemporaryDirectory() as temporary, Store(Path(temporary) / "store") as store:
        folder, public = Path(temporary) / "space", Path(temporary) / "public"
        (folder / "a").mkdir(parents=True)
        (folder / "a" / "x").write_bytes(b"starter")
        (folder / "a" / "x").chmod(0o755)
        (public / "images").mkdir(parents=True)
        (public / "images" / "1.png").write_bytes(b"png")
        (public / "images" / "1.png").chmod(0o444)
        (public / "train.csv").write_bytes(b"id,y\n")
        read_only = {"train.csv": public / "train.csv", "data/images": public / "images"}

        def workspace() -> Workspace:
            return Workspace(folder, store, read_only, link_read_only=link, max_file=10**6)

        space = workspace()
        space.lay_placeholders()
        space.snapshot(executed=True)
        for operation, *arguments in steps:
            try:
                if operation == "snapshot":
                    space.snapshot(executed=False)
                else:
                    getattr(space, operation)(*arguments)
            except PathRefusedError:
                pass
        known = space.snapshot(executed=False)
        scanned = workspace().snapshot(executed=True)
        assert scanned.notes == ()
        assert list(entries(store, known.id)) == list(entries(store, scanned.id))
        assert known.id == scanned.id
        assert space.snapshot(executed=True).changes == ()
        assert not [path for path in folder.rglob("*") if ".writing" in path.name]
        remove_tree(folder)
