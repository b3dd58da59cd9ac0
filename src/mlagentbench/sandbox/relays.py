"""Servers of the harness that pass connections on to its endpoints. Apart from `services`, because most runs offer
none and should not wait for asyncio to be loaded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from types import TracebackType

from mlagentbench.errors import SandboxError
from mlagentbench.sandbox import relay
from mlagentbench.sandbox.spec import Service

MOST_CONNECTIONS = 48
MOST_WAITING = 150
"""For one of those. Each takes descriptors of the harness, so there must be an end to it."""

Start = Callable[[], Coroutine[None, None, asyncio.Server]]


def _to_endpoint(service: Service) -> relay.Connect:
    if service.socket is not None:
        return partial(asyncio.open_unix_connection, service.socket)
    return lambda: asyncio.open_connection(service.host, service.host_port)


def on_socket(folder: Path, service: Service) -> Start:
    """A server on a socket in `folder`, named after the service's port."""
    handler = _bounded(relay.relay_to(_to_endpoint(service)))
    return lambda: asyncio.start_unix_server(handler, folder / str(service.port))


def _bounded(handle: relay.Handle) -> relay.Handle:
    """Some clients at once; others wait for a place, and beyond that they are hung up on."""
    places = asyncio.Semaphore(MOST_CONNECTIONS)
    clients = 0

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal clients
        if clients >= MOST_CONNECTIONS + MOST_WAITING:
            writer.close()
            return
        clients += 1
        with relay.kept_alive():
            try:
                async with places:
                    await handle(reader, writer)
            finally:
                clients -= 1
                writer.close()

    return one


class Relays:
    """Servers in a thread of their own, from entering to leaving."""

    def __init__(self, starts: list[Start]) -> None:
        self._starts = starts
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="services", daemon=True)

    def __enter__(self) -> Relays:
        self._thread.start()
        try:
            for start in self._starts:
                asyncio.run_coroutine_threadsafe(start(), self._loop).result(10)
        except OSError as error:
            self.__exit__(None, None, None)
            raise SandboxError(f"A service could not be offered to the sandbox: {error}.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
