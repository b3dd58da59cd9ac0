"""Tool tasks without a sandbox: their services on loopback, and their programs run as `infer.py` runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlagentbench.service.catalogue import Catalogue, Paper
from mlagentbench.service.chat import chat_site
from mlagentbench.service.host import environment
from mlagentbench.service.live import Addresses, Manners, live_site
from mlagentbench.service.papers import papers_site
from mlagentbench.service.standin import StandIn
from mlagentbench.service.web import Server

HURRIED = Manners(atom_gap=0.0, scholar_gap=0.0, wait=0.01)


@contextmanager
def services(papers: list[dict[str, Any]], behind: Path | None = None) -> Iterator[dict[str, str]]:
    """The variables that name a paper index and the stand-in for a model. With `behind`, a folder for answers, the
    index is reached as live services are."""
    with upstream(papers) as address, Server() as server:
        port = int(address.rpartition(":")[2])
        if behind is not None:
            port = server.on_port(live_site(Addresses(atom=address, scholar=address), behind, HURRIED))
        yield environment({"papers": port, "chat": server.on_port(chat_site(StandIn()))})


@contextmanager
def upstream(papers: list[dict[str, Any]]) -> Iterator[str]:
    """The address of a server that speaks as both live services do, and knows these papers."""
    with Server() as server:
        catalogue = Catalogue(tuple(Paper.model_validate(paper) for paper in papers))
        yield f"http://127.0.0.1:{server.on_port(papers_site(catalogue))}"


def index(private: Path, part: str = "grading") -> list[dict[str, Any]]:
    """The papers that a task's data have for work, or for grading."""
    papers: list[dict[str, Any]] = json.loads((private / part / "papers.json").read_text())["papers"]
    return papers


def workspace(task: Path, public: Path, folder: Path, which: str = "starter") -> Path:
    """As a program finds it, with the files of `which` over the starter's."""
    for source in (task / "starter", public, task / which):
        shutil.copytree(source, folder, dirs_exist_ok=True)
    return folder


def infer(task: Path, workspace: Path, private: Path, outputs: Path, variables: dict[str, str]) -> str:
    """Run a task's `infer.py` in a workspace; empty, or what it said where it failed."""
    outputs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(task / "infer.py"), str(private / "inputs"), str(outputs)]
    variables = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run(command, cwd=workspace, env=variables, capture_output=True, text=True)
    return done.stderr if done.returncode else ""
