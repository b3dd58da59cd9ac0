"""Whatever path an agent names, it is inside or refused, and nothing outside is read or changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.errors import PathRefusedError
from mlagentbench.workspace import Store, Workspace, remove_tree

SECRET = b"the hidden answers"

parts = st.sampled_from(
    [
        "..", ".", "", "inner", "file", "out", "out-file", "up", "loop", "dangling", "fifo", "public", "root",
        "train.csv", "canary", "secret", "\0", "\udc80", "\ud800", "x" * 256, "é", "-", "~", "*", "a b", "\n",
    ]
) | st.text(max_size=5)  # fmt: skip
starts = st.sampled_from(
    ["", "", "", "/", "/workspace/", "/workspace", "//", "./", "/workspace/../", "CANARY/"]
)
paths = st.tuples(starts, st.lists(parts, max_size=5)).map(lambda drawn: drawn[0] + "/".join(drawn[1]))
actions = st.lists(
    st.tuples(st.sampled_from(["write", "append", "copy", "remove", "read", "list", "exists"]), paths, paths),
    min_size=1,
    max_size=12,
)


@given(steps=actions, link=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
def test_every_path_is_inside_or_refused(
    steps: list[tuple[str, str, str]], link: bool, picture: Callable[[Path], Any]
) -> None:
    with tempfile.TemporaryDirectory() as temporary, Store(Path(temporary) / "store") as store:
        top = Path(temporary)
        folder, canary, public = top / "space", top / "canary", top / "public"
        for path in (folder / "inner", canary / "inner", public / "root"):
            path.mkdir(parents=True)
        (canary / "secret").write_bytes(SECRET)
        (canary / "only-outside").write_bytes(SECRET)
        (canary / "inner" / "only-outside").write_bytes(SECRET)
        (public / "train.csv").write_bytes(b"public")
        (public / "root" / "out").symlink_to(canary)
        (folder / "file").write_bytes(b"mine")
        (folder / "out").symlink_to(canary)
        (folder / "inner" / "out-file").symlink_to(canary / "secret")
        (folder / "inner" / "up").symlink_to("../../canary")
        (folder / "root").symlink_to("/proc/self/root")
        (folder / "loop").symlink_to("loop")
        (folder / "dangling").symlink_to(canary / "new")
        os.mkfifo(folder / "fifo")
        read_only = {"train.csv": public / "train.csv", "public": public / "root"}
        space = Workspace(folder, store, read_only, link_read_only=link, max_file=1000)
        space.lay_placeholders()
        before = picture(canary) | picture(public)
        for action, path, other in steps:
            path, other = path.replace("CANARY", str(canary)), other.replace("CANARY", str(canary))
            try:
                if action in ("write", "append"):
                    getattr(space, action)(path, b"mine too")
                elif action == "copy":
                    space.copy(path, other)
                elif action == "read":
                    assert SECRET not in space.read(path, 1000)
                elif action == "list":
                    assert "only-outside" not in {entry.path.rpartition("/")[2] for entry in space.list(path)}
                else:
                    getattr(space, action)(path)
            except PathRefusedError as refusal:
                assert "\n" not in str(refusal)
                str(refusal).encode()
            assert picture(canary) | picture(public) == before
        contents = [facts[2] for facts in picture(folder).values() if facts[0] == "file"]
        assert not any(SECRET in content for content in contents)
        space.snapshot(executed=True)
        assert picture(canary) | picture(public) == before
        assert set(top.iterdir()) == {folder, canary, public, top / "store"}
        remove_tree(folder)
        assert picture(canary) | picture(public) == before
