"""Writes a literature review: `python tool.py QUERY REVIEW.md`. Without arguments it tries itself on the examples."""

import json
import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

PAPERS = os.environ["PAPERS_URL"]
CHAT = os.environ["OPENAI_BASE_URL"]
KEY = os.environ["OPENAI_API_KEY"]
ATOM = "{http://www.w3.org/2005/Atom}"


def fetch(url, body=None, headers=None):
    data = json.dumps(body).encode() if body is not None else None
    with urlopen(
        Request(url, data, {"Content-Type": "application/json", **(headers or {})}), timeout=20
    ) as answer:
        return answer.read()


def search(text, count):
    """Papers that the arXiv API finds for `text`, best first."""
    asked = urlencode({"search_query": text, "max_results": count})
    papers = []
    for entry in ET.fromstring(fetch(f"{PAPERS}/api/query?{asked}")).iter(f"{ATOM}entry"):
        found = {
            "id": entry.findtext(f"{ATOM}id").rpartition("/abs/")[2].partition("v")[0],
            "title": " ".join(entry.findtext(f"{ATOM}title").split()),
            "abstract": " ".join(entry.findtext(f"{ATOM}summary").split()),
            "authors": [author.findtext(f"{ATOM}name") for author in entry.iter(f"{ATOM}author")],
            "year": int(entry.findtext(f"{ATOM}published")[:4]),
        }
        papers.append(found)
    return papers


def scholar(what, **parameters):
    """What the scholar API answers: `search` with a query, or `ARXIV:1234.56789/references`, for instance."""
    return json.loads(fetch(f"{PAPERS}/graph/v1/paper/{what}?{urlencode(parameters)}"))


def ask(prompt):
    """What the language model answers."""
    body = {"model": "assistant", "messages": [{"role": "user", "content": prompt}], "temperature": 0}
    answer = json.loads(fetch(f"{CHAT}/chat/completions", body, {"Authorization": f"Bearer {KEY}"}))
    return answer["choices"][0]["message"]["content"]


# ---- Your work goes here. This only makes the tool run. ----


def find_papers(query):
    return search(f"all:{query}", 3)


def summarise(paper):
    summary = ask(f"Summarise this abstract in 1 sentence.\n\n{paper['abstract']}")
    return " ".join(summary.split())


def introduce(query, papers):
    return f"This review is about: {query}."


def compare(query, papers):
    return "The papers have not been compared."


def question(query, papers):
    return "What is not known yet?"


# -------------------------------------------------------------


def review(query):
    papers = find_papers(query)
    lines = [f"# {query}", "", "## Introduction", introduce(query, papers), "", "## Papers"]
    for paper in papers:
        lines += [f"### {paper['id']}: {paper['title']}", summarise(paper), ""]
    lines += ["## Comparison", compare(query, papers), ""]
    lines += ["## Open questions", f"- {question(query, papers)}", "", "## References"]
    for paper in papers:
        lines.append(f"- {paper['id']}: {', '.join(paper['authors'])}. {paper['title']}. {paper['year']}.")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) == 3:
        Path(sys.argv[2]).write_text(review(sys.argv[1]), encoding="utf-8")
        return
    from scoring import parts_of, score_review

    examples = json.loads(Path("examples.json").read_text(encoding="utf-8"))
    scores = []
    for query in examples["queries"]:
        text = review(query["query"])
        parts = parts_of(text, query, examples)
        print(query["query"], *(f"{name} {value:.2f}" for name, value in parts.items()), sep="  ")
        scores.append(score_review(text, query, examples))
    print(f"validation score: {sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
