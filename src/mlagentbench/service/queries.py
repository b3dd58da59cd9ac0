"""arXiv's query language: `ti:"graph networks" AND (au:chen OR cat:cs.LG) ANDNOT abs:survey`.

Words that stand beside one another without an operator are alternatives, and a prefix holds for all of them. AND and
ANDNOT bind closer than OR. Quotes make a phrase; a `*` at the end of a word stands for any ending.
"""

from __future__ import annotations

import re
from functools import cached_property

from mlagentbench.service.catalogue import Catalogue, Paper
from mlagentbench.service.words import words

FIELDS = ("ti", "au", "abs", "co", "jr", "cat", "rn", "id", "all")
_DATED = "submittedDate"
_RANKED = ("ti", "abs", "all")
_LONGEST, _MOST_TERMS, _DEEPEST = 4_000, 100, 20
_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[()])|(?P<field>[A-Za-z]+):|(?P<dates>\[[^\]]*\])|"(?P<phrase>[^"]*)"|(?P<word>[^\s()"\[\]]+))"""
)
_DATES = re.compile(r"\[\s*(\d{8})\d*\s+TO\s+(\d{8})\d*\s*\]")
_OPERATORS = ("AND", "OR", "ANDNOT")


class QueryError(Exception):
    """The query is not of this language; the message says why."""


class Searchable:
    """The papers' fields as lines of words with a space at both ends, so that a phrase is a piece of text."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    @cached_property
    def fields(self) -> dict[str, list[str]]:
        papers = self.catalogue.papers
        fields = {
            "ti": [_line(paper.title) for paper in papers],
            "au": [_names(paper) for paper in papers],
            "abs": [_line(paper.abstract) for paper in papers],
            "co": [_line(paper.comment) for paper in papers],
            "jr": [_line(paper.journal) for paper in papers],
            "rn": ["" for _ in papers],
        }
        fields["all"] = ["\n".join(parts) for parts in zip(*fields.values(), strict=True)]
        return fields

    def holding(self, field: str, term: str, *, phrase: bool) -> set[int]:
        """Places of the papers whose field holds a word or a phrase."""
        papers = self.catalogue.papers
        if field == "cat":
            return {p for p, paper in enumerate(papers) if any(_is(term, cat) for cat in paper.categories)}
        if field == "id":
            wanted = re.sub(r"v\d+$", "", term)
            return {self.catalogue.places[wanted]} if wanted in self.catalogue.places else set()
        open_end = term.endswith("*") and not phrase
        line = _line(term.replace("_", " "))
        if not line.strip():
            return set()
        if open_end:
            # The plural's s of a beginning is no plural's.
            line = f" {' '.join(words(term.rstrip('*') + 'x'))}"[:-1]
        found = {place for place, text in enumerate(self.fields[field]) if line in text}
        if field == "all":
            found |= self.holding("cat", term, phrase=phrase) | self.holding("id", term, phrase=phrase)
        return found

    def between(self, first: str, last: str) -> set[int]:
        dates = [paper.published.replace("-", "") for paper in self.catalogue.papers]
        return {place for place, date in enumerate(dates) if first <= date <= last}


def _line(text: str) -> str:
    return f" {' '.join(words(text))} "


def _names(paper: Paper) -> str:
    """`maria chen`, `chen maria` and `chen m`, so that each way of writing it is found."""
    lines = []
    for name in paper.authors:
        parts = words(name)
        if parts:
            last, first = parts[-1], parts[:-1]
            ways = [parts, [last, *first], [last, *(each[0] for each in first)]]
            lines += [f" {' '.join(way)} " for way in ways]
    return "\n".join(lines)


def _is(term: str, category: str) -> bool:
    term, category = term.casefold(), category.casefold()
    return category.startswith(term.rstrip("*")) if term.endswith("*") else term == category


