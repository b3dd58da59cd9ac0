"""Writes a literature review: `python tool.py QUERY REVIEW.md`. Without arguments it tries itself on the examples."""

import json
import os
import re
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from urllib.error import URLError
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


FILLING = {"methods", "for", "what", "is", "known", "about", "the", "state", "of", "work", "on"}
ALSO_CALLED = [
    re.compile(r"^(.+?), also known as (.+?) or (.+?), has been studied"),
    re.compile(r"^(.+?), which others call (.+?), is "),
    re.compile(r"^The terms (.+?) and (.+?) stand for one"),
]
OWN = re.compile(
    r"\b(we|our|this paper|this survey|here|is proposed|in this work|begun by|also known as)\b"
    r"|\b(on|measured on) the \w+ recordings\b",
    re.IGNORECASE,
)
OF_OTHERS = re.compile(r"^(unlike|earlier|results on|results known|the authors of|related)\b", re.IGNORECASE)
FIELDS = "externalIds,title,abstract,year,authors"
WORD = re.compile(r"[^\W\d_][\w'-]*|\d[\d.,]*")
OPEN = json.loads(Path("examples.json").read_text(encoding="utf-8"))[
    "open"
]  # real papers, more than anyone knows
ENOUGH, LONGEST_SUMMARY = 5, 40
PATIENCE = 25  # seconds for following citations


def read_query(query):
    """The topic, the first year, and the collection that a query names."""
    topic, _, year = query.rstrip("?. ").partition(" since ")
    topic, _, rest = topic.partition(" measured on the ")
    words = [word for word in topic.split() if word.lower() not in FILLING]
    return " ".join(words).lower(), int(year) if year.isdigit() else 0, rest.removesuffix(" recordings")


def sentences_of(paper):
    return re.split(r"(?<=\.) (?=[A-Z])", paper["abstract"])


def is_about(paper, name):
    """A paper names its topic in the title or at the beginning; further on it names those of others."""
    return name in f"{paper['title']} {sentences_of(paper)[0]}".lower()


def names_of(paper):
    """What it says to be one thing under several names."""
    for form in ALSO_CALLED:
        if match := form.search(paper["abstract"]):
            return {name.lower() for name in match.groups()}
    return set()


def as_found(listed):
    """Papers of the scholar API, in the form of `search`."""
    return [
        {
            "id": each["externalIds"]["ArXiv"],
            "title": each["title"],
            "abstract": each.get("abstract") or "",
            "authors": [author["name"] for author in each["authors"]],
            "year": each["year"],
        }
        for each in listed or []
        if "ArXiv" in (each.get("externalIds") or {}) and each["year"]
    ]


def neighbours(paper):
    """What a paper cites and is cited by."""
    parts = (f"{part}.{field}" for part in ("references", "citations") for field in FIELDS.split(","))
    try:
        found = scholar(f"ARXIV:{paper['id']}", fields=",".join(parts))
    except URLError:  # a busy server: this paper's citations are left out
        return []
    return as_found(found.get("references")) + as_found(found.get("citations"))


def named(topic):
    """Papers that are about the topic under any of its names, which papers themselves tell."""
    names, tried, about = {topic}, set(), {}
    while names - tried:
        name = min(names - tried)
        tried.add(name)
        for paper in search(f'all:"{name}"', 60):
            called = names_of(paper)
            if called & names:
                names |= called
            if is_about(paper, name):
                about[paper["id"]] = paper
    return about


def unnamed(about):
    """Papers that do not say what they are about, but stand among those of the topic in the citation graph."""
    start = time.monotonic()
    links = {}
    for known in sorted(about):
        if time.monotonic() - start < PATIENCE:
            links[known] = neighbours(about[known])
    seen = {paper["id"]: paper for near in links.values() for paper in near if paper["id"] not in about}
    met = Counter(paper["id"] for near in links.values() for paper in near if paper["id"] not in about)
    found = {}
    for candidate, times in met.most_common(15):
        if times >= 2 and time.monotonic() - start < PATIENCE:
            around = {paper["id"] for paper in neighbours(seen[candidate])}
            if len(around & about.keys()) >= 0.5 * len(around):
                found[candidate] = seen[candidate]
    return found


def find_papers(query):
    topic, year, collection = read_query(query)
    about = {} if OPEN else named(topic)
    if len(about) < ENOUGH:
        return often_cited(topic, year)
    about |= unnamed(about)
    chosen = [paper for paper in about.values() if paper["year"] >= year]
    if collection:
        chosen = [paper for paper in chosen if any(collection in each for each in own_sentences(paper))]
    chosen.sort(key=lambda paper: paper["id"])
    return chosen[:40] or often_cited(topic, year)


def often_cited(topic, year):
    """Where a name leads nowhere, or everywhere: what a search by words finds, those first that others cite most."""
    found = scholar(
        "search", query=topic, limit=100, fields=f"{FIELDS},citationCount", year=f"{year or 1900}-"
    )
    found = sorted(found.get("data") or [], key=lambda each: -each["citationCount"])
    return as_found(found)[:20]


def own_sentences(paper):
    """Those in which a paper speaks of itself."""
    return [each for each in sentences_of(paper) if OWN.search(each) and not OF_OTHERS.search(each)]


def summarise(paper):
    """A paper's own sentences; where they are too long, the model says what matters in them."""
    own = own_sentences(paper) or sentences_of(paper)[1:] or sentences_of(paper)
    summary = " ".join(own)
    for count in (2, 1):
        if len(WORD.findall(summary)) > LONGEST_SUMMARY:
            asked = f"Summarise this in {count} sentences, at most {LONGEST_SUMMARY - 5} words."
            summary = " ".join(ask(f"{asked}\n\n{' '.join(own)}").split())
    return " ".join(summary.split()[:LONGEST_SUMMARY])


def introduce(query, papers):
    topic = read_query(query)[0]
    first, last = min(paper["year"] for paper in papers), max(paper["year"] for paper in papers)
    return (
        f"This review is about {topic}. It covers {len(papers)} papers from {first} to {last}, found under all names "
        "that are in use for the topic and by following citations in both directions."
    )


def compare(query, papers):
    first, last = min(papers, key=lambda paper: paper["year"]), max(papers, key=lambda paper: paper["year"])
    return (
        f"The earliest of these papers is {first['id']} ({first['title']}, {first['year']}), and the latest is "
        f"{last['id']} ({last['title']}, {last['year']}). They differ in the methods that they use and in the data "
        "that they measure on, so that their numbers cannot be set side by side."
    )


def question(query, papers):
    return f"Which of the methods for {read_query(query)[0]} holds up on data that it was not made for?"


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
