"""Papers from the real services: passed on with manners, to two addresses and nowhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from asking import Asker
from support.acting import events_of
from support.tool_task import tool_task

from mlagentbench import grade, run, verify
from mlagentbench.errors import TaskError, UsageError
from mlagentbench.record.events import StepTaken
from mlagentbench.service import live
from mlagentbench.service.live import Addresses, Manners, live_site
from mlagentbench.service.web import Server, Site

Serve = Callable[[Site], Asker]
QUICK = Manners(atom_gap=0.0, scholar_gap=0.0, timeout=2.0, wait=0.01)


class Upstream(ThreadingHTTPServer):
    """Stands for both services; remembers what it was asked, and answers what it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[str] = []
        self.times: list[float] = []
        self.statuses: list[int] = []
        self.body = b'{"total": 1, "data": [{"title": "From afar"}]}'

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.times.append(time.monotonic())
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status == 302:
            self.send_header("Location", f"{self.server.address}/elsewhere")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def papers(upstream: Upstream, serve: Serve, tmp_path: Path) -> Asker:
    addresses = Addresses(atom=upstream.address, scholar=upstream.address)
    return serve(live_site(addresses, tmp_path / "cache", QUICK))


def test_both_apis_are_passed_on_as_they_came_and_asked_for_once(papers: Asker, upstream: Upstream):
    atom = "/api/query?search_query=ti:%22two%20words%22&max_results=3"
    search = "/graph/v1/paper/search?query=a+b&fields=title"
    cited = "/graph/v1/paper/ARXIV:2104.00001/references?fields=title"
    for target in (atom, search, cited, atom, search, cited):
        got = papers.request("GET", target)
        assert (got.status, got.body, got.kind) == (200, upstream.body, "application/json")
    assert upstream.asked == [atom, search, cited]


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/graph/v1/author/1",
        "/graph/v1/paper/../author/1",
        "/graph/v1/paper/%2e%2e",
        "/graph/v1/paper/x%3fy",
        "//elsewhere/api/query",
        "http://elsewhere/api/query",
    ],
)
def test_other_paths_are_not_passed_on(papers: Asker, upstream: Upstream, target: str):
    assert papers.request("GET", target).status == 404
    assert papers.request("POST", "/api/query", b"x").status == 405
    assert papers.request("GET", f"/api/query?search_query={'a' * 9000}").status == 414
    assert upstream.asked == []


def test_a_failure_that_may_pass_is_tried_again_and_then_told(papers: Asker, upstream: Upstream):
    upstream.statuses = [503, 429]
    assert papers.get("/graph/v1/paper/search", query="a").status == 200
    assert len(upstream.asked) == 3
    upstream.statuses = [500] * 3
    got = papers.get("/graph/v1/paper/search", query="b")
    assert (got.status, got.json) == (
        502,
        {"error": "The service behind this one did not answer: status 500."},
    )
    assert len(upstream.asked) == 6
    assert papers.get("/graph/v1/paper/search", query="b").status == 200


def test_an_error_that_is_an_answer_is_passed_on_and_kept(papers: Asker, upstream: Upstream):
    upstream.statuses = [404]
    assert papers.get("/graph/v1/paper/ARXIV:1").status == 404
    assert papers.get("/graph/v1/paper/ARXIV:1").status == 404
    assert len(upstream.asked) == 1


def test_nobody_is_led_elsewhere(papers: Asker, upstream: Upstream):
    upstream.statuses = [302]
    assert papers.get("/api/query", search_query="a").status == 502
    assert len(upstream.asked) == 1


def test_an_answer_that_is_too_large_is_refused(
    papers: Asker, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "LARGEST_ANSWER", 1000)
    upstream.body = b"x" * 1001
    assert papers.get("/api/query", search_query="a").status == 502


def test_a_service_that_is_not_there_is_told(serve: Serve, tmp_path: Path):
    nowhere = Addresses(atom="http://127.0.0.1:1", scholar="http://127.0.0.1:1")
    got = serve(live_site(nowhere, tmp_path, QUICK)).get("/graph/v1/paper/search", query="a")
    assert got.status == 502
    assert "refused" in got.json["error"]


def test_requests_keep_their_distance(upstream: Upstream, serve: Serve, tmp_path: Path):
    addresses = Addresses(atom=upstream.address, scholar="http://127.0.0.1:1")
    papers = serve(live_site(addresses, tmp_path, Manners(atom_gap=0.3)))
    threads = [
        threading.Thread(target=papers.get, args=("/api/query",), kwargs={"search_query": str(number)})
        for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gaps = [later - earlier for earlier, later in zip(upstream.times, upstream.times[1:], strict=False)]
    assert len(gaps) == 2
    assert min(gaps) > 0.28


def test_the_end_of_a_run_does_not_wait_for_patience(tmp_path: Path):
    nowhere = Addresses(atom="http://127.0.0.1:1", scholar="http://127.0.0.1:1")
    with Server() as server:
        papers = Asker(server.on_port(live_site(nowhere, tmp_path, Manners(wait=60.0, longest_wait=60.0))))
        waiting = threading.Thread(
            target=papers.send, args=(b"GET /api/query?search_query=a HTTP/1.1\r\n\r\n",)
        )
        waiting.start()
        time.sleep(0.3)
        started = time.monotonic()
    assert time.monotonic() - started < 10
    waiting.join()


def test_addresses_are_checked(tmp_path: Path):
    (tmp_path / "live.json").write_text('{"atom": "file:///etc", "scholar": "https://x.example"}')
    with pytest.raises(TaskError, match="live"):
        Addresses.read(tmp_path / "live.json")


@pytest.fixture
def live_task(upstream: Upstream, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(live, "Manners", lambda: QUICK)
    return tool_task(tmp_path / "librarian", atom=upstream.address, scholar=upstream.address)


def test_a_variant_made_of_live_services_needs_consent(live_task: Path, runs: Path, upstream: Upstream):
    with pytest.raises(UsageError, match="--network on"):
        run(live_task, "starter", variant="full", runs=runs)
    assert not list(runs.iterdir())
    assert upstream.asked == []


def test_with_the_network_on_it_is_worked_and_graded_on_the_live_services(
    live_task: Path, runs: Path, upstream: Upstream, full_backend: str
):
    upstream.body = b'{"total": 1, "data": [{"title": "Glacier songs"}]}'
    made = run(live_task, "starter", variant="full", runs=runs, network=True, sandbox=full_backend)
    (step,) = [event for event in events_of(made) if isinstance(event, StepTaken)][:1]
    assert step.observation.text.startswith("['Glacier songs']")
    assert made.grade.score == 1.0
    # The starter ran once for the run and thrice for the baseline; the answers were kept for all of them.
    assert [urlsplit(each).query.split("&")[0] for each in upstream.asked] == [
        "query=splines",
        "query=glaciers",
    ]
    assert grade(made.folder).score == 1.0
    assert verify(made.folder).ok
