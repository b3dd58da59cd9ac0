"""Endpoints of the harness inside the sandbox, and nothing else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from programs import python, run

from mlagentbench.errors import SandboxError, SandboxUnavailableError
from mlagentbench.sandbox import Sandbox, Service, choose

BODY = b"from the harness " * 20_000


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(asked + BODY)

    def log_message(self, *arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def endpoint() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(params=["bwrap", "namespaces"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return choose(request.param)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def test_a_service_is_reachable_and_everything_else_is_not(
    sandbox: Sandbox, endpoint: int, tmp_path: Path, free_port: int
):
    other = socket.create_server(("127.0.0.2", free_port))
    elsewhere = other.getsockname()[1]
    code = f"""
import socket, urllib.request
for _ in range(3):
    answer = urllib.request.urlopen("http://127.0.0.1:{free_port}/", data=b"asked " * 10000).read()
    print(len(answer), answer[:6])
for address in (("127.0.0.1", {endpoint}), ("127.0.0.1", 22), ("127.0.0.2", {elsewhere})):
    try:
        socket.create_connection(address, 1)
        print("reached", address)
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {endpoint}))
except OSError:
    pass
raise SystemExit(4)
"""
    ran = run(sandbox, python(code, tmp_path, services=(Service(free_port, "127.0.0.1", endpoint),)))
    other.close()
    assert ran.output == f"{len(BODY) + 60_000} b'asked '\n" * 3
    assert ran.result.exit_status == 4


def test_landlock_refuses_services_because_its_rules_name_ports_and_not_addresses(
    tmp_path: Path, free_port: int, endpoint: int
):
    job = python("pass", tmp_path, services=(Service(free_port, "127.0.0.1", endpoint),))
    with pytest.raises(SandboxError, match="ports and not addresses"):
        run(choose("landlock"), job)


def test_signal_of_a_program_beside_services_is_told(
    sandbox: Sandbox, endpoint: int, tmp_path: Path, free_port: int
):
    job = python(
        "import os; os.kill(os.getpid(), 9)", tmp_path, services=(Service(free_port, "127.0.0.1", endpoint),)
    )
    assert run(sandbox, job).result.signal == 9


def test_a_program_that_stays_has_services_too(
    sandbox: Sandbox, endpoint: int, tmp_path: Path, free_port: int
):
    code = f"""
import os, urllib.request
answer = urllib.request.urlopen("http://127.0.0.1:{free_port}/", data=b"asked").read()
os.write(int(os.environ["MLAGENTBENCH_CONTROL_FD"]), b"%d\\n" % len(answer))
input()
"""
    job = python(code, tmp_path, services=(Service(free_port, "127.0.0.1", endpoint),))
    process = sandbox.start(job, lambda chunk: None)
    assert process.receive(20) == b"%d" % (len(BODY) + 5)
    process.kill()


def test_an_endpoint_that_is_not_there_hangs_up(sandbox: Sandbox, tmp_path: Path, free_port: int):
    code = f"""
import urllib.request
try:
    urllib.request.urlopen("http://127.0.0.1:{free_port}/")
except OSError as error:
    print("refused")
"""
    job = python(code, tmp_path, services=(Service(free_port, "127.0.0.1", 1),))
    assert run(sandbox, job).output == "refused\n"
