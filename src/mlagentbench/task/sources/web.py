"""Files from web servers: what was cut goes on where it stopped, what arrived is checked."""

from __future__ import annotations

import hashlib
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

from mlagentbench.errors import PreparationError
from mlagentbench.task.progress import Progress, silent
from mlagentbench.units import format_size

_BLOCK = 2**20
_LONGEST_SILENCE = 60.0
_BETWEEN_LINES = 2.0


@dataclass(frozen=True)
class Wanted:
    """A file, and what is known of it. Algorithms are names of `hashlib`; empty means: not known."""

    name: str
    url: str
    page: str
    by_hand: str
    """How a person gets it instead, to end a sentence with."""
    algorithm: str = ""
    digest: str = ""
    size: int | None = None
    headers: Mapping[str, str] | None = None
    """For the server of the URL alone; where it sends one elsewhere, keys do not go along."""


class _KeepingKeys(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if request is not None and (request.type, request.host) != (req.type, req.host):
            request.headers.pop("Authorization", None)
            request.headers.pop("Cookie", None)
        return request


def download(wanted: Wanted, target: Path, progress: Progress | None = None) -> None:
    """Put the file at `target`, whole or not at all; what has arrived of it is kept beside it for the next try."""
    part, note = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.json")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _receive(wanted, part, note, progress or silent)
        check(wanted, part)
        part.replace(target)
        note.unlink(missing_ok=True)
    except urllib.error.HTTPError as error:
        error.close()
        raise PreparationError(_refused(wanted, error.code)) from None
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise PreparationError(
            f"The download of {wanted.name} was cut ({reason or type(error).__name__}); run the same command again "
            f"and it goes on where it stopped, or {wanted.by_hand}."
        ) from None
    except OSError as error:
        raise PreparationError(
            f"{wanted.name} cannot be put at {target} ({error.strerror or error}); make space or mend that, and run "
            "the same command again."
        ) from None


def check(wanted: Wanted, file: Path) -> None:
    """Refuse, and remove, what does not have the size and checksum that it must have."""
    problem = ""
    if wanted.size is not None and file.stat().st_size != wanted.size:
        problem = f"it has {file.stat().st_size} bytes, not {wanted.size}"
    elif wanted.algorithm:
        found = digest_of(file, wanted.algorithm)
        if found != wanted.digest:
            problem = f"its {wanted.algorithm.upper()} is {found}, not {wanted.digest}"
    if problem:
        file.unlink()
        raise PreparationError(
            f"{wanted.name} arrived damaged, or is another file now: {problem}; run the same command again, or look at "
            f"{wanted.page} and {wanted.by_hand}."
        )


def digest_of(file: Path, algorithm: str) -> str:
    """Of a file's content. `git-sha1` is how git names it, with its size before it."""
    with file.open("rb") as stream:
        if algorithm == "git-sha1":
            start = f"blob {file.stat().st_size}\0".encode()
            return hashlib.file_digest(stream, lambda: hashlib.sha1(start, usedforsecurity=False)).hexdigest()
        return hashlib.file_digest(stream, algorithm).hexdigest()


def _receive(wanted: Wanted, part: Path, note: Path, tell: Progress) -> None:
    """All bytes of it into `part`, after those that are there already if they are of the same file."""
    known = _read_note(note, wanted)
    there = part.stat().st_size if known is not None and part.is_file() else 0
    if known and there and there == known.get("total"):
        return
    request = urllib.request.Request(wanted.url, headers={"User-Agent": "mlagentbench"})
    for name, value in (wanted.headers or {}).items():
        request.add_header(name, value)
    # Bytes, not a packed form of them, so that places in the file mean the same each time.
    request.add_header("Accept-Encoding", "identity")
    if there:
        request.add_header("Range", f"bytes={there}-")
        if known and known.get("validator"):
            request.add_header("If-Range", known["validator"])
    opener = urllib.request.build_opener(_KeepingKeys())
    try:
        answer = opener.open(request, timeout=_LONGEST_SILENCE)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not there:
            raise
        error.close()
        part.unlink()
        return _receive(wanted, part, note, tell)
    with answer:
        goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(
            f"bytes {there}-"
        )
        done = there if goes_on else 0
        length = answer.headers.get("Content-Length")
        total = done + int(length) if length and length.isdigit() else wanted.size
        validator = answer.headers.get("ETag", "") or answer.headers.get("Last-Modified", "")
        if validator.startswith("W/"):
            validator = ""
        note.write_text(
            json.dumps({"url": wanted.url, "validator": validator, "total": total}), encoding="utf-8"
        )
        of_total = f" of {format_size(total)}" if total is not None else ""
        told = time.monotonic()
        with part.open("ab" if goes_on else "wb") as stream:
            while block := answer.read(_BLOCK):
                stream.write(block)
                done += len(block)
                if time.monotonic() - told >= _BETWEEN_LINES:
                    told = time.monotonic()
                    tell(f"{wanted.name}: {format_size(done)}{of_total}")
        if total is not None and done < total:
            raise ConnectionError(f"after {format_size(done)} of {format_size(total)}")
        tell(f"{wanted.name}: {format_size(done)}{of_total}, 100%")


def _read_note(note: Path, wanted: Wanted) -> dict[str, Any] | None:
    try:
        known = json.loads(note.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return known if isinstance(known, dict) and known.get("url") == wanted.url else None


def _refused(wanted: Wanted, status: int) -> str:
    host = urllib.parse.urlsplit(wanted.url).hostname
    if status in (401, 403):
        return (
            f"{host} does not give {wanted.name} to just anyone ({status}): see at {wanted.page} what it asks for, and "
            f"{wanted.by_hand}."
        )
    if status in (404, 410):
        return (
            f"{host} has no {wanted.name} any more ({status}): look at {wanted.page} where it went, and "
            f"{wanted.by_hand}."
        )
    return f"{host} answered with the error {status} for {wanted.name}: try again later, or {wanted.by_hand}."