class Found:
    """The places that match, and the words by which they are ranked."""

    def __init__(self, places: set[int], ranked_by: list[str]) -> None:
        self.places = places
        self.ranked_by = ranked_by


def search(searchable: Searchable, query: str) -> Found:
    """What matches `query`; QueryError where it cannot be read."""
    if len(query) > _LONGEST:
        raise QueryError(f"a query may have {_LONGEST:,} characters")
    parser = _Parser(searchable, _tokens(query))
    places = parser.alternatives("all", 0)
    if parser.rest:
        raise QueryError("a parenthesis is closed that was not opened")
    return Found(places, parser.ranked_by)


_Token = tuple[str, str]


def _tokens(query: str) -> list[_Token]:
    tokens: list[_Token] = []
    place, end = 0, len(query.rstrip())
    while place < end:
        match = _TOKEN.match(query, place)
        if match is None:
            raise QueryError("a quotation mark or a bracket is not closed")
        place = match.end()
        kind = str(match.lastgroup)
        text = match[kind]
        if kind == "field" and text not in (*FIELDS, _DATED):
            kind = "word"
        if kind == "word" and text in _OPERATORS:
            kind = "operator"
        if kind == "word" and text == "NOT" and tokens and tokens[-1] == ("operator", "AND"):
            tokens[-1] = ("operator", "ANDNOT")
        else:
            tokens.append((kind, text))
    if len(tokens) > _MOST_TERMS:
        raise QueryError(f"a query may have {_MOST_TERMS} parts")
    return tokens


class _Parser:
    def __init__(self, searchable: Searchable, tokens: list[_Token]) -> None:
        self._searchable = searchable
        self.rest = tokens[::-1]
        self.ranked_by: list[str] = []

    def alternatives(self, field: str, depth: int) -> set[int]:
        found = self._together(field, depth)
        while self._take_operator("OR"):
            found = found | self._together(field, depth)
        return found

    def _together(self, field: str, depth: int) -> set[int]:
        found = self._beside(field, depth)
        while True:
            if self._take_operator("AND"):
                found = found & self._beside(field, depth)
            elif self._take_operator("ANDNOT"):
                kept = len(self.ranked_by)
                found = found - self._beside(field, depth)
                del self.ranked_by[kept:]
            else:
                return found

    def _beside(self, field: str, depth: int) -> set[int]:
        """One term, or several without an operator between them."""
        found: set[int] = set()
        empty = True
        while self.rest and self.rest[-1][0] != "operator" and self.rest[-1] != ("mark", ")"):
            kind, text = self.rest.pop()
            if kind == "field":
                field = text
                if not self.rest or self.rest[-1][0] == "operator" or self.rest[-1] == ("mark", ")"):
                    raise QueryError(f"nothing stands after {text}:")
                continue
            found |= self._term(kind, text, field, depth)
            empty = False
        if empty:
            raise QueryError("a term is missing beside an operator or in parentheses")
        return found

    def _term(self, kind: str, text: str, field: str, depth: int) -> set[int]:
        if kind == "mark":
            if depth >= _DEEPEST:
                raise QueryError(f"parentheses may be {_DEEPEST} deep")
            found = self.alternatives(field, depth + 1)
            if not self.rest:
                raise QueryError("a parenthesis is not closed")
            self.rest.pop()
            return found
        if (kind == "dates") != (field == _DATED):
            raise QueryError("dates are searched for with submittedDate:[YYYYMMDD TO YYYYMMDD]")
        if kind == "dates":
            if not (dates := _DATES.fullmatch(text)):
                raise QueryError(f"{text} is not [YYYYMMDD TO YYYYMMDD]")
            return self._searchable.between(dates[1], dates[2])
        if field in _RANKED:
            self.ranked_by += words(text.rstrip("*"))
        return self._searchable.holding(field, text, phrase=kind == "phrase")

    def _take_operator(self, name: str) -> bool:
        if self.rest and self.rest[-1] == ("operator", name):
            self.rest.pop()
            return True
        return False
