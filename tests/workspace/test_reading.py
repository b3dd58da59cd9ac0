"""The harness opens nothing but plain files beneath the folder, by either way of opening."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

import pytest

from mlagentbench.errors import PathRefusedError
from mlagentbench.workspace import open_file, read_file, reading
from mlagentbench.workspace.reading import status_of

LIMIT = 1000


@pytest.fixture(params=["kernel", "names"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "names":
        monkeypatch.setattr(reading, "openat2_opener", lambda: None)
    elif reading.openat2_opener() is None:
        pytest.skip("this kernel has no openat2")
    return str(request.param)


@pytest.fixture
def hostile(folder: Path, tmp_path: Path) -> Path:
    """A folder with one good file and many traps, all leading to a secret beside it."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "answers.csv").write_text("the answers")
    (folder / "inner").mkdir()
    (folder / "inner" / "good.txt").write_text("good")
    (folder / "to-file").symlink_to("inner/good.txt")
    (folder / "to-inner").symlink_to("inner")
    (folder / "to-secret").symlink_to(tmp_path / "secret" / "answers.csv")
    (folder / "to-folder").symlink_to(tmp_path / "secret")
    (folder / "inner" / "up").symlink_to("../../secret")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("missing")
    (folder / "magic").symlink_to("/proc/self/root")
    os.mkfifo(folder / "fifo")
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o644)
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)
    return folder


def test_a_plain_file_is_read(hostile: Path) -> None:
    assert read_file(hostile, "inner/good.txt", LIMIT) == b"good"
    assert read_file(hostile, "./inner//good.txt", 4) == b"good"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("to-file", "'to-file' is a link (to 'inner/good.txt')"),
        ("to-inner/good.txt", "'to-inner' is a link"),
        ("to-secret", "'to-secret' is a link"),
        ("to-folder/answers.csv", "'to-folder' is a link"),
        ("inner/up/answers.csv", "'inner/up' is a link"),
        ("loop", "'loop' is a link"),
        ("nowhere", "'nowhere' is a link"),
        ("magic/etc/passwd", "'magic' is a link"),
        ("fifo", "'fifo' is a FIFO, not a plain file"),
        ("socket", "'socket' is a socket"),
        ("sparse", "'sparse' has 1.1 TB; at most 1 KB is read here"),
        ("inner", "'inner' is a folder, not a plain file"),
        ("", "is a folder, not a plain file"),
        ("inner/good.txt/x", "'inner/good.txt' is a plain file, so there is nothing beneath it"),
        ("missing", "There is no 'missing'"),
        ("missing/x", "There is no 'missing'"),
        ("../secret/answers.csv", "contains '..'"),
        ("inner/../../secret/answers.csv", "contains '..'"),
        ("/etc/passwd", "is outside of the workspace"),
        ("good\0.txt", "contains a NUL character"),
        ("x" * 256, "is too long"),
        ("/".join(["x" * 200] * 30), "is too long"),
        ("\ud800", "cannot be the name of a file"),
    ],
)
def test_everything_else_is_refused_with_its_own_sentence(hostile: Path, path: str, sentence: str) -> None:
    with pytest.raises(PathRefusedError, match=re.escape(sentence)):
        read_file(hostile, path, LIMIT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device nodes")
def test_a_device_is_refused(hostile: Path) -> None:
    os.mknod(hostile / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    with pytest.raises(PathRefusedError, match="'zero' is a device, not a plain file"):
        read_file(hostile, "zero", LIMIT)


def test_a_listening_socket_is_refused(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("listening")
        listener.listen()
        with pytest.raises(PathRefusedError, match="'listening' is a socket"):
            read_file(hostile, "listening", LIMIT)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_a_file_whose_mode_forbids_it_is_refused(hostile: Path) -> None:
    (hostile / "inner" / "good.txt").chmod(0)
    with pytest.raises(PathRefusedError, match="its mode forbids it"):
        read_file(hostile, "inner/good.txt", LIMIT)


def test_a_file_that_grows_while_it_is_read_does_not_pass_the_limit(hostile: Path) -> None:
    growing = hostile / "growing"
    growing.write_bytes(b"x" * LIMIT)
    real = os.fstat

    def grown(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        with growing.open("ab") as file:
            file.write(b"more")
        return status

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", grown)
        with pytest.raises(PathRefusedError, match="grew beyond 1 KB"):
            read_file(hostile, "growing", LIMIT)


def test_no_descriptor_is_left_open(hostile: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    os.close(open_file(hostile, "inner/good.txt", LIMIT))
    for path in ("fifo", "sparse", "to-folder/answers.csv", "inner/up/x", "missing/x"):
        with pytest.raises(PathRefusedError):
            open_file(hostile, path, LIMIT)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_status_says_what_is_there_without_following_it(hostile: Path) -> None:
    assert status_of(hostile, "missing/deeper") is None
    status = status_of(hostile, "nowhere")
    assert status is not None
    assert stat.S_ISLNK(status.st_mode)
    with pytest.raises(PathRefusedError, match="'to-folder' is a link"):
        status_of(hostile, "to-folder/answers.csv")
