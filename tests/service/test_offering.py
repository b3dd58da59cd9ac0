"""Services inside of the sandbox: a program reaches them, and nothing else with them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from programs import python, run
from reaching import SECRET
from support.tool_task import TOOL, index, paper
from support.users import as_unprivileged, why_not

from mlagentbench.errors import SandboxUnavailableError, TaskError, UsageError
from mlagentbench.sandbox import Sandbox, choose
from mlagentbench.sandbox.relays import MOST_CONNECTIONS, MOST_WAITING
from mlagentbench.service.host import PORTS
from mlagentbench.service.offering import Offer, Offered
from mlagentbench.task.definition import read_definition

_HERE = Path(__file__).parent


@pytest.fixture(params=["bwrap", "namespaces"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return choose(request.param)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("user", ["as-started", "unprivileged"])
def test_a_program_reaches_its_services_and_nothing_else(sandbox: Sandbox, user: str):
    command = [sys.executable, str(_HERE / "reaching.py"), sandbox.name]
    if user == "unprivileged":
        if why_not():
            pytest.skip(why_not())
        command = as_unprivileged(command)
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    reached = told["reached"]
    assert reached.pop("papers") == repr([SECRET])
    assert reached.pop("chat") == repr("It rains cats.")
    # To its own loopback it may send; whether the host hears it is told below.
    assert reached.pop("host datagram") in (None, repr("sent"))
    assert {name for name, what in reached.items() if what is not None} == set()
    assert len(reached) == 11
    assert told["heard"] == []


def test_the_same_program_reaches_all_of_it_where_nothing_is_isolated():
    command = [sys.executable, str(_HERE / "reaching.py"), "none"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    reached = {name for name, what in told["reached"].items() if what is not None}
    assert reached >= {
        "papers",
        "chat",
        "index",
        "folder",
        "host port",
        "host address",
        "socket",
        "abstract socket",
    }
    assert {each.partition(" ")[0] for each in told["heard"]} == {"tcp", "udp", "path", "abstract"}


@pytest.fixture
def offer(sandbox: Sandbox, tmp_path: Path) -> Offer:
    for name, title in (("services", "Splines"), ("grading", "Glaciers")):
        (tmp_path / "private" / name).mkdir(parents=True)
        (tmp_path / "private" / name / "papers.json").write_text(index(paper(1, title)))
    return Offer(
        ("papers", "chat"), tmp_path / "private", "services", sandbox.own_network, False, tmp_path / "cache"
    )


@pytest.fixture
def attempt(sandbox: Sandbox, tmp_path: Path) -> Callable[[Offered, str], str]:
    """Runs code beside the tool, and tells what it printed."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "tool.py").write_text(TOOL)

    def running(offered: Offered, code: str) -> str:
        code = f"import sys; sys.path.insert(0, '.')\nimport tool\n{code}"
        job = python(code, workspace, seconds=120, services=offered.services, environment=offered.environment)
        ran = run(sandbox, job)
        assert ran.result.exit_status == 0, ran.output
        return ran.output

    return running


Attempt = Callable[[Offered, str], str]


def test_each_index_is_served_by_itself(offer: Offer, attempt: Attempt):
    for which, title in (("services", "Splines"), ("grading", "Glaciers")):
        with replace(offer, index=which).open() as offered:
            assert attempt(offered, "print(tool.search('splines glaciers'))") == f"{[title]}\n"


def test_ports_are_the_same_everywhere_that_programs_have_a_network_of_their_own(offer: Offer):
    with offer.open() as one, offer.open() as other:
        mine, theirs = ([each.port for each in found.services] for found in (one, other))
    assert mine == theirs == list(PORTS.values())


def test_a_thousand_requests_of_a_program_are_answered(offer: Offer, attempt: Attempt):
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda number: tool.search("splines"), range(1000)))
print(sum(each == ["Splines"] for each in found))
"""
    with offer.open() as offered:
        assert attempt(offered, code) == "1000\n"


def test_a_program_that_misuses_its_services_hurts_nobody_but_itself(offer: Offer, attempt: Attempt):
    code = f"""
import os, socket, time
from urllib.parse import urlsplit
place = urlsplit(os.environ["PAPERS_URL"])
def connect():
    return socket.create_connection((place.hostname, place.port), 5)
for data in (b"", b"GET", bytes(range(256)) * 100, b"POST / HTTP/1.1\\r\\nContent-Length: 99\\r\\n\\r\\n"):
    with connect() as connection:
        try:
            connection.sendall(data)
        except OSError:
            pass
held = []
try:
    for number in range({MOST_CONNECTIONS + MOST_WAITING} + 50):
        held.append(connect())
        held[-1].sendall(b"GET / HT")
except OSError:
    pass
for connection in held:
    connection.close()
print(len(held) > 10)
for _ in range(300):
    try:
        print(tool.search("splines"))
        break
    except OSError:
        time.sleep(0.1)
"""
    with offer.open() as offered:
        assert attempt(offered, code) == "True\n['Splines']\n"
        assert attempt(offered, "print(tool.search('splines'))") == "['Splines']\n"


def test_what_is_missing_or_not_allowed_is_told_before_anything_starts(tmp_path: Path):
    offer = Offer(("papers",), tmp_path, "grading", True, False, tmp_path / "cache")
    with pytest.raises(TaskError, match=r"grading/papers\.json"):
        offer.check()
    (tmp_path / "services").mkdir()
    (tmp_path / "services" / "live.json").write_text("{}")
    with pytest.raises(UsageError, match="--network on"):
        offer.check()
    replace(offer, names=("chat",)).check()


def test_tasks_that_offer_nothing_load_nothing(tmp_path: Path):
    code = """
import sys
from pathlib import Path
import mlagentbench.grading.stages, mlagentbench.environment.making
from mlagentbench.service.offering import Offer
with Offer((), Path("/nowhere"), "services", True, False, Path("/nowhere")).open() as offered:
    assert not offered.services and not offered.environment
print([name for name in sys.modules if name.startswith("mlagentbench.service") or name in ("asyncio", "http.client")])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['mlagentbench.service', 'mlagentbench.service.offering']\n"


def test_a_task_names_services_that_there_are_and_is_not_timed_beside_them(tmp_path: Path):
    text = """
name = "a"
title = "A"
modality = "m"
submission = "a.py"
entry = "a.py"
metric = { name = "x", goal = "maximize" }
variants = { mini = { description = "d" } }
"""
    file = tmp_path / "task.toml"
    file.write_text(f'services = ["papers", "chat"]\n{text}')
    assert read_definition(file).services == ("papers", "chat")
    file.write_text(f'services = ["coffee"]\n{text}')
    with pytest.raises(TaskError, match="services"):
        read_definition(file)
    file.write_text(f'services = ["chat"]\n{text}program = {{ timing = {{}} }}\n')
    with pytest.raises(TaskError, match="timed"):
        read_definition(file)
