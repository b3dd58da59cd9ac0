"""How a review is scored. The same code grades the hidden queries."""

import re
import unicodedata
from dataclasses import dataclass

SECTIONS = ["Introduction", "Papers", "Comparison", "Open questions", "References"]
WEIGHTS = {"papers": 0.55, "summaries": 0.30, "sections": 0.10, "existence": 0.05}
LONGEST_REVIEW = 60_000  # characters
MOST_PAPERS = {"closed": 40, "open": 20}
SUMMARY_WORDS = (10, 40)
TEXT_WORDS = 20  # that an introduction and a comparison must have
DIFFERENT_WORDS = 12  # among them
EVERYDAY_SHARE, MOST_EVERYDAY_SHARE = 0.25, 0.85

HEADING = re.compile(r"(\d{4}\.\d{4,5})(?:v\d{1,2})?: (\S.*)")
WORD = re.compile(r"[^\W\d_][\w'-]*|\d[\d.,]*")
EVERYDAY = """
    a about after all also an and are as at be been before between both but by can do does down each first for from
    had has have here how in into is it its less many more most new no not of on one only or other our out over paper
    shows so some than that the their them then there these they this those through to two under up use used uses using
    was we were when where which while who with within without work
"""
EVERYDAY = frozenset(EVERYDAY.split())


@dataclass(frozen=True)
class Entry:
    """A paper as the section Papers lists it; without an id where its heading has not the form."""

    id: str
    title: str
    summary: str


def score_review(text, query, answers):
    """From 0 to 1: the weighted sum of the parts."""
    parts = parts_of(text, query, answers)
    return sum(weight * parts[name] for name, weight in WEIGHTS.items())


def parts_of(text, query, answers):
    """The parts of a review's score, each from 0 to 1. `query` is one of `answers["queries"]`."""
    nothing = dict.fromkeys(WEIGHTS, 0.0)
    if len(text) > LONGEST_REVIEW:
        return nothing
    sections = sections_of(text)
    entries = entries_of(sections)
    if not entries or len(entries) > MOST_PAPERS["open" if answers["open"] else "closed"]:
        return nothing
    relevant = set(query["relevant"])
    existing = [entry for entry in entries if exists(entry, answers)]
    found = {entry.id: entry for entry in reversed(existing) if entry.id in relevant}
    summaries = [entry.summary for entry in entries]
    written = sum(
        summary_score(entry.summary, query["query"], answers["papers"][entry.id])
        for entry in found.values()
        if summaries.count(entry.summary) == 1
    )
    if answers["open"]:  # other papers may be good ones, too: nobody has judged them
        papers, among = len(found) / len(relevant), len(relevant)
    else:
        papers, among = 2 * len(found) / (len(entries) + len(relevant)), max(len(entries), len(relevant))
    return {
        "papers": papers,
        "summaries": written / among,
        "sections": papers * sections_score(text, sections, entries, query["query"], answers),
        "existence": len(existing) / len(entries),
    }


def sections_of(text):
    """The lines below each `## ` heading; of headings that come twice, the first counts."""
    sections = {}
    lines = []
    for line in text.splitlines():
        if line.startswith("## "):
            lines = []
            sections.setdefault(line[3:].strip(), lines)
        else:
            lines.append(line.strip())
    return sections


def entries_of(sections):
    """A `### ` heading and the text below it, for each paper."""
    entries = []
    for line in sections.get("Papers", []):
        if line.startswith("### "):
            form = HEADING.fullmatch(line[4:].strip())
            entries.append([form[1], form[2]] if form else ["", ""])
        elif line and entries:
            entries[-1].append(line)
    return [Entry(known, title, " ".join(summary)) for known, title, *summary in entries]


def exists(entry, answers):
    """Whether there is a paper of this id and title. Where nobody has listed all papers, an id is believed."""
    if entry.id in answers["papers"]:
        return plain(entry.title) == plain(answers["papers"][entry.id]["title"])
    return answers["open"] and entry.id != ""


def summary_score(summary, query, paper):
    """F-measure of the terms that a summary mentions: those of the paper itself against those of other work."""
    words = [word.lower() for word in WORD.findall(summary)]
    if not SUMMARY_WORDS[0] <= len(words) <= SUMMARY_WORDS[1]:
        return 0.0
    if sum(word in EVERYDAY for word in words) < EVERYDAY_SHARE * len(words):
        return 0.0
    given = f"{paper['title']} {query}"
    own = [term for term in paper["own"] if not mentions(given, term)]
    right = sum(mentions(summary, term) for term in own)
    wrong = sum(mentions(summary, term) for term in paper["others"])
    return 2 * right / (right + wrong + len(own)) if own else float(not wrong)


def sections_score(text, sections, entries, query, answers):
    """Share of the five sections that hold what they must; nothing unless there are just these, in this order."""
    if [line[3:].strip() for line in text.splitlines() if line.startswith("## ")] != SECTIONS:
        return 0.0
    introduction, comparison, questions, references = (
        [line for line in sections[name] if line] for name in SECTIONS if name != "Papers"
    )
    compared = {entry.id for entry in entries if mentions(" ".join(comparison), entry.id)} - {""}
    whole = [
        is_prose(introduction) and speaks_of(introduction, query),
        all(entry.id and entry.summary for entry in entries),
        is_prose(comparison) and len(compared) >= min(2, len(entries)),
        any(line.endswith("?") for line in questions),
        refers(references, entries, answers["papers"]),
    ]
    return sum(whole) / len(whole)


def is_prose(lines):
    """Whether a text has enough words, and enough different ones, of which some are everyday words and some are not."""
    words = [word.lower() for word in WORD.findall(" ".join(lines))]
    everyday = sum(word in EVERYDAY for word in words)
    return (
        len(words) >= TEXT_WORDS
        and len(set(words)) >= DIFFERENT_WORDS
        and EVERYDAY_SHARE * len(words) <= everyday <= MOST_EVERYDAY_SHARE * len(words)
    )


def speaks_of(lines, query):
    """Whether a text has a word of the query that is not an everyday word."""
    words = {word.lower() for word in WORD.findall(query)} - EVERYDAY
    return not words or bool(words & {word.lower() for word in WORD.findall(" ".join(lines))})


def refers(lines, entries, papers):
    """Whether there is one line for each paper, with its id, title, authors and year, and no other line."""
    if len(lines) != len(entries):
        return False
    told = [plain(line) for line in lines]
    for entry in entries:
        paper = papers.get(entry.id, {"title": entry.title, "authors": [], "year": ""})
        wanted = [plain(part) for part in (entry.id, paper["title"], *paper["authors"], str(paper["year"]))]
        if not any(all(part in line for part in wanted) for line in told):
            return False
    return True


def mentions(text, term):
    return bool(term) and re.search(rf"(?<!\w){re.escape(plain(term))}(?!\w)", plain(text)) is not None


def plain(text):
    """In lower case, without accents and superfluous spaces."""
    letters = (each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return " ".join("".join(letters).lower().split())
