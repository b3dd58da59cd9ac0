"""Endpoints of the harness inside a sandbox that has no network.

The harness listens on a socket in a folder that only it and the sandbox see; inside, a forwarder around the
program listens on the port of the sandbox's own loopback and passes connections to that socket. There is no
other way out.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from mlagentbench.errors import SandboxError
from mlagentbench.sandbox import relay
from mlagentbench.sandbox.launch import Channels, Confinement
from mlagentbench.sandbox.spec import Job, Service

_INSIDE = "/run/mlagentbench"
_SCRIPT = f"{_INSIDE}/relay.py"
_SOCKETS = f"{_INSIDE}/sockets"

_Start = Callable[[], Coroutine[None, None, asyncio.Server]]


@dataclass(frozen=True)
class Wrapped:
    """A command line with the forwarder around it, and what must be shown for that."""

    argv: tuple[str, ...]
    shown: tuple[tuple[Path, str], ...] = ()


def wrap(job: Job, channels: Channels) -> Wrapped:
    """The job's own command line where it asks for no services."""
    if not job.services:
        return Wrapped(job.argv)
    # Not below TMPDIR: the path of a socket may have a hundred characters and no more.
    temporary = tempfile.TemporaryDirectory(prefix="mlagentbench-services-", dir="/tmp")
    folder = Path(channels.later.enter_context(temporary))
    channels.later.enter_context(Relays([_on_socket(folder, service) for service in job.services]))
    places = [(service.port, f"{_SOCKETS}/{service.port}") for service in job.services]
    python = str(job.interpreter.python) if job.interpreter else "/usr/bin/python3"
    argv = (python, "-I", "-S", _SCRIPT, json.dumps(places), *job.argv)
    return Wrapped(argv, ((Path(relay.__file__), _SCRIPT), (folder, _SOCKETS)))


def with_forwarder(confinement: Confinement) -> Confinement:
    """The forwarder is one more process that is ours."""
    return replace(confinement, overhead=confinement.overhead + 1)


def on_loopback(services: tuple[Service, ...]) -> AbstractContextManager[object]:
    """For sandboxes that share the host's network: listens on the host's loopback itself."""
    foreign = [service for service in services if not _is_there_already(service)]
    return Relays([_on_port(service) for service in foreign])


def _is_there_already(service: Service) -> bool:
    return service.port == service.host_port and service.host in ("127.0.0.1", "localhost")


def _to_endpoint(service: Service) -> relay.Connect:
    return lambda: asyncio.open_connection(service.host, service.host_port)


def _on_socket(folder: Path, service: Service) -> _Start:
    handler = relay.relay_to(_to_endpoint(service))
    return lambda: asyncio.start_unix_server(handler, folder / str(service.port))


def _on_port(service: Service) -> _Start:
    handler = relay.relay_to(_to_endpoint(service))
    return lambda: asyncio.start_server(handler, "127.0.0.1", service.port)


class Relays:
    """Servers in a thread of their own, from entering to leaving."""

    def __init__(self, starts: list[_Start]) -> None:
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
