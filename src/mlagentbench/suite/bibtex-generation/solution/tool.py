"""Cites: `python tool.py PARAGRAPH.txt CITED.txt REFERENCES.bib`. Without arguments it tries itself on the examples."""

import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
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


COMMON = """
    The There This What Whether Where When Since Once Even Few Much Interest As It In On A To We Our How Learning
    Large Words
"""
COMMON = frozenset(COMMON.split())
NUMBER = re.compile(r"\b\d+\.\d+\b")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
PEOPLE = re.compile(r"\b([A-Z]\w+) (?:and colleagues|et al)")
NEW = (
    "introduces?",
    "presents?",
    "answer is",
    "procedure,",
    "the name of",
    "proposes?",
    "release the",
    "come the",
)
MOST = 60


def phrase(text, field="all"):
    return f'{field}:"{text}"'


def sentences_of(paper):
    return re.split(r"(?<=[.]) (?=[A-Z])", paper["abstract"])


def brings(paper, name):
    """How sure it is that a paper is the one that a name comes from."""
    if re.match(rf"{re.escape(name)}\b[:,]", paper["title"], re.IGNORECASE):
        return 3
    said = next((each for each in sentences_of(paper) if re.search(rf"\b{re.escape(name)}\b", each)), "")
    if re.search(rf"({'|'.join(NEW)}) {re.escape(name)}\b", said, re.IGNORECASE) or re.search(
        rf"\b{re.escape(name)},? is proposed", said
    ):
        return 2
    return 1 if name.lower() in paper["title"].lower() else 0


def best(sentence, papers):
    """Of several papers the one that the model finds to fit best."""
    if len(papers) < 2:
        return papers
    listed = "\n".join(
        f"{place}. {paper['title']}. {paper['abstract']}" for place, paper in enumerate(papers, 1)
    )
    answer = ask(
        f"Rank these papers by how well they fit the query, best first.\nQuery: {sentence}\n{listed}"
    )
    first = next((int(number) for number in re.findall(r"\d+", answer)), 1)
    return [papers[first - 1 if 1 <= first <= len(papers) else 0]]


def by_people(surname, years, sentence):
    """What somebody wrote as the first author in one of the years."""
    found = [
        paper
        for paper in search(phrase(surname, "au"), MOST)
        if paper["authors"][0].split()[-1] == surname and (not years or str(paper["year"]) in years)
    ]
    return best(sentence, found)


def by_numbers(numbers, sentence):
    """The paper that reports just these numbers."""
    found = search(" AND ".join(phrase(number, "abs") for number in numbers), MOST)
    found = [
        paper for paper in found if all(number in NUMBER.findall(paper["abstract"]) for number in numbers)
    ]
    return best(sentence, found)


def by_name(name):
    """The paper that a name comes from, or nothing."""
    found = search(phrase(name), MOST)
    found = sorted(
        (paper for paper in found if brings(paper, name)),
        key=lambda paper: (-brings(paper, name), paper["id"]),
    )
    return found[:1]


def by_description(name, sentence):
    """The one paper that does both things that a sentence says, on the collection that it names."""
    found = [paper for paper in search(phrase(name), MOST) if measures_on(paper, name)]
    found = [paper for paper in found if len(pairs_in(sentence) & pairs_in(paper["abstract"])) >= 2]
    return best(sentence, found)


def measures_on(paper, name):
    said = (each for each in sentences_of(paper) if f"the {name} recordings" in each)
    return any(NUMBER.search(each) for each in said)


def pairs_in(text):
    """Two words beside one another of which both are long, like `staged pruning`."""
    words = re.findall(r"[\w-]+", text.lower())
    return {pair for pair in pairwise(words) if min(map(len, pair)) > 3 and "recordings" not in pair}


def by_date(year, sentence):
    """What was done in a year: papers of that year that share most pairs of words with the sentence."""
    found = {}
    for one, other in sorted(pairs_in(sentence)):
        for paper in search(phrase(f"{one} {other}"), MOST):
            if str(paper["year"]) == year:
                found[paper["id"]] = paper
    common = {
        paper["id"]: len(pairs_in(sentence) & pairs_in(f"{paper['title']}. {paper['abstract']}"))
        for paper in found.values()
    }
    most = [paper for paper in found.values() if common[paper["id"]] == max(common.values())]
    return best(sentence, most)


def works_of(sentence):
    """By people and years, by numbers, by what is described, by names; none where nothing is certain."""
    years, numbers = YEAR.findall(sentence), NUMBER.findall(sentence)
    if people := PEOPLE.search(sentence):
        return by_people(people[1], years, sentence)
    if numbers:
        return by_numbers(numbers, sentence)
    if years:
        return by_date(years[0], sentence)
    names = [word for word in re.findall(r"\b[A-Z][\w-]+", sentence) if word not in COMMON]
    if described := [found for name in names for found in by_description(name, sentence)]:
        return described[:1]
    works = {paper["id"]: paper for name in names for paper in by_name(name)}
    return list(works.values())


def entry_of(paper):
    fields = {
        "title": paper["title"],
        "author": " and ".join(paper["authors"]),
        "year": str(paper["year"]),
        "eprint": paper["id"],
        "archiveprefix": "arXiv",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return f"@article{{{paper['id']},\n" + ",\n".join(lines) + "\n}\n"


def cite(paragraph):
    """The paragraph with citations before the full stops of its sentences, and the bibliography."""
    cited, entries = [], {}
    for sentence in re.split(r"(?<=[.]) (?=[A-Z])", paragraph.rstrip("\n")):
        works = works_of(sentence)
        entries |= {paper["id"]: entry_of(paper) for paper in works}
        citation = f" \\cite{{{','.join(paper['id'] for paper in works)}}}" if works else ""
        cited.append(f"{sentence[:-1]}{citation}{sentence[-1]}")
    return " ".join(cited) + "\n", "\n".join(entries.values())


def main():
    if len(sys.argv) == 4:
        given, text, bibliography = map(Path, sys.argv[1:])
        cited, entries = cite(given.read_text(encoding="utf-8"))
        text.write_text(cited, encoding="utf-8")
        bibliography.write_text(entries, encoding="utf-8")
        return
    from scoring import parts_of, score_paragraph

    examples = json.loads(Path("examples.json").read_text(encoding="utf-8"))
    scores = []
    for paragraph in examples["paragraphs"]:
        cited = cite(paragraph["text"])
        parts = parts_of(*cited, paragraph, examples)
        print(paragraph["id"], *(f"{name} {value:.2f}" for name, value in parts.items()), sep="  ")
        scores.append(score_paragraph(*cited, paragraph, examples))
    print(f"validation score: {sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
