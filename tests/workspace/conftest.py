"""Trees to snapshot: how tests describe, build and look at them, whatever the modes in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mlagentbench.workspace import Store, Workspace, remove_tree

Picture = dict[str, tuple[object, ...]]


@dataclass
class Thing:
    """One file, folder, link, FIFO or socket to be built."""

    kind: str
    mode: int = 0o644
    data: bytes = b""
    target: str = "nowhere"
    inner: dict[str, Thing] = field(default_factory=dict)


def build(folder: Path, inner: dict[str, Thing]) -> None:
    for name, thing in inner.items():
        path = folder / name
        if thing.kind == "file":
            path.write_bytes(thing.data)
        elif thing.kind == "folder":
            path.mkdir()
            build(path, thing.inner)
        elif thing.kind == "link":
            path.symlink_to(thing.target)
            continue
        else:
            os.mknod(path, stat.S_IFIFO if thing.kind == "fifo" else stat.S_IFSOCK)
        path.chmod(thing.mode)


def picture(folder: Path, prefix: str = "") -> Picture:
    """Everything beneath `folder`: kind and mode, and the bytes or the target."""
    seen: Picture = {}
    with os.scandir(folder) as listing:
        found = sorted(listing, key=lambda entry: entry.name)
    for entry in found:
        path, here = Path(entry.path), f"{prefix}{entry.name}"
        status = path.lstat()
        if path.is_symlink():
            seen[here] = ("link", str(path.readlink()))
            continue
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            path.chmod(0o700)
            seen[here] = ("folder", mode)
            seen |= picture(path, f"{here}/")
            path.chmod(mode)
        elif stat.S_ISREG(status.st_mode):
            path.chmod(0o600)
            seen[here] = ("file", mode, path.read_bytes())
            path.chmod(mode)
        else:
            seen[here] = (stat.S_IFMT(status.st_mode), mode)
    return seen


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder that is removed again whatever a test left in it."""
    path = tmp_path / "space"
    path.mkdir()
    yield path
    remove_tree(path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


@pytest.fixture
def space(folder: Path, store: Store) -> Workspace:
    """A workspace without read-only data that keeps files of up to 1 MB."""
    return Workspace(folder, store, {}, max_file=10**6)


@pytest.fixture(name="picture")
def picture_of() -> Callable[[Path], Picture]:
    return picture


@pytest.fixture(name="build")
def builder() -> Callable[[Path, dict[str, Thing]], None]:
    return build


@pytest.fixture(name="thing")
def thing_to_build() -> type[Thing]:
    return Thing
