"""A small HTTP server for programs that are not to be trusted.

One request a connection. What a client may send, how long it may take and how many there may be at once are bounded;
the handlers run in a few threads of their own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote

from mlagentbench.errors import SandboxError
from mlagentbench.sandbox.relay import kept_alive

LOOPBACK = "127.0.0.1"
LARGEST_HEAD = 32_000
LARGEST_BODY = 4_000_000
MOST_CONNECTIONS = 200
"""At once. Each takes a descriptor of the harness; of them, so many are answered at a time:"""
MOST_ANSWERED = 64
MOST_PARAMETERS = 50
READ_SECONDS = 10.0
"""For a whole request: one that comes drop by drop is given up."""
WRITE_SECONDS = 30.0
_THREADS = 4


@dataclass(frozen=True)
class Asked:
    """A request that was read to its end."""

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Of the query; of a name that comes twice, the last one."""
    body: bytes = b""
    query: str = ""
    """As it came."""


@dataclass(frozen=True)
class Answered:
    status: int
    body: bytes
    kind: str


Refuse = Callable[[int, str], Answered]
"""An error in the words and the shape of a site: a status and a sentence."""


@dataclass(frozen=True)
class Site:
    """What answers, and how it says that something is wrong."""

    answer: Callable[[Asked], Answered]
    refuse: Refuse
    close: Callable[[], None] = lambda: None
    """Have answers that take long given up."""


class BadRequestError(Exception):
    """What came is no request that is answered. Only inside of this package."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Server:
    """Sites on sockets in a folder or on ports of the host's loopback, in a thread, from entering to leaving."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="service", daemon=True)
        self._pools: list[tuple[Site, ThreadPoolExecutor]] = []
        self._open = 0
        self._places = asyncio.Semaphore(MOST_ANSWERED)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def on_socket(self, site: Site, path: Path) -> None:
        self._start(asyncio.start_unix_server(self._handler(site), path, limit=LARGEST_HEAD))

    def on_port(self, site: Site, port: int = 0) -> int:
        """The port: 0 takes any that is free."""
        server = self._start(asyncio.start_server(self._handler(site), LOOPBACK, port, limit=LARGEST_HEAD))
        return int(server.sockets[0].getsockname()[1])

    def _start(self, starting: Coroutine[None, None, asyncio.Server]) -> asyncio.Server:
        try:
            return asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        except OSError as error:
            raise SandboxError(f"A service could not be started: {error}.") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(10)
        for site, pool in self._pools:
            site.close()
            pool.shutdown(cancel_futures=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _handler(
        self, site: Site
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]:
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="service")
        self._pools.append((site, pool))

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._open += 1
            with kept_alive():
                try:
                    await self._handle(site, pool, reader, writer)
                finally:
                    self._open -= 1
                    if not writer.is_closing():
                        writer.transport.abort()

        return handle

    async def _handle(
        self, site: Site, pool: ThreadPoolExecutor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # So that nothing is left to be written when `drain` returns.
        writer.transport.set_write_buffer_limits(0)
        try:
            answered = await self._answer(site, pool, reader)
            async with asyncio.timeout(WRITE_SECONDS):
                writer.write(_written(answered))
                await writer.drain()
            writer.close()
        except (TimeoutError, ConnectionError):
            pass  # It does not look at its answer, or went away.

    async def _answer(self, site: Site, pool: ThreadPoolExecutor, reader: asyncio.StreamReader) -> Answered:
        if self._open > MOST_CONNECTIONS:
            return site.refuse(503, f"More than {MOST_CONNECTIONS} connections at once. Wait for answers.")
        async with self._places:
            return await self._answer_one(site, pool, reader)

    async def _answer_one(
        self, site: Site, pool: ThreadPoolExecutor, reader: asyncio.StreamReader
    ) -> Answered:
        try:
            async with asyncio.timeout(READ_SECONDS):
                asked = await _read(reader)
        except BadRequestError as error:
            return site.refuse(error.status, str(error))
        except TimeoutError:
            return site.refuse(408, f"The request was not whole after {READ_SECONDS:g} seconds.")
        job = pool.submit(site.answer, asked)
        answering = asyncio.wrap_future(job)
        more = asyncio.ensure_future(_more(reader))
        both: list[asyncio.Future[Any]] = [answering, more]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if more.done() and not more.result() and job.cancel():
            raise ConnectionResetError("The client hung up before anybody began to answer.")
        more.cancel()
        await asyncio.wait([answering])
        if (failure := answering.exception()) is not None:
            context = {"message": f"A service failed at {asked.method} {asked.path!r}", "exception": failure}
            self._loop.call_exception_handler(context)
            return site.refuse(500, "The service failed. This is a defect of it.")
        return answering.result()


async def _more(reader: asyncio.StreamReader) -> bool:
    """Whether the client sends something after its request, which is ignored, rather than hanging up."""
    try:
        return bool(await reader.read(1))
    except ConnectionError:
        return False


async def _read(reader: asyncio.StreamReader) -> Asked:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise BadRequestError(431, f"The head of a request may have {LARGEST_HEAD:,} bytes.") from None
    except asyncio.IncompleteReadError:
        raise BadRequestError(400, "The request ended before its head did.") from None
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadRequestError(400, "This is no request of HTTP/1.1.")
    method, target, _ = parts
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await _body(reader, headers)
    path, _, query = target.partition("#")[0].partition("?")
    try:
        values = parse_qs(query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        raise BadRequestError(400, f"A query may have {MOST_PARAMETERS} parameters.") from None
    last = {name: value[-1] for name, value in values.items()}
    return Asked(method, unquote(path), last, body, query)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        raise BadRequestError(411, "Say the length of the request in Content-Length.")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise BadRequestError(400, "Content-Length is no number.")
    if len(length) > 12 or int(length) > LARGEST_BODY:
        raise BadRequestError(413, f"A request may have {LARGEST_BODY:,} bytes.")
    try:
        return await reader.readexactly(int(length))
    except asyncio.IncompleteReadError:
        raise BadRequestError(400, "The request is shorter than its Content-Length.") from None


def _written(answered: Answered) -> bytes:
    try:
        phrase = HTTPStatus(answered.status).phrase
    except ValueError:
        phrase = "Error"
    head = (
        f"HTTP/1.1 {answered.status} {phrase}\r\nContent-Type: {answered.kind}\r\n"
        f"Content-Length: {len(answered.body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + answered.body


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
