"""Passes connections on. Runs inside the sandbox as a program of its own, so it uses the standard library
only.

    python -I -S relay.py '[[8000, "/run/mlagentbench/8000"]]' PROGRAM ARGUMENT...

listens on each port of the sandbox's own loopback, connects what comes in to the socket beside it, and ends
with the program. Outside, the harness uses the same functions to connect those sockets to its endpoints.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_CHUNK = 1 << 16
_LINGER = 2.0
"""Seconds for a client to go after the other side has said all."""


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what one side says until it has said all."""
    try:
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (ConnectionError, RuntimeError):
        writer.close()


def relay_to(connect: Connect) -> Handle:
    """A handler for a server: connects each client to the other side; a client of nobody is hung up on."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with kept_alive():
            try:
                await _join(reader, writer, connect)
            except OSError:
                pass
            finally:
                writer.close()

    return handle


@contextmanager
def kept_alive() -> Iterator[None]:
    """Hold on to the current task: an event loop does not, and one that nobody holds is collected as garbage while it
    waits. When everything ends, it ends in silence."""
    task = asyncio.current_task()
    assert task is not None
    _alive.add(task)
    try:
        yield
    except asyncio.CancelledError:
        pass
    finally:
        _alive.discard(task)


_alive: set[asyncio.Task[object]] = set()


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connect: Connect) -> None:
    far_reader, far_writer = await connect()
    asking = asyncio.ensure_future(_pump(reader, far_writer))
    try:
        await _pump(far_reader, writer)
        await asyncio.wait([asking], timeout=_LINGER)
    finally:
        asking.cancel()
        far_writer.close()


async def _run_inside(places: list[tuple[int, str]], argv: list[str]) -> None:
    """Ends this process with the program, whatever is still being passed on."""
    status = await _status(places, argv)
    sys.stderr.flush()
    os._exit(status)


async def _status(places: list[tuple[int, str]], argv: list[str]) -> int:
    for port, path in places:
        await asyncio.start_server(relay_to(partial(asyncio.open_unix_connection, path)), "127.0.0.1", port)
    control = os.environ.get("MLAGENTBENCH_CONTROL_FD")
    try:
        process = await asyncio.create_subprocess_exec(*argv, pass_fds=(int(control),) if control else ())
    except FileNotFoundError:
        print(f"{argv[0]}: not found", file=sys.stderr)
        return 127
    status = await process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    asyncio.run(_run_inside(json.loads(sys.argv[1]), sys.argv[2:]))
