"""A scholar search over an index, in the form of Semantic Scholar's graph API: search, a paper, what it cites, what
cites it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from mlagentbench.service.catalogue import Catalogue, Paper
from mlagentbench.service.web import Answered, Asked
from mlagentbench.service.words import words

ROOT = "/graph/v1/paper/"
_LONGEST_QUERY = 1_000
_MOST_FOUND, _LAST_FOUND = 100, 1_000
_MOST_LISTED, _LAST_LISTED = 1_000, 10_000
_EMPTY: dict[str, Any] = {
    "publicationVenue": None,
    "journal": None,
    "publicationTypes": None,
    "influentialCitationCount": 0,
    "isOpenAccess": False,
    "openAccessPdf": None,
    "fieldsOfStudy": None,
    "s2FieldsOfStudy": [],
    "citationStyles": None,
    "embedding": None,
    "tldr": None,
}
"""What the real one knows and an index does not; asked for, it is there and empty."""
_FIELDS = (
    "paperId", "corpusId", "externalIds", "url", "title", "abstract", "venue", "year", "publicationDate",
    "referenceCount", "citationCount", "authors", *_EMPTY,
)  # fmt: skip
_NESTED = {"authors": ("authorId", "name", "url"), "externalIds": ("ArXiv", "DOI", "CorpusId")}
_YEARS = re.compile(r"([0-9]{4})?(-)?([0-9]{4})?")
_ID = re.compile(r"(?:arxiv:|url:https?://(?:www\.)?arxiv\.org/(?:abs|pdf)/)?(.+?)(?:v\d+)?", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,9}")


class ScholarError(Exception):
    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class ScholarApi:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def answer(self, asked: Asked) -> Answered:
        try:
            return _json(200, self._found(asked.path.removeprefix(ROOT), asked.parameters))
        except ScholarError as error:
            return error_json(error.status, str(error))

    def _found(self, what: str, said: Mapping[str, str]) -> dict[str, Any]:
        if what == "search":
            return self._search(said)
        for end in ("/references", "/citations"):
            if what.endswith(end):
                return self._listed(self._paper(what.removesuffix(end)), end, said)
        paper = self._paper(what)
        fields = _fields(said, nested=("references", "citations"))
        told = self._told(paper, fields)
        for name, related in (
            ("references", self._catalogue.references),
            ("citations", self._catalogue.citing),
        ):
            below = [field.partition(".")[2] for field in fields if field.partition(".")[0] == name]
            if below:
                inner = [field for field in below if field] or ["title"]
                told[name] = [self._told(each, inner) for each in related(paper)[:_MOST_LISTED]]
        return told

    def _paper(self, text: str) -> Paper:
        match = _ID.fullmatch(text)
        key = match[1] if match else text
        place = self._catalogue.hashes.get(text.lower(), self._catalogue.places.get(key))
        if place is None:
            raise ScholarError(404, f"Paper with id {text[:100]} not found")
        return self._catalogue.papers[place]

    def _search(self, said: Mapping[str, str]) -> dict[str, Any]:
        query = said.get("query", "").strip()
        if not query:
            raise ScholarError(400, "Missing required parameter: query")
        if len(query) > _LONGEST_QUERY:
            raise ScholarError(400, f"A query may have {_LONGEST_QUERY:,} characters")
        offset, limit = _page(said, _MOST_FOUND, _LAST_FOUND)
        fields = _fields(said)
        first, last = _years(said.get("year", ""))
        scores = {
            place: score
            for place, score in self._catalogue.ranking.scores(words(query)).items()
            if first <= self._catalogue.papers[place].year <= last
        }
        order = self._catalogue.best_first(scores)
        shown = [
            self._told(self._catalogue.papers[place], fields) for place in order[offset : offset + limit]
        ]
        found: dict[str, Any] = {"total": len(order), "offset": offset}
        if offset + limit < min(len(order), _LAST_FOUND):
            found["next"] = offset + limit
        return {**found, "data": shown}

    def _listed(self, paper: Paper, end: str, said: Mapping[str, str]) -> dict[str, Any]:
        offset, limit = _page(said, _MOST_LISTED, _LAST_LISTED)
        fields = _fields(said)
        cites = end == "/references"
        related = self._catalogue.references(paper) if cites else self._catalogue.citing(paper)
        name = "citedPaper" if cites else "citingPaper"
        shown = [{name: self._told(each, fields)} for each in related[offset : offset + limit]]
        found: dict[str, Any] = {"offset": offset}
        if offset + limit < len(related):
            found["next"] = offset + limit
        return {**found, "data": shown}

    def _told(self, paper: Paper, fields: list[str]) -> dict[str, Any]:
        names = {field.partition(".")[0] for field in fields} | {"paperId"}
        number = int(paper.hash[:7], 16)
        ids = {"ArXiv": paper.id, "CorpusId": number} | ({"DOI": paper.doi} if paper.doi else {})
        whole: dict[str, Any] = {
            "paperId": paper.hash,
            "corpusId": number,
            "externalIds": ids,
            "url": f"https://www.semanticscholar.org/paper/{paper.hash}",
            "title": paper.title,
            "abstract": paper.abstract,
            "venue": paper.venue,
            "year": paper.year,
            "publicationDate": paper.published,
            "referenceCount": len(self._catalogue.references(paper)) if "referenceCount" in names else 0,
            "citationCount": len(self._catalogue.cited_by.get(paper.id, [])),
            "authors": [{"authorId": _author(name), "name": name} for name in paper.authors],
            **_EMPTY,
        }
        return {name: value for name, value in whole.items() if name in names}


def _author(name: str) -> str:
    return str(int(hashlib.sha1(name.encode("utf-8", "replace")).hexdigest()[:8], 16))


def _fields(said: Mapping[str, str], nested: tuple[str, ...] = ()) -> list[str]:
    asked = [field.strip() for field in said.get("fields", "").split(",") if field.strip()] or ["title"]
    wrong = [field for field in asked if not _is_field(field, nested)]
    if wrong or len(asked) > 100:
        known = ", ".join((*_FIELDS, *nested))
        named = ", ".join(field[:50] for field in wrong[:10])
        raise ScholarError(
            400, f"Unrecognized or unsupported fields: [{named}]. Acceptable fields are: {known}"
        )
    return asked


def _is_field(field: str, nested: tuple[str, ...]) -> bool:
    name, dot, below = field.partition(".")
    if name in nested:
        return not dot or _is_field(below, ())
    return name in _FIELDS and (not dot or below in _NESTED.get(name, ()))


def _page(said: Mapping[str, str], most: int, last: int) -> tuple[int, int]:
    numbers = []
    for name, default in (("offset", 0), ("limit", min(100, most))):
        text = said.get(name, "").strip() or str(default)
        if not _NUMBER.fullmatch(text):
            raise ScholarError(400, f"{name} must be a number that is not negative")
        numbers.append(int(text))
    offset, limit = numbers
    if not 1 <= limit <= most:
        raise ScholarError(400, f"limit must be between 1 and {most}")
    if offset + limit > last:
        raise ScholarError(400, f"offset and limit must not be more than {last} together")
    return offset, limit


def _years(text: str) -> tuple[int, int]:
    """`2019`, `2016-2020`, `2010-` or `-2015`."""
    match = _YEARS.fullmatch(text.strip())
    if match is None or (match[1] and match[3] and not match[2]) or text.strip() == "-":
        raise ScholarError(400, "year must be like 2019, 2016-2020, 2010- or -2015")
    first, dash, last = match.groups()
    if not first and not last:
        return 0, 9999
    return int(first or 0), int(last or 9999) if dash else int(first)


def error_json(status: int, words: str) -> Answered:
    return _json(status, {"error": words})


def _json(status: int, content: dict[str, Any]) -> Answered:
    text = json.dumps(content, ensure_ascii=False)
    return Answered(status, text.encode("utf-8", "replace"), "application/json; charset=utf-8")
