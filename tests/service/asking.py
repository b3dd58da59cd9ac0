"""A client that sends what it is told to, right or wrong."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode


@dataclass(frozen=True)
class Got:
    status: int
    body: bytes
    kind: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Asker:
    port: int

    def get(self, path: str, **parameters: object) -> Got:
        return self.request("GET", f"{path}?{urlencode(parameters)}" if parameters else path)

    def post(self, path: str, content: object) -> Got:
        return self.request("POST", path, json.dumps(content).encode())

    def request(self, method: str, target: str, body: bytes | None = None) -> Got:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, target, body)
        answer = connection.getresponse()
        got = Got(answer.status, answer.read(), answer.headers["Content-Type"])
        connection.close()
        return got

    def send(self, data: bytes, *, end: bool = True) -> bytes:
        """These bytes and nothing else; what comes back until the other side hangs up."""
        got = bytearray()
        with self.connect() as connection, suppress(ConnectionError):
            connection.sendall(data)
            if end:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                got += part
        return bytes(got)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)
