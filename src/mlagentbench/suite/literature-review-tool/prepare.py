"""A field that does not exist for `mini`, well-known papers behind live services for `full`; queries to both."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from mlagentbench.task.fiction import Field, Paper, Topic, make_fields

HERE = Path(__file__).parent
EXAMPLES = 5
SECONDS = {"mini": 60, "full": 300}
"""For one run of a tool. Live services are asked a few times a second at most."""
LIVE = {"atom": "https://export.arxiv.org", "scholar": "https://api.semanticscholar.org"}


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        shown, hidden = make_fields(seed)
        rng = Random(seed)
        examples = answers_of(shown, queries_of(shown, rng, "example")[:EXAMPLES])
        answers = answers_of(hidden, queries_of(hidden, rng, "query"))
        write(private / "services" / "papers.json", shown.index())
        write(private / "grading" / "papers.json", hidden.index())
    else:
        examples, answers = known("example"), known("query")
        write(private / "services" / "live.json", LIVE)
    write(public / "examples.json", examples)
    write(private / "answers.json", answers)
    asked = [{"id": query["id"], "query": query["query"]} for query in answers["queries"]]
    write(private / "inputs" / "queries.json", {"seconds": SECONDS[variant], "queries": asked})


def queries_of(field: Field, rng: Random, name: str) -> list[dict[str, Any]]:
    """One for each topic, of three kinds in turn: all of it, since a year, and measured on a collection."""
    topics = rng.sample(field.topics, len(field.topics))
    asked = [
        (whole, since, measured)[place % 3](topic, field.of(topic), rng) for place, topic in enumerate(topics)
    ]
    return [
        {"id": f"{name}-{number:02d}", "query": text, "relevant": sorted(paper.id for paper in relevant)}
        for number, (text, relevant) in enumerate(asked)
    ]


def whole(topic: Topic, papers: list[Paper], rng: Random) -> tuple[str, list[Paper]]:
    form = rng.choice(["Methods for {}", "What is known about {}", "The state of {}"])
    return form.format(topic.names[0]), papers


def since(topic: Topic, papers: list[Paper], rng: Random) -> tuple[str, list[Paper]]:
    years = sorted(paper.year for paper in papers)
    year = years[rng.randint(len(years) // 4, len(years) // 2)]
    return f"Work on {topic.names[0]} since {year}", [paper for paper in papers if paper.year >= year]


def measured(topic: Topic, papers: list[Paper], rng: Random) -> tuple[str, list[Paper]]:
    """Of the topic's own collections, the one that most papers measure on."""
    collections = sorted({paper.collection for paper in papers if paper.released})
    used = {each: [paper for paper in papers if paper.collection == each] for each in collections}
    collection = max(collections, key=lambda each: len(used[each]))
    return f"{topic.names[0].capitalize()} measured on the {collection} recordings", used[collection]


def answers_of(field: Field, queries: list[dict[str, Any]]) -> dict[str, Any]:
    papers = {
        paper.id: {
            "title": paper.title,
            "authors": list(paper.authors),
            "year": paper.year,
            "own": list(paper.own),
            "others": list(paper.others),
        }
        for paper in field.papers
    }
    return {"open": False, "papers": papers, "queries": queries}


def known(part: str) -> dict[str, Any]:
    """Queries about real subjects, with well-known papers about each. There are others, which nobody has judged."""
    topics = json.loads((HERE / "known.json").read_text(encoding="utf-8"))[part]
    papers = {
        work["id"]: {
            "title": work["title"],
            "authors": [work["author"]],  # the last name of the first one
            "year": work["year"],
            "own": work["terms"],
            "others": [],
        }
        for works in topics.values()
        for work in works
    }
    queries = [
        {"id": f"{part}-{number:02d}", "query": text, "relevant": sorted(work["id"] for work in works)}
        for number, (text, works) in enumerate(topics.items())
    ]
    return {"open": True, "papers": papers, "queries": queries}


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
