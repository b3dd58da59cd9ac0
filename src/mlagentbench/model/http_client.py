"""The HTTP client for providers' servers: replies are bounded in time and size, and requests stay with their server."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlagentbench.model.faults import Fault
from mlagentbench.model.keys import redact
from mlagentbench.units import format_size

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT = 10.0
LARGEST_REPLY = 32_000_000
"""Bytes, after unpacking. The longest output of any model is a few megabytes."""
LARGEST_ERROR = 64_000
"""Bytes of an error page that are read; the rest is not."""
_PIECE = 65_536
_PACKED = ("gzip", "deflate")
_END = "mlagentbench_end"


class ReplyRefusedError(Exception):
    """A reply that is not read to its end; only inside this package, where it becomes a typed error."""


def http_client(timeout: float) -> httpx2.Client:
    """A client in which a whole reply, and not only each read of it, must arrive within `timeout` seconds.

    Servers that keep a connection alive with a byte now and then would otherwise hold a run for ever. A redirect to
    another server is refused, because the prompt and the key were meant for the first one.
    """
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, response: httpx2.Response, stream: httpx2.SyncByteStream) -> None:
            self._stream = stream
            self._end = response.request.extensions.get(_END, time.monotonic() + timeout)
            self._failed = not response.is_success
            self._unpacker = _unpacker(response)

        def __iter__(self) -> Iterator[bytes]:
            read = 0
            for chunk in self._stream:
                for piece in self._unpacked(chunk):
                    if time.monotonic() > self._end:
                        raise httpx2.ReadTimeout(f"The reply did not end within {timeout:g} seconds.")
                    read += len(piece)
                    if self._failed and read > LARGEST_ERROR:
                        yield piece[: LARGEST_ERROR - read]
                        return
                    if read > LARGEST_REPLY:
                        raise ReplyRefusedError(
                            f"the reply has more than {format_size(LARGEST_REPLY)}, and was not read to its end"
                        )
                    yield piece

        def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
            try:
                yield from self._unpacker.pieces(chunk) if self._unpacker else (chunk,)
            except zlib.error as error:
                raise httpx2.DecodingError(f"The reply cannot be unpacked: {error}.") from None

        def close(self) -> None:
            self._stream.close()

    def begin(request: httpx2.Request) -> None:
        request.extensions = {_END: time.monotonic() + timeout} | dict(request.extensions)

    def watch(response: httpx2.Response) -> None:
        if response.has_redirect_location:
            _refuse_another_server(response)
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = Bounded(response, response.stream)

    return httpx2.Client(
        timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT)),
        headers={"Accept-Encoding": ", ".join(_PACKED)},
        follow_redirects=True,
        event_hooks={"request": [begin], "response": [watch]},
    )


def connection_fault(error: BaseException) -> Fault:
    """The fault of a request that brought no reply, or one that is not used; clients put their own errors around it."""
    import httpx2

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ReplyRefusedError):
            return Fault(str(seen), kind="unusable")
        if isinstance(seen, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
            return Fault(f"{type(seen).__name__}: {seen}", kind="unreachable")
        seen = seen.__cause__
    cause = error.__cause__
    return Fault(
        f"{error} ({type(cause).__name__}: {cause})" if cause else f"{type(error).__name__}: {error}"
    )


def _refuse_another_server(response: httpx2.Response) -> None:
    url = response.request.url
    target = url.join(response.headers["location"])
    if _origin(target) != _origin(url):
        raise ReplyRefusedError(
            f"it redirects to another server, {redact(_origin(target))}, and the prompt and key are sent to "
            f"{_origin(url)} alone. If that is where the model is served now, name it with --base-url"
        )


def _origin(url: httpx2.URL) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return f"{url.scheme}://{url.host}:{port}"


class _Unpacker:
    """Unpacks piece by piece, so that a small reply which unpacks to a huge one is noticed before it is in memory."""

    def __init__(self) -> None:
        self._inner = self._new()

    @staticmethod
    def _new() -> zlib._Decompress:
        return zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, as its first bytes say

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield self._inner.decompress(data, _PIECE)
            data = self._inner.unconsumed_tail
            if self._inner.eof:
                data, self._inner = self._inner.unused_data, self._new()


def _unpacker(response: httpx2.Response) -> _Unpacker | None:
    """What unpacks the body here; the client must not do it again, so the header goes."""
    named = response.headers.get_list("content-encoding", split_commas=True)
    packed = [name.strip().lower() for name in named if name.strip().lower() not in ("", "identity")]
    if not packed:
        return None
    if len(packed) > 1 or packed[0] not in _PACKED:
        raise ReplyRefusedError(f"the reply is packed as {', '.join(packed)!r}, which was not asked for")
    del response.headers["content-encoding"]
    return _Unpacker()
