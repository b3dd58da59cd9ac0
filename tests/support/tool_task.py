"""A small task that offers papers and chat: its program searches, asks, and writes what it found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_TOML = """
name = "librarian"
title = "Find papers"
modality = "building a tool"
submission = "tool.py"
entry = "tool.py"
requirements = []
services = ["papers", "chat"]
metric = { name = "share found", goal = "maximize", ceiling = 1.0 }
program = { time = "1m" }
variants = { mini = { description = "Three papers." }, full = { description = "The live services." } }
"""
_PREPARE = """
import json
from pathlib import Path

def prepare(variant, public, private, seed):
    (public / "topics.json").write_text(json.dumps(["splines"]))
    for name in ("inputs", "services", "grading"):
        (private / name).mkdir()
    (private / "inputs" / "topic.txt").write_text("glaciers")
    here = Path(__file__).parent
    if variant == "full":
        (private / "services" / "live.json").write_text((here / "live.json").read_text())
    else:
        for name in ("services", "grading"):
            (private / name / "papers.json").write_text((here / f"{name}.json").read_text())
"""
_INFER = """
import os, subprocess, sys
from pathlib import Path
topic = (Path(sys.argv[1]) / "topic.txt").read_text()
found = subprocess.run([sys.executable, "tool.py", topic], capture_output=True, text=True, check=True).stdout
(Path(sys.argv[2]) / "found.txt").write_text(found)
"""
_GRADE = """
from mlagentbench.errors import SubmissionRefusedError

def grade(submission, private):
    lines = (submission / "found.txt").read_text().splitlines()
    if len(lines) != 2:
        raise SubmissionRefusedError(f"There are {len(lines)} lines and not 2.")
    return {"score": float("Glacier songs" in lines[0]), "notes": [lines[1]]}
"""
TOOL = """
import json, os, sys, urllib.request
from urllib.parse import quote

def search(topic):
    url = f"{os.environ['PAPERS_URL']}/graph/v1/paper/search?query={quote(topic)}&fields=title"
    return [each["title"] for each in json.load(urllib.request.urlopen(url))["data"]]

def ask(text):
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": text}]}).encode()
    head = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    answer = json.load(urllib.request.urlopen(urllib.request.Request(url, body, head)))
    return answer["choices"][0]["message"]["content"]

if __name__ == "__main__":
    print(search(sys.argv[1] if len(sys.argv) > 1 else "splines"))
    print(ask("Give one keyword of this text:\\n\\nGlacier songs are songs of glaciers."))
"""


def paper(number: int, title: str, abstract: str = "", **more: Any) -> dict[str, Any]:
    """A made-up paper of an index."""
    return {
        "id": f"2104.{number:05d}",
        "title": title,
        "authors": ["Maria Chen", "Piet van der Ende"],
        "published": "2021-04-17",
        "year": 2021,
        "venue": "Journal of Made-up Things",
        "categories": ["cs.LG", "stat.ML"],
        "abstract": abstract or f"We speak of {title.lower()}.",
        "citations": [],
        **more,
    }


def index(*papers: dict[str, Any]) -> str:
    return json.dumps({"papers": list(papers)})


WORKING = index(paper(1, "Splines of old"), paper(2, "Splines anew", citations=["2104.00001"]))
HIDDEN = index(paper(3, "Glacier songs"), paper(4, "Other songs"))


def tool_task(folder: Path, **live: str) -> Path:
    """Makes the task in `folder`; `live` are the addresses of its variant `full`."""
    files = {
        "task.toml": _TOML,
        "prepare.py": _PREPARE,
        "infer.py": _INFER,
        "grade.py": _GRADE,
        "problem.md": "Edit tool.py.",
        "starter/tool.py": TOOL,
        "services.json": WORKING,
        "grading.json": HIDDEN,
        "live.json": json.dumps(live),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder
