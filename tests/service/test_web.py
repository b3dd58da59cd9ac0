"""The server: it answers in time whatever programs do to it, and nothing of it grows without bound."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from asking import Asker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.service import web
from mlagentbench.service.scholar import error_json
from mlagentbench.service.web import Answered, Asked, Server, Site

Serve = Callable[[Site], Asker]
LARGE = b"x" * 3_000_000


def echo(asked: Asked) -> Answered:
    if asked.path == "/fail":
        raise ZeroDivisionError
    body = (
        LARGE if asked.path == "/large" else f"{asked.method} {asked.path} {dict(asked.parameters)}".encode()
    )
    return Answered(200, body + asked.body, "text/plain")


ECHO = Site(echo, error_json)


@pytest.fixture(scope="module")
def echoing() -> Iterator[Asker]:
    with Server() as server:
        yield Asker(server.on_port(ECHO))


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def descriptors_fall_to(number: int) -> bool:
    deadline = time.monotonic() + 15
    while open_descriptors() > number + 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    return open_descriptors() <= number + 1


def still_answers(asker: Asker) -> bool:
    return asker.get("/hello").body == b"GET /hello {}"


def test_a_request_is_read_as_it_was_sent(echoing: Asker):
    got = echoing.request("POST", "/a%20b?x=1&x=%C3%BC&y=", b"body")
    assert (got.status, got.body) == (200, "POST /a b {'x': 'ü', 'y': ''}body".encode())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", 400),
        (b"GET", 400),
        (b"GET /\r\n\r\n", 400),
        (b"\0\xff" * 100 + b"\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: ten\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nshort", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET /?" + b"a=1&" * 60 + b" HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n", 431),
    ],
)
def test_garbage_is_refused_in_words_and_the_next_one_is_answered(echoing: Asker, sent: bytes, status: int):
    answer = echoing.send(sent)
    assert answer == b"" or answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert still_answers(echoing)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_end_it(echoing: Asker, data: bytes, whole: bool):
    echoing.send(data + b"\r\n\r\n" if whole else data)
    assert still_answers(echoing)


def test_a_defect_of_a_site_is_an_error_to_the_client_and_told(
    serve: Serve, caplog: pytest.LogCaptureFixture
):
    asker = serve(ECHO)
    assert asker.get("/fail").status == 500
    assert "ZeroDivisionError" in caplog.text
    assert still_answers(asker)


def test_a_thousand_quick_requests_are_answered(echoing: Asker):
    failed = []

    def ask() -> None:
        for _ in range(125):
            if not still_answers(echoing):
                failed.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_requests_that_come_drop_by_drop_are_given_up_and_others_get_through(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(web, "READ_SECONDS", 1.0)
    asker = serve(ECHO)
    with ExitStack() as stack:
        slow = [stack.enter_context(asker.connect()) for _ in range(web.MOST_ANSWERED)]
        for connection in slow:
            connection.sendall(b"GET / HT")
        started = time.monotonic()
        assert still_answers(asker)
        assert time.monotonic() - started < 15
        assert slow[0].recv(100).startswith(b"HTTP/1.1 408 ")


def test_connections_beyond_a_number_are_refused_and_take_nothing(serve: Serve):
    asker = serve(ECHO)
    before = open_descriptors()
    with ExitStack() as stack:
        many = [stack.enter_context(asker.connect()) for _ in range(web.MOST_CONNECTIONS + 50)]
        for connection in many[web.MOST_CONNECTIONS :]:
            assert connection.recv(100).startswith(b"HTTP/1.1 503 ")
            while connection.recv(1000):
                pass
        # Ours count too: the server has at most its own number open beside them.
        assert descriptors_fall_to(before + len(many) + web.MOST_CONNECTIONS)


def test_answers_that_nobody_reads_are_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web, "WRITE_SECONDS", 0.5)
    asker = serve(ECHO)
    before = open_descriptors()
    with ExitStack() as stack:
        deaf = [stack.enter_context(asker.connect()) for _ in range(20)]
        for connection in deaf:
            connection.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        assert descriptors_fall_to(before + len(deaf))
        assert still_answers(asker)
    assert len(asker.get("/large").body) == len(LARGE)


def test_nothing_is_left_when_it_is_over(tmp_path: Path):
    before = set(threading.enumerate())
    with Server() as server:
        server.on_socket(ECHO, tmp_path / "echo")
        asker = Asker(server.on_port(ECHO))
        assert still_answers(asker)
        half = asker.connect()
        half.sendall(b"GET")
    with half, suppress(ConnectionResetError):
        assert half.recv(100) == b""
    with pytest.raises(ConnectionRefusedError):
        asker.connect()
    assert set(threading.enumerate()) == before


def test_what_nobody_waits_for_any_more_is_not_begun():
    """The threads are busy, so that a request waits for one; then its client hangs up."""
    begun: list[str] = []
    busy = threading.Semaphore(0)
    free = threading.Event()

    def answer(asked: Asked) -> Answered:
        begun.append(asked.path)
        if asked.path == "/busy":
            busy.release()
            free.wait(60)
        return Answered(200, b"", "text/plain")

    with Server() as server, ExitStack() as stack:
        port = server.on_port(Site(answer, error_json))

        def ask(path: str) -> socket.socket:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            return client

        for _ in range(web._THREADS):
            ask("/busy")
            assert busy.acquire(timeout=60)
        ask("/left").close()
        last = ask("/waits")
        (_, pool) = server._pools[0]
        while pool._work_queue.qsize() < 2:
            time.sleep(0.01)
        while server._open > web._THREADS + 1:
            time.sleep(0.01)
        free.set()
        assert last.recv(100)
    assert "/waits" in begun and "/left" not in begun
