"""arXiv's Atom API over an index: `GET /api/query`, in the form of arXiv's own manual."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from mlagentbench.service.catalogue import Catalogue, Paper
from mlagentbench.service.queries import QueryError, Searchable, search
from mlagentbench.service.web import Answered, Asked

PATH = "/api/query"
DEFAULT_RESULTS = 10
MOST_RESULTS = 2000
"""In one answer, as arXiv limits it."""
LAST_RESULT = 30_000
_ID = re.compile(r"(\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?/\d{7})(v\d+)?")
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_SORTS = ("relevance", "lastUpdatedDate", "submittedDate")
_ORDERS = ("descending", "ascending")
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
    'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom">\n'
)


class AtomError(Exception):
    """A request that arXiv would answer with an error; the message is its summary."""


class AtomApi:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._searchable = Searchable(catalogue)
        self._updated = max((paper.published for paper in catalogue.papers), default="1970-01-01")

    def answer(self, asked: Asked) -> Answered:
        try:
            return self._query(asked)
        except (AtomError, QueryError) as error:
            return error_feed(400, str(error))

    def _query(self, asked: Asked) -> Answered:
        said = asked.parameters
        query, ids = said.get("search_query", "").strip(), said.get("id_list", "").strip()
        start = _number(said, "start", 0)
        most = _number(said, "max_results", DEFAULT_RESULTS)
        if most > MOST_RESULTS:
            raise AtomError(f"max_results must not be more than {MOST_RESULTS}")
        if start + most > LAST_RESULT:
            raise AtomError(f"start and max_results must not be more than {LAST_RESULT} together")
        if not query and not ids:
            raise AtomError("search_query or id_list must be given")
        places = self._places(query, ids, _one_of(said, "sortBy", _SORTS), said)
        shown = [self._catalogue.papers[place] for place in places[start : start + most]]
        title = f"search_query={query}&id_list={ids}&start={start}&max_results={most}"
        return _feed(200, title, self._updated, len(places), start, most, "".join(map(_entry, shown)))

    def _places(self, query: str, ids: str, sort: str, said: Mapping[str, str]) -> list[int]:
        order = _one_of(said, "sortOrder", _ORDERS)
        listed = [self._listed(each) for each in ids.split(",") if each.strip()] if ids else None
        if not query:
            places = [place for place in dict.fromkeys(listed or []) if place is not None]
            if sort == "relevance":
                return places
        else:
            found = search(self._searchable, query)
            kept = found.places if listed is None else found.places & set(listed)
            if sort == "relevance" and found.ranked_by:
                scores = self._catalogue.ranking.scores(found.ranked_by)
                ranked = self._catalogue.best_first({place: scores.get(place, 0.0) for place in kept})
                return ranked if order == "descending" else ranked[::-1]
            places = list(kept)
        newest = self._catalogue.newest_first(set(places))
        return newest if order == "descending" else newest[::-1]

    def _listed(self, text: str) -> int | None:
        match = _ID.fullmatch(text.strip())
        if match is None:
            raise AtomError(f"incorrect id format for {text.strip()[:100]}")
        return self._catalogue.places.get(match[1])


def _number(said: Mapping[str, str], name: str, default: int) -> int:
    text = said.get(name, "").strip()
    if not text:
        return default
    if not _NUMBER.fullmatch(text):
        raise AtomError(f"{name} must be an integer")
    if int(text) < 0:
        raise AtomError(f"{name} must be non-negative")
    return int(text)


def _one_of(said: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    value = said.get(name) or known[0]
    if value not in known:
        raise AtomError(f"{name} must be in: {', '.join(known)}")
    return value


def error_feed(status: int, words: str) -> Answered:
    """A single entry called Error, as arXiv tells of errors."""
    mark = re.sub(r"\W+", "_", words, flags=re.ASCII)[:80]
    entry = (
        f"  <entry>\n    <id>http://arxiv.org/api/errors#{mark}</id>\n    <title>Error</title>\n"
        f"    <summary>{_text(words)}</summary>\n    <updated>1970-01-01T00:00:00Z</updated>\n"
        f'    <link href="http://arxiv.org/api/errors#{mark}" rel="alternate" type="text/html"/>\n'
        "    <author>\n      <name>arXiv api core</name>\n    </author>\n  </entry>\n"
    )
    return _feed(status, "search_query=&id_list=", "1970-01-01", 1, 0, 1, entry)


def _feed(status: int, title: str, updated: str, total: int, start: int, most: int, entries: str) -> Answered:
    mark = hashlib.sha1(title.encode("utf-8", "replace")).hexdigest()[:27]
    text = (
        f"{_HEAD}  <link href={_attribute(f'http://arxiv.org{PATH}?{title}')} "
        f'rel="self" type="application/atom+xml"/>\n'
        f'  <title type="html">ArXiv Query: {_text(title)}</title>\n  <id>http://arxiv.org/api/{mark}</id>\n'
        f"  <updated>{updated}T00:00:00Z</updated>\n"
        f"  <opensearch:totalResults>{total}</opensearch:totalResults>\n"
        f"  <opensearch:startIndex>{start}</opensearch:startIndex>\n"
        f"  <opensearch:itemsPerPage>{most}</opensearch:itemsPerPage>\n{entries}</feed>\n"
    )
    return Answered(status, text.encode(), "application/atom+xml; charset=utf-8")


def _entry(paper: Paper) -> str:
    place = f"{paper.id}v1"
    lines = [
        f"<id>http://arxiv.org/abs/{place}</id>",
        f"<updated>{paper.published}T00:00:00Z</updated>",
        f"<published>{paper.published}T00:00:00Z</published>",
        f"<title>{_text(paper.title)}</title>",
        f"<summary>{_text(paper.abstract)}</summary>",
        *(f"<author>\n      <name>{_text(name)}</name>\n    </author>" for name in paper.authors),
    ]
    if paper.comment:
        lines.append(f"<arxiv:comment>{_text(paper.comment)}</arxiv:comment>")
    if paper.journal:
        lines.append(f"<arxiv:journal_ref>{_text(paper.journal)}</arxiv:journal_ref>")
    if paper.doi:
        lines.append(f"<arxiv:doi>{_text(paper.doi)}</arxiv:doi>")
    lines += [
        f'<link href="http://arxiv.org/abs/{place}" rel="alternate" type="text/html"/>',
        f'<link title="pdf" href="http://arxiv.org/pdf/{place}" rel="related" type="application/pdf"/>',
    ]
    scheme = 'scheme="http://arxiv.org/schemas/atom"'
    if paper.categories:
        lines.append(f"<arxiv:primary_category term={_attribute(paper.categories[0])} {scheme}/>")
    lines += [f"<category term={_attribute(category)} {scheme}/>" for category in paper.categories]
    return "  <entry>\n" + "".join(f"    {line}\n" for line in lines) + "  </entry>\n"


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("?", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_IN_XML.sub("?", text))
