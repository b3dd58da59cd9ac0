"""Paragraphs about a field that does not exist, with what each sentence ought to cite."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from mlagentbench.task.fiction import Field, Paper, Topic

CITING, PLAIN = (4, 5), 2
NAMED = (
    "{method} was a step forward at its time.",
    "The idea behind {method} is simple, and it has held up well.",
    "Even today {method} is hard to beat.",
    "Few have looked at where {method} fails.",
)
BOTH = (
    "{one} and {other} take opposite views of the matter.",
    "What {one} gains in speed, {other} gains in accuracy.",
)
CLAIMED = (
    "A {measure} that went down from {before} to {after} has been reported.",
    "Once the {measure} could be brought from {before} to {after}, and the debate took another turn.",
)
WRITTEN = (
    "{surname} and colleagues took up {name} in {year}.",
    "In {year}, {surname} and colleagues looked at {name} in a new way.",
)
RECORDED = (
    "Since the {collection} recordings came out, larger studies have been possible.",
    "The {collection} recordings have changed what can be asked.",
)
COMBINED = (
    "It has been tried to put {technique} and {other} together on the {collection} recordings.",
    "On the {collection} recordings, {technique} has been used along with {other}.",
)
DATED = (
    "As early as {year}, {technique} was tried in {name}.",
    "In {year}, {technique} found its way into {name}.",
)
OPENINGS = (
    "Interest in {name} has grown over the years.",
    "Much has been written about {name}, and little of it agrees.",
    "To this day {name} is an open field.",
)
UNCITED = (
    "There is no agreement on how the {measure} should be reported.",
    "In the next section we describe recordings of our own.",
    "We leave {technique} aside here.",
    "Whether {technique} is worth its cost depends on the purpose.",
    "What remains is a matter of patience.",
    "The rest of this text is about what the {measure} does not show.",
)

Made = tuple[str, list[Paper]] | None
"""A sentence and the works that it needs, or nothing where no paper of the topic allows for such a sentence."""


def paragraphs_of(field: Field, rng: Random, name: str, count: int) -> list[dict[str, Any]]:
    """One for each topic, in an order by chance, and then again."""
    order = rng.sample(field.topics, len(field.topics))
    return [
        paragraph(field, order[number % len(order)], rng, f"{name}-{number:02d}") for number in range(count)
    ]


def paragraph(field: Field, topic: Topic, rng: Random, name: str) -> dict[str, Any]:
    """An opening, then sentences that cite and sentences that do not, in an order by chance; no work twice."""
    body: list[tuple[str, list[Paper]]] = []
    used: set[str] = set()
    kinds = rng.sample(KINDS, len(KINDS))
    wanted = rng.randint(*CITING)
    for kind in kinds:
        left = [paper for paper in field.of(topic) if paper.method and paper.id not in used]
        rng.shuffle(left)
        if len(body) < wanted and (made := kind(field, topic, left, rng)):
            body.append(made)
            used.update(paper.id for paper in made[1])
    words = {"measure": rng.choice(topic.measures), "technique": rng.choice(topic.techniques)}
    body += [(form.format(**words), []) for form in rng.sample(UNCITED, PLAIN)]
    rng.shuffle(body)
    body.insert(0, (rng.choice(OPENINGS).format(name=rng.choice(topic.names)), []))
    return joined(name, [(sentence, [work.id for work in works]) for sentence, works in body])


def joined(name: str, body: list[tuple[str, list[str]]]) -> dict[str, Any]:
    """Sentences with the ids of the works that they need, as one text in which each has its place."""
    sentences, text = [], ""
    for sentence, works in body:
        start = len(text) + bool(text)
        text = f"{text} {sentence}".strip()
        sentences.append({"start": start, "end": len(text), "works": sorted(works)})
    return {"id": name, "text": text + "\n", "sentences": sentences}


def named(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    return rng.choice(NAMED).format(method=left[0].method), left[:1]


def both(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    one, other = left[:2]
    return rng.choice(BOTH).format(one=one.method, other=other.method), [one, other]


def claimed(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    """No two papers of a field claim the same."""
    for paper in left:
        if paper.claim:
            measure, before, after = paper.claim
            return rng.choice(CLAIMED).format(measure=measure, before=before, after=after), [paper]
    return None


def written(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    def known(paper: Paper) -> tuple[str, int]:
        return paper.authors[0].split()[-1], paper.year

    paper = alone(left, (each for each in field.papers if each.topic == topic.number), known)
    if paper is None:
        return None
    surname, year = known(paper)
    return rng.choice(WRITTEN).format(surname=surname, year=year, name=rng.choice(topic.names)), [paper]


def recorded(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    for paper in left:
        if paper.released:
            return rng.choice(RECORDED).format(collection=paper.collection), [paper]
    return None


def combined(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    def known(paper: Paper) -> tuple[frozenset[str], str]:
        return frozenset(paper.techniques), paper.collection

    paper = alone([each for each in left if each.collection], field.papers, known)
    if paper is None:
        return None
    technique, other = rng.sample(paper.techniques, 2)
    form = rng.choice(COMBINED)
    return form.format(technique=technique, other=other, collection=paper.collection), [paper]


def dated(field: Field, topic: Topic, left: list[Paper], rng: Random) -> Made:
    for paper in left:
        for technique in paper.techniques:
            same = [
                each for each in field.of(topic) if each.year == paper.year and technique in each.techniques
            ]
            if len(same) == 1:
                words = {"technique": technique, "year": paper.year, "name": rng.choice(topic.names)}
                return rng.choice(DATED).format(**words), [paper]
    return None


KINDS = (named, both, claimed, written, recorded, combined, dated)


def alone(left: list[Paper], among: Iterable[Paper], known: Callable[[Paper], Any]) -> Paper | None:
    """The first of `left` of which the same is not known as of another."""
    said = [known(paper) for paper in among]
    return next((paper for paper in left if said.count(known(paper)) == 1), None)
