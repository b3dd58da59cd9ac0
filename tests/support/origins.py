"""A server on loopback that stands for Kaggle, the Hugging Face hub and any web server, with content made up on the
spot. Clients reach it as their proxy, so that they use the addresses that they always use."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""What every revision of a repository on the hub is."""
_HUB = "http://hub.test"


@dataclass
class Origins:
    """What is served and how, and what was asked."""

    kaggle: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files by competition."""
    web: dict[str, bytes] = field(default_factory=dict)
    """Files by address, without the scheme: `host/path`."""
    hub: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files by repository: `datasets/owner/name`, `models/owner/name`."""
    status: int = 200
    """What is answered instead of any content, where it is not 200."""
    statuses: dict[str, int] = field(default_factory=dict)
    """The same for single addresses."""
    cut_after: int | None = None
    """Whole files are sent so far only; what a client asks for from there on is sent to its end."""
    wrong_checksum: bool = False
    changed: bool = False
    """Whether files are others than those that a client has the beginnings of."""
    token: str = "good"
    asked: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """Hosts that were shown the token."""


def _handler(origins: Origins) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: object) -> None:
            pass

        def do_POST(self) -> None:
            """Kaggle's service: the address of one file of a competition."""
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name, file = request["competitionName"], request["fileName"]
            origins.asked.append(f"{self.path} {name} {file}")
            status = origins.status
            if self.headers["Authorization"] != f"Bearer {origins.token}":
                status = 401
            elif status == 200 and file not in origins.kaggle.get(name, {}):
                status = 404
            if status != 200:
                return self.refuse(status)
            self.redirect(f"http://storage.test/{name}/{file}?signature=x")

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            place = f"{address.hostname}{unquote(address.path)}"
            if address.hostname != "storage.test":
                origins.asked.append(self.path)
            if "Authorization" in self.headers:
                origins.keys.append(str(address.hostname))
            status = origins.statuses.get(place, origins.status)
            if status != 200:
                return self.refuse(status)
            if address.hostname == "storage.test":
                _, name, file = unquote(address.path).split("/", 2)
                return self.content(origins.kaggle[name][file])
            if address.hostname == "hub.test":
                return self.ask_hub(unquote(address.path))
            if place in origins.web:
                return self.content(origins.web[place])
            self.refuse(404)

        def ask_hub(self, path: str) -> None:
            if path.startswith("/api/"):
                kind, owner, name, verb, *_ = path.removeprefix("/api/").split("/")
                if (files := origins.hub.get(f"{kind}/{owner}/{name}")) is None:
                    return self.refuse(404, {"X-Error-Code": "RepoNotFound"})
                if verb == "revision":
                    return self.json({"id": f"{owner}/{name}", "sha": COMMIT, "siblings": []})
                return self.json([_entry(path, content) for path, content in files.items()])
            kind, _, rest = path.removeprefix("/").partition("/")
            if kind != "datasets":
                kind, rest = "models", path.removeprefix("/")
            owner, name, verb, commit, file = rest.split("/", 4)
            assert (verb, commit) == ("resolve", COMMIT)
            place = f"cdn.test/{kind}/{owner}/{name}/{file}"
            content = origins.hub[f"{kind}/{owner}/{name}"][file]
            origins.web[place] = b"other" + content[5:] if origins.wrong_checksum else content
            self.redirect(f"http://{place}")

        def content(self, content: bytes) -> None:
            etag = hashlib.sha256(content).hexdigest()
            asked = self.headers.get("Range")
            same = self.headers.get("If-Range") in (None, f'"{etag}"') and not origins.changed
            if asked is not None:
                origins.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked is not None and same else 0
            if start > len(content):
                return self.refuse(416)
            self.send_response(206 if start else 200)
            digest = hashlib.md5(b"other" if origins.wrong_checksum else content).digest()
            self.send_header("Content-Length", str(len(content) - start))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", f'"{etag}"')
            self.send_header("x-goog-hash", f"crc32c=n03x6A==,md5={base64.b64encode(digest).decode()}")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.end_headers()
            if start == 0 and origins.cut_after is not None and origins.cut_after < len(content):
                self.wfile.write(content[: origins.cut_after])
                self.close_connection = True
                return
            self.wfile.write(content[start:])

        def json(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def redirect(self, to: str) -> None:
            self.send_response(302)
            self.send_header("Location", to)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def refuse(self, status: int, headers: Mapping[str, str] | None = None) -> None:
            body = json.dumps({"code": status, "message": "no", "error": "no"}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _entry(path: str, content: bytes) -> dict[str, object]:
    """A file as the hub lists it: large and binary ones by SHA-256, others as git names them."""
    blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    entry: dict[str, object] = {"type": "file", "path": path, "oid": blob, "size": len(content)}
    if path.endswith((".parquet", ".safetensors", ".bin")):
        large = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return entry | {"lfs": large}
    return entry


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Origins]:
    """Every address that a client in this process, or one that it starts, asks for is answered here."""
    origins = Origins()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(origins))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "")
    # The clients' own variables send them to addresses without TLS, which a proxy sees.
    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
    monkeypatch.setenv("HF_ENDPOINT", _HUB)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KAGGLE_API_TOKEN", origins.token)
    monkeypatch.setenv("HF_TOKEN", origins.token)
    for name in ("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "HF_HOME", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    try:
        yield origins
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def zip_of(members: Mapping[str, bytes]) -> bytes:
    """The same bytes each time."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
        for name, content in members.items():
            opened.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def tar_of(members: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    """The same bytes each time."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as opened:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
        for other in others:
            opened.addfile(other)
    return gzip.compress(stream.getvalue(), compresslevel=1, mtime=0)
