"""Paragraphs about a field that does not exist for `mini`, about well-known papers behind live services for `full`."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from random import Random
from typing import Any

from mlagentbench.task.fiction import Field, make_fields

HERE = Path(__file__).parent
WRITING = runpy.run_path(str(HERE / "paragraphs.py"))
EXAMPLES, HIDDEN = 6, 24
SECONDS = {"mini": 60, "full": 300}
"""For one run of a tool. Live services are asked a few times a second at most."""
LIVE = {"atom": "https://export.arxiv.org", "scholar": "https://api.semanticscholar.org"}


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        shown, hidden = make_fields(seed)
        rng = Random(seed)
        examples = answers_of(shown, WRITING["paragraphs_of"](shown, rng, "example", EXAMPLES))
        answers = answers_of(hidden, WRITING["paragraphs_of"](hidden, rng, "paragraph", HIDDEN))
        write(private / "services" / "papers.json", shown.index())
        write(private / "grading" / "papers.json", hidden.index())
    else:
        examples, answers = known("example"), known("paragraph")
        write(private / "services" / "live.json", LIVE)
    write(public / "examples.json", examples)
    write(private / "answers.json", answers)
    asked = [{"id": each["id"], "text": each["text"]} for each in answers["paragraphs"]]
    write(private / "inputs" / "paragraphs.json", {"seconds": SECONDS[variant], "paragraphs": asked})


def answers_of(field: Field, paragraphs: list[dict[str, Any]]) -> dict[str, Any]:
    """With the works that are to be cited, and no others."""
    wanted = {work for each in paragraphs for sentence in each["sentences"] for work in sentence["works"]}
    papers = {
        paper.id: {"title": paper.title, "authors": list(paper.authors), "year": paper.year}
        for paper in field.papers
        if paper.id in wanted
    }
    return {"open": False, "papers": papers, "paragraphs": paragraphs}


def known(part: str) -> dict[str, Any]:
    """Paragraphs about real subjects, with the well-known papers that their sentences need."""
    content = json.loads((HERE / "known.json").read_text(encoding="utf-8"))
    paragraphs = [
        WRITING["joined"](
            f"{part}-{number:02d}", [(sentence["text"], sentence["works"]) for sentence in body]
        )
        for number, body in enumerate(content[part])
    ]
    wanted = {work for body in content[part] for sentence in body for work in sentence["works"]}
    papers = {
        work: {"title": told["title"], "authors": [told["author"]], "year": told["year"]}
        for work, told in content["works"].items()
        if work in wanted
    }
    return {"open": True, "papers": papers, "paragraphs": paragraphs}


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
