"""Passes requests for papers on to the real services, for variants that are made of them.

Only GET, only the paths of the two APIs, one request at a time to each and not too often, with bounded answers and
bounded patience. What was answered once in a run is not asked for again.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import IO, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench.errors import TaskError
from mlagentbench.service.atom import PATH, error_feed
from mlagentbench.service.scholar import ROOT, error_json
from mlagentbench.service.web import Answered, Asked, Refuse, Site
from mlagentbench.validation import problems_of
from mlagentbench.version import __version__

LARGEST_ANSWER = 8_000_000
MOST_KEPT = 2_000
_LONGEST_QUERY = 8_000
_SCHOLAR = re.compile(
    re.escape(ROOT)
    + r"(?:search|(?:DOI:10\.\d{4,9}/[\w.()/:;-]+|[\w.:-]+(?:/\d{7})?)(?:/references|/citations)?)",
    re.ASCII,
)
_LONGEST_PATH = 300
_KIND = re.compile(r"[\w.+/-]+(?:; ?charset=[\w-]+)?", re.ASCII)
_PASSED_ON = (200, 400, 404)
"""Statuses that are an answer and not a failure, so that they are kept."""


class Addresses(BaseModel):
    """`live.json`: where the two services are."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    atom: str = Field(pattern=r"^https?://[^/?#\s]+$")
    scholar: str = Field(pattern=r"^https?://[^/?#\s]+$")

    @classmethod
    def read(cls, file: Path) -> Addresses:
        try:
            return cls.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            wrong = " ".join(problems_of(error, cls)) if isinstance(error, ValidationError) else f"{error}."
            raise TaskError(
                f"{file} must name the addresses of both services, atom and scholar: {wrong}"
            ) from None


@dataclass(frozen=True)
class Manners:
    """How the real services are treated."""

    atom_gap: float = 3.0
    """Seconds between two requests; arXiv asks for three."""
    scholar_gap: float = 1.0
    timeout: float = 30.0
    tries: int = 3
    wait: float = 5.0
    """Before another try; twice as long before the next."""
    longest_wait: float = 30.0
    """Also where the service asks for more."""


def live_site(addresses: Addresses, cache: Path, manners: Manners | None = None) -> Site:
    """The same paths as over an index, answered by the services themselves."""
    manners = manners or Manners()
    atom = _Upstream(addresses.atom, manners.atom_gap, manners, _Kept(cache), error_feed)
    scholar = _Upstream(addresses.scholar, manners.scholar_gap, manners, _Kept(cache), error_json)

    def answer(asked: Asked) -> Answered:
        is_atom = asked.path.rstrip("/") == PATH
        if not is_atom and not _is_scholar(asked.path):
            return error_json(404, f"There is {PATH} and {ROOT}search, {ROOT}ID, and nothing else.")
        upstream = atom if is_atom else scholar
        if asked.method != "GET":
            return upstream.refuse(405, "Only GET is answered.")
        if len(asked.query) > _LONGEST_QUERY:
            return upstream.refuse(414, f"A query may have {_LONGEST_QUERY:,} characters.")
        return upstream.get(PATH if is_atom else asked.path, asked.query)

    def close() -> None:
        atom.closing.set()
        scholar.closing.set()

    return Site(answer, error_json, close)


def _is_scholar(path: str) -> bool:
    return len(path) <= _LONGEST_PATH and ".." not in path and bool(_SCHOLAR.fullmatch(path))


class _Kept:
    """Answers on disk, by what was asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, url: str) -> Answered | None:
        try:
            head, _, body = self._file(url).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        status, kind = json.loads(head)
        return Answered(status, body, kind)

    def keep(self, url: str, answered: Answered) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if sum(1 for _ in self._folder.iterdir()) < MOST_KEPT:
            aside = self._file(url).with_suffix(".new")
            aside.write_bytes(json.dumps([answered.status, answered.kind]).encode() + b"\n" + answered.body)
            aside.rename(self._file(url))

    def _file(self, url: str) -> Path:
        return self._folder / hashlib.sha256(url.encode()).hexdigest()


class _Readable(Protocol):
    def read1(self, n: int, /) -> bytes: ...


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Elsewhere is not where consent was given for."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class _Upstream:
    def __init__(self, root: str, gap: float, manners: Manners, kept: _Kept, refuse: Refuse) -> None:
        self._root = root
        self._gap = gap
        self._manners = manners
        self._kept = kept
        self.refuse = refuse
        self._lock = threading.Lock()
        self._next = 0.0
        self.closing = threading.Event()
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get(self, path: str, query: str) -> Answered:
        url = f"{self._root}{path}" + (f"?{query}" if query else "")
        if not url.isascii() or re.search(r"[\x00-\x20\x7f]", url):
            return self.refuse(400, "The address of the request cannot be read.")
        with self._lock:
            found = self._kept.find(url)
            if found is None:
                found = self._ask(url)
                if found.status in _PASSED_ON:
                    self._kept.keep(url, found)
            return found

    def _ask(self, url: str) -> Answered:
        wait = self._manners.wait
        said = ""
        for number in range(self._manners.tries):
            pause = min(wait, self._manners.longest_wait) if number else 0.0
            if self.closing.wait(max(pause, self._next - time.monotonic(), 0.0)):
                said = "the run is over"
                break
            wait *= 2 if number else 1
            try:
                return self._once(url)
            except urllib.error.HTTPError as error:
                with error:
                    said = f"status {error.code}"
                    if error.code in _PASSED_ON:
                        return self._taken(error.code, error.headers, error)
                    after = error.headers.get("Retry-After", "")
                    wait = max(wait, float(after)) if after.isascii() and after.isdigit() else wait
                    if error.code < 500 and error.code != 429:
                        break
            except (OSError, HTTPException) as error:
                said = str(error) or type(error).__name__
            finally:
                self._next = time.monotonic() + self._gap
        return self.refuse(502, f"The service behind this one did not answer: {said[:200]}.")

    def _once(self, url: str) -> Answered:
        request = urllib.request.Request(url, headers={"User-Agent": f"mlagentbench/{__version__}"})
        with self._opener.open(request, timeout=self._manners.timeout) as answer:
            return self._taken(answer.status, answer.headers, answer)

    def _taken(self, status: int, headers: Message, answer: _Readable) -> Answered:
        """All of an answer, if it is not too long and does not take too long."""
        body = bytearray()
        deadline = time.monotonic() + self._manners.timeout
        while chunk := answer.read1(1 << 16):
            body += chunk
            if len(body) > LARGEST_ANSWER:
                words = f"The service behind this one answered with more than {LARGEST_ANSWER:,} bytes."
                return self.refuse(502, words)
            if time.monotonic() > deadline or self.closing.is_set():
                raise TimeoutError("it took too long")
        kind = headers.get("Content-Type", "")
        return Answered(status, bytes(body), kind if _KIND.fullmatch(kind) else "application/octet-stream")
