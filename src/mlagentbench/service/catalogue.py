"""A paper index: what it holds and how it is found."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench.errors import TaskError
from mlagentbench.service.words import Ranking, words
from mlagentbench.validation import problems_of

_DATE = r"^\d{4}-\d\d-\d\d$"


class Paper(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^(\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?/\d{7})$")
    """As arXiv writes it, without a version."""
    title: str
    authors: tuple[str, ...]
    published: str = Field(pattern=_DATE)
    year: int
    venue: str = ""
    categories: tuple[str, ...] = ()
    abstract: str
    citations: tuple[str, ...] = ()
    """Ids of the papers that it cites."""
    comment: str = ""
    doi: str = ""

    @property
    def hash(self) -> str:
        """By which a scholar search knows it."""
        return hashlib.sha1(self.id.encode()).hexdigest()

    @property
    def journal(self) -> str:
        return f"{self.venue} {self.year}" if self.venue else ""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    papers: tuple[Paper, ...]


class Catalogue:
    """Papers in the order of their file, with all that searching needs."""

    def __init__(self, papers: tuple[Paper, ...]) -> None:
        self.papers = papers
        self.places = {paper.id: place for place, paper in enumerate(papers)}
        self.hashes = {paper.hash: place for place, paper in enumerate(papers)}

    @classmethod
    def read(cls, file: Path) -> Catalogue:
        try:
            papers = _File.model_validate_json(file.read_bytes()).papers
        except OSError as error:
            raise TaskError(f"The paper index cannot be read: {error}. Let prepare.py write it.") from None
        except ValidationError as error:
            problem = problems_of(error, _File)[0]
            raise TaskError(f"{file} is not a paper index: {problem}") from None
        if len({paper.id for paper in papers}) != len(papers):
            raise TaskError(f"{file} is not a paper index: an id is there twice.")
        return cls(papers)

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking(words(f"{paper.title} {paper.abstract}") for paper in self.papers)

    @cached_property
    def cited_by(self) -> dict[str, list[int]]:
        """Places of the papers that cite one, newest first."""
        citing: dict[str, list[int]] = defaultdict(list)
        order = sorted(range(len(self.papers)), key=lambda place: self.papers[place].id)
        order.sort(key=lambda place: self.papers[place].published, reverse=True)
        for place in order:
            for cited in dict.fromkeys(self.papers[place].citations):
                citing[cited].append(place)
        return dict(citing)

    def references(self, paper: Paper) -> list[Paper]:
        """What it cites, as far as the index holds it."""
        cited = (self.places.get(id) for id in dict.fromkeys(paper.citations))
        return [self.papers[place] for place in cited if place is not None]

    def citing(self, paper: Paper) -> list[Paper]:
        return [self.papers[place] for place in self.cited_by.get(paper.id, [])]

    def best_first(self, scores: dict[int, float]) -> list[int]:
        """Places by score; among equals, in the order of the ids."""
        return sorted(scores, key=lambda place: (-scores[place], self.papers[place].id))

    def newest_first(self, places: set[int]) -> list[int]:
        order = sorted(places, key=lambda place: self.papers[place].id)
        return sorted(order, key=lambda place: self.papers[place].published, reverse=True)
