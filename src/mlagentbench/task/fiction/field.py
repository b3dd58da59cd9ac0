"""Topics and papers of a field that does not exist, and who cites whom in it.

Words do not tell topics apart well. Every topic has three names, of which a paper mostly uses one; topics of a group
share their words, techniques, measures and a collection of data; papers name methods and topics that they are not
about. What holds a topic together is that its papers cite each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from mlagentbench.task.fiction import writing
from mlagentbench.task.fiction.words import MEASURES, OTHER_PROCESSES, PROCESSES, TECHNIQUES, Coiner

GROUPS, TOPICS_OF_A_GROUP, PAPERS_OF_A_TOPIC = 5, 3, 22
FIRST_YEAR, LAST_YEAR = 2004, 2023
NAME_SHARES = (0.45, 0.3, 0.25)
UNNAMED = 0.22
"""Share of papers that do not say what they are about; only what they cite tells."""
SURVEYED = 0.6
"""Share of topics with a survey, which tells all names of a topic."""


@dataclass(frozen=True)
class Topic:
    number: int
    group: int
    names: tuple[str, str, str]
    """The one that queries use, and two more for the same thing."""
    category: str
    techniques: tuple[str, ...]
    measures: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    id: str
    title: str
    authors: tuple[str, ...]
    published: str
    venue: str
    category: str
    abstract: str
    citations: tuple[str, ...]
    """Ids of the papers that it cites, all of them earlier."""
    topic: int
    method: str
    """The name that it gives its method; empty for a survey."""
    techniques: tuple[str, ...]
    collection: str
    """The data that it measures on; empty for none."""
    released: bool
    """Whether that collection is its own."""
    claim: tuple[str, str, str] | None
    """What it measured, before and after."""
    own: tuple[str, ...]
    """Terms of its abstract that are about itself."""
    others: tuple[str, ...]
    """Terms of its abstract that are about other work."""

    @property
    def year(self) -> int:
        return int(self.published[:4])

    def listed(self) -> dict[str, Any]:
        """As the index of a paper service has it."""
        return {
            "id": self.id,
            "title": self.title,
            "authors": list(self.authors),
            "published": self.published,
            "year": self.year,
            "venue": self.venue,
            "categories": [self.category],
            "abstract": self.abstract,
            "citations": list(self.citations),
        }


@dataclass(frozen=True)
class Field:
    topics: tuple[Topic, ...]
    papers: tuple[Paper, ...]

    def of(self, topic: Topic) -> list[Paper]:
        return [paper for paper in self.papers if paper.topic == topic.number]

    def index(self) -> dict[str, Any]:
        return {"papers": [paper.listed() for paper in self.papers]}


def make_fields(seed: int, count: int = 2) -> tuple[Field, ...]:
    """Fields that share no coined word, no author and no id."""
    rng = Random(seed)
    coiner = Coiner(rng)
    numbers = rng.sample(range(90_000, 100_000), 10_000)
    return tuple(_Maker(rng, coiner, numbers).field() for _ in range(count))


@dataclass
class _Draft:
    """A paper before it is written: who, when and about what."""

    date: tuple[int, int, int]
    topic: int
    survey: bool = False
    releases: str = ""


class _Maker:
    def __init__(self, rng: Random, coiner: Coiner, numbers: list[int]) -> None:
        self._rng = rng
        self._coiner = coiner
        self._numbers = numbers
        self._claims: set[tuple[str, str, str]] = set()
        self._titles: set[str] = set()

    def field(self) -> Field:
        topics = self._topics()
        shared = [self._coiner.name() for _ in range(GROUPS)]
        drafts = [draft for topic in topics for draft in self._drafts(topic, shared)]
        drafts.sort(key=lambda draft: (draft.date, draft.topic))
        people = [self._people() for _ in topics]
        venues = [self._venue() for _ in range(10)]
        papers: list[Paper] = []
        for draft in drafts:
            papers.append(self._paper(draft, topics, papers, people, venues, shared))
        return Field(topics, tuple(sorted(papers, key=lambda paper: paper.id)))

    def _topics(self) -> tuple[Topic, ...]:
        topics = []
        for group in range(GROUPS):
            kind = self._coiner.stem() + self._rng.choice(("ic", "al", "ine"))
            things = self._coiner.stem() + "s"
            category = "xq." + self._coiner.stem()[:2].upper()
            techniques = self._rng.sample(TECHNIQUES, 9)
            measures = self._rng.sample(MEASURES, 3)
            # Processes come back in other groups, so that neither half of a name is enough.
            processes = self._rng.sample(range(len(PROCESSES)), TOPICS_OF_A_GROUP)
            for number, process in enumerate(processes, start=group * TOPICS_OF_A_GROUP):
                names = (
                    f"{kind} {PROCESSES[process]}",
                    f"{OTHER_PROCESSES[process]} of {things}",
                    self._coiner.stem() + self._rng.choice(("ation", "ometry", "esis")),
                )
                chosen = tuple(self._rng.sample(techniques, 6))
                topics.append(Topic(number, group, names, category, chosen, tuple(measures)))
        return tuple(topics)

    def _drafts(self, topic: Topic, shared: Sequence[str]) -> list[_Draft]:
        dates = sorted(
            (self._rng.randint(FIRST_YEAR, LAST_YEAR), self._rng.randint(1, 12), self._rng.randint(1, 28))
            for _ in range(PAPERS_OF_A_TOPIC)
        )
        drafts = [_Draft(date, topic.number) for date in dates]
        drafts[0].releases = self._coiner.name()
        drafts[PAPERS_OF_A_TOPIC // 3].releases = self._coiner.name()
        if topic.number % TOPICS_OF_A_GROUP == 0:
            drafts[1].releases = shared[topic.group]
        if self._rng.random() < SURVEYED:
            drafts[self._rng.randint(PAPERS_OF_A_TOPIC // 2, PAPERS_OF_A_TOPIC - 5)].survey = True
        return drafts

    def _people(self) -> list[str]:
        return [f"{self._coiner.name()} {self._coiner.name()}" for _ in range(11)]

    def _venue(self) -> str:
        form = self._rng.choice(
            ("Journal of {} Studies", "Proceedings of {}", "Transactions on {}", "{} Letters")
        )
        return form.format(self._coiner.name())

    def _paper(
        self,
        draft: _Draft,
        topics: Sequence[Topic],
        earlier: Sequence[Paper],
        people: Sequence[Sequence[str]],
        venues: Sequence[str],
        shared: Sequence[str],
    ) -> Paper:
        rng = self._rng
        topic = topics[draft.topic]
        cited = self._cited(draft, topics, earlier)
        same = [paper for paper in earlier if paper.topic == topic.number]
        known = [paper.collection for paper in same if paper.released]
        known += [
            paper.collection
            for paper in earlier
            if paper.released and paper.collection == shared[topic.group]
        ]
        used = draft.releases or (rng.choice(sorted(set(known))) if known else "")
        name = rng.choices(topic.names, NAME_SHARES)[0]
        sibling = rng.choice([each for each in topics if each.group == topic.group and each is not topic])
        stranger = rng.choice([each for each in topics if each.group != topic.group])
        told = writing.Told(
            name=name,
            hidden=rng.random() < UNNAMED,
            names=topic.names,
            method="" if draft.survey else self._coiner.name(),
            techniques=tuple(rng.sample(topic.techniques, 2)),
            collection="" if draft.survey else used,
            releases=bool(draft.releases) and not draft.survey,
            claim=None if draft.survey or not used else self._claim(topic),
            rivals=tuple(paper.method for paper in cited if paper.method)[:3],
            unused=tuple(sorted({each for each in known if each != used})),
            elsewhere=(rng.choice(sibling.names), rng.choice(stranger.names)),
        )
        written = writing.survey(rng, told) if draft.survey else writing.article(rng, told, self._titles)
        year, month, day = draft.date
        crowd = [*people[topic.number], *(people[sibling.number] if rng.random() < 0.3 else ())]
        return Paper(
            id=f"{year % 100:02d}{month:02d}.{self._numbers.pop()}",
            title=written.title,
            authors=tuple(rng.sample(crowd, rng.randint(2, 4))),
            published=f"{year}-{month:02d}-{day:02d}",
            venue=rng.choice(venues),
            category=topic.category,
            abstract=written.abstract,
            citations=tuple(sorted(paper.id for paper in cited)),
            topic=topic.number,
            method=told.method,
            techniques=() if draft.survey else told.techniques,
            collection=told.collection,
            released=told.releases,
            claim=told.claim,
            own=written.own,
            others=written.others,
        )

    def _cited(self, draft: _Draft, topics: Sequence[Topic], earlier: Sequence[Paper]) -> list[Paper]:
        """Mostly earlier papers of the topic, in an order by chance; a survey cites most of them."""
        rng = self._rng
        same = [paper for paper in earlier if paper.topic == draft.topic]
        group = topics[draft.topic].group
        near = [
            paper for paper in earlier if paper.topic != draft.topic and topics[paper.topic].group == group
        ]
        far = [paper for paper in earlier if topics[paper.topic].group != group]
        wanted = round(0.7 * len(same)) if draft.survey else rng.randint(2, 5)
        cited = rng.sample(same, min(wanted, len(same)))
        cited += rng.sample(near, min(rng.randint(0, 3), len(near)))
        cited += rng.sample(far, min(rng.randint(0, 2), len(far)))
        rng.shuffle(cited)
        return cited

    def _claim(self, topic: Topic) -> tuple[str, str, str]:
        while True:
            before = self._rng.randint(20, 95)
            after = round(before * self._rng.uniform(0.5, 0.93))
            claim = (self._rng.choice(topic.measures), f"0.{before:02d}", f"0.{after:02d}")
            if claim not in self._claims:
                self._claims.add(claim)
                return claim
