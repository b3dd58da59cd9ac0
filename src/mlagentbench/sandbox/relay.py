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
from collections.abc import Awaitable, Callable
from functools import partial

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
_CHUNK = 1 << 16


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


def relay_to(connect: Connect) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """A handler for a server: connects each client to the other side; a client of nobody is hung up on."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await connect()
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            writer.close()
            far_writer.close()

    return handle


async def _run_inside(places: list[tuple[int, str]], argv: list[str]) -> int:
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
    os._exit(asyncio.run(_run_inside(json.loads(sys.argv[1]), sys.argv[2:])))
