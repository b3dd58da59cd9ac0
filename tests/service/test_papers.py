"""The paper index: arXiv's Atom API and a scholar search, in the form of the real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from asking import Asker, Got
from hypothesis import given
from hypothesis import strategies as st
from support.tool_task import index, paper

from mlagentbench.errors import TaskError
from mlagentbench.service.catalogue import Catalogue
from mlagentbench.service.papers import papers_site
from mlagentbench.service.queries import QueryError, Searchable, search
from mlagentbench.service.web import Asked, Site

ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"
OPENSEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
PAPERS = (
    paper(1, "Tidal graph networks", "Graph networks of tides.", published="2019-05-01", year=2019),
    paper(2, "Graph splines", "Splines on graphs, with tides.", published="2020-01-02", year=2020,
          authors=["José Ångström"], categories=["cs.CV"], citations=["2104.00001", "2104.99999"]),
    paper(3, "A survey of splines", "Everything on splines & <knots>.", published="2021-03-04", year=2021,
          venue="", citations=["2104.00001", "2104.00002"]),
    paper(4, "Knots", "Knots, and nothing else but knots.", published="2022-07-08", year=2022,
          comment="12 pages", doi="10.1/2"),
)  # fmt: skip


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    file = tmp_path_factory.mktemp("index") / "papers.json"
    file.write_text(index(*PAPERS))
    return Catalogue.read(file)


@pytest.fixture(scope="session")
def site(catalogue: Catalogue) -> Site:
    return papers_site(catalogue)


@pytest.fixture
def papers(site: Site, serve: Callable[[Site], Asker]) -> Asker:
    return serve(site)


def numbers(catalogue: Catalogue, query: str) -> set[int]:
    found = search(Searchable(catalogue), query)
    return {place + 1 for place in found.places}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ti:splines", {2, 3}),
        ("ti:spline", {2, 3}),
        ("abs:tides AND ti:graph", {1, 2}),
        ("ti:graph ANDNOT cat:cs.CV", {1}),
        ("ti:graph AND NOT cat:cs.CV", {1}),
        ('ti:"graph networks"', {1}),
        ('ti:"networks graph"', set()),
        ("(ti:knots OR ti:survey) AND abs:everything", {3}),
        ("ti:knots OR ti:graph AND cat:cs.CV", {2, 4}),
        ("ti:(tidal knots)", {1, 4}),
        ("ti:tidal knots", {1, 4}),
        ("knots", {3, 4}),
        ("all:angstrom", {2}),
        ("au:angstrom_j", {2}),
        ('au:"jose angstrom"', {2}),
        ("au:ende", {1, 3, 4}),
        ("cat:cs.*", {1, 2, 3, 4}),
        ("cat:cs", set()),
        ("ti:spl*", {2, 3}),
        ("id:2104.00004", {4}),
        ("co:pages", {4}),
        ("jr:made", {1, 2, 4}),
        ("submittedDate:[20200101 TO 202112312359]", {2, 3}),
        ("unknown:tides", {1, 2}),
        ("and", {4}),
    ],
)
def test_the_query_language_finds_what_it_says(catalogue: Catalogue, query: str, expected: set[int]):
    assert numbers(catalogue, query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "ti:",
        "AND",
        "a AND",
        "a OR OR b",
        "(a",
        "a)",
        '"a',
        "()",
        "[1 TO 2]",
        "submittedDate:now",
        "(" * 30,
        "a " * 200,
    ],
)
def test_a_query_that_cannot_be_read_is_told_so(catalogue: Catalogue, query: str):
    with pytest.raises(QueryError):
        search(Searchable(catalogue), query)


def feed(got: Got) -> ElementTree.Element:
    assert got.kind.startswith("application/atom+xml")
    return ElementTree.fromstring(got.body)


def ids(root: ElementTree.Element) -> list[str]:
    return [str(entry.findtext(f"{ATOM}id"))[-7:-2] for entry in root.findall(f"{ATOM}entry")]


def test_a_feed_has_the_shape_of_arxivs(papers: Asker):
    got = papers.get("/api/query", search_query="ti:knots", max_results=5)
    root = feed(got)
    assert got.status == 200
    assert root.findtext(f"{OPENSEARCH}totalResults") == "1"
    assert root.findtext(f"{OPENSEARCH}startIndex") == "0"
    assert root.findtext(f"{OPENSEARCH}itemsPerPage") == "5"
    (entry,) = root.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == "http://arxiv.org/abs/2104.00004v1"
    assert entry.findtext(f"{ATOM}published") == "2022-07-08T00:00:00Z"
    assert entry.findtext(f"{ATOM}title") == "Knots"
    assert entry.findtext(f"{ATOM}summary") == "Knots, and nothing else but knots."
    names = [author.findtext(f"{ATOM}name") for author in entry.findall(f"{ATOM}author")]
    assert names == ["Maria Chen", "Piet van der Ende"]
    assert [category.get("term") for category in entry.findall(f"{ATOM}category")] == ["cs.LG", "stat.ML"]
    assert entry.find(f"{ARXIV}primary_category").get("term") == "cs.LG"
    assert entry.findtext(f"{ARXIV}comment") == "12 pages"
    assert entry.findtext(f"{ARXIV}journal_ref") == "Journal of Made-up Things 2022"
    links = {link.get("rel"): link.get("href") for link in entry.findall(f"{ATOM}link")}
    assert links["related"] == "http://arxiv.org/pdf/2104.00004v1"


def test_text_that_xml_would_read_comes_out_as_it_was(papers: Asker):
    root = feed(papers.get("/api/query", id_list="2104.00003"))
    assert root.find(f"{ATOM}entry").findtext(f"{ATOM}summary") == "Everything on splines & <knots>."


def test_relevance_dates_and_pages(papers: Asker):
    by_relevance = feed(papers.get("/api/query", search_query="all:splines OR all:knots"))
    assert ids(by_relevance)[0] == "00003"
    newest = feed(papers.get("/api/query", search_query="cat:cs.*", sortBy="submittedDate"))
    assert ids(newest) == ["00004", "00003", "00002", "00001"]
    oldest = feed(
        papers.get("/api/query", search_query="cat:cs.*", sortBy="submittedDate", sortOrder="ascending", start=1,
                   max_results=2)
    )  # fmt: skip
    assert ids(oldest) == ["00002", "00003"]


def test_a_list_of_ids_is_answered_in_its_order_and_filtered_by_a_query(papers: Asker):
    assert ids(feed(papers.get("/api/query", id_list="2104.00003v2,2104.00001,2199.00001"))) == [
        "00003",
        "00001",
    ]
    both = papers.get("/api/query", id_list="2104.00003,2104.00001", search_query="ti:tidal")
    assert ids(feed(both)) == ["00001"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"search_query": "ti:a", "max_results": "-1"}, "max_results must be non-negative"),
        ({"search_query": "ti:a", "start": "x"}, "start must be an integer"),
        ({"search_query": "ti:a", "max_results": "2001"}, "max_results must not be more than 2000"),
        ({"search_query": "ti:a", "sortBy": "luck"}, "sortBy must be in"),
        ({"id_list": "../secret"}, "incorrect id format for ../secret"),
        ({"search_query": "(a"}, "a parenthesis is not closed"),
        ({}, "search_query or id_list must be given"),
    ],
)
def test_an_error_is_an_entry_called_error(papers: Asker, parameters: dict[str, str], words: str):
    got = papers.get("/api/query", **parameters)
    assert got.status == 400
    (entry,) = feed(got).findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "Error"
    assert words in entry.findtext(f"{ATOM}summary")


def test_a_scholar_search_ranks_filters_and_pages(papers: Asker):
    first = papers.get(
        "/graph/v1/paper/search", query="graph tides splines", limit=2, fields="title,year,authors"
    )
    found = first.json
    assert (found["total"], found["offset"], found["next"]) == (3, 0, 2)
    assert found["data"][0]["title"] == "Graph splines"
    assert found["data"][0]["authors"][0]["name"] == "José Ångström"
    assert set(found["data"][0]) == {"paperId", "title", "year", "authors"}
    rest = papers.get("/graph/v1/paper/search", query="graph tides splines", offset=2, limit=2).json
    assert len(rest["data"]) == 1
    assert "next" not in rest
    for year, expected in {
        "2019": {2019},
        "2020-2021": {2020, 2021},
        "2021-": {2021},
        "-2019": {2019},
    }.items():
        found = papers.get("/graph/v1/paper/search", query="graph splines", year=year, fields="year").json[
            "data"
        ]
        assert {each["year"] for each in found} == expected


def test_a_paper_is_found_by_each_of_its_ids_with_its_citations(papers: Asker):
    fields = "title,abstract,year,venue,externalIds,citationCount,referenceCount,publicationDate,tldr,references.title"
    found = papers.get("/graph/v1/paper/ARXIV:2104.00002", fields=fields).json
    assert found["externalIds"]["ArXiv"] == "2104.00002"
    assert (found["citationCount"], found["referenceCount"]) == (1, 1)
    assert found["publicationDate"] == "2020-01-02"
    assert found["tldr"] is None
    assert [each["title"] for each in found["references"]] == ["Tidal graph networks"]
    for id in (found["paperId"], "arXiv:2104.00002v3", "2104.00002", "URL:https://arxiv.org/abs/2104.00002"):
        assert papers.get(f"/graph/v1/paper/{id}").json["title"] == "Graph splines"
    cited = papers.get("/graph/v1/paper/ARXIV:2104.00003/references", fields="title").json["data"]
    assert [each["citedPaper"]["title"] for each in cited] == ["Tidal graph networks", "Graph splines"]
    citing = papers.get("/graph/v1/paper/ARXIV:2104.00001/citations", fields="year", limit=1).json
    assert [each["citingPaper"]["year"] for each in citing["data"]] == [2021]
    assert citing["next"] == 1


@pytest.mark.parametrize(
    ("path", "parameters", "status"),
    [
        ("search", {}, 400),
        ("search", {"query": "a", "limit": "101"}, 400),
        ("search", {"query": "a", "offset": "950", "limit": "100"}, 400),
        ("search", {"query": "a", "offset": "-1"}, 400),
        ("search", {"query": "a", "year": "soon"}, 400),
        ("search", {"query": "a", "fields": "title,secret"}, 400),
        ("search", {"query": "a" * 1001}, 400),
        ("ARXIV:2104.77777", {}, 404),
        ("ARXIV:2104.00001/authors", {}, 404),
        ("", {}, 404),
    ],
)
def test_errors_of_the_scholar_search_are_json(
    papers: Asker, path: str, parameters: dict[str, str], status: int
):
    got = papers.get(f"/graph/v1/paper/{path}", **parameters)
    assert got.status == status
    assert list(got.json) == ["error"]


def test_other_paths_and_methods_are_refused(papers: Asker):
    assert papers.get("/").status == 404
    assert papers.get("/private/papers.json").status == 404
    assert papers.request("POST", "/api/query", b"x").status == 405
    assert papers.request("DELETE", "/graph/v1/paper/search").status == 405


@given(
    path=st.text(), parameters=st.dictionaries(st.text(), st.text()), method=st.sampled_from(["GET", "PUT"])
)
def test_no_request_makes_it_fail(site: Site, path: str, parameters: dict[str, str], method: str):
    for place in (path, f"/graph/v1/paper/{path}", "/graph/v1/paper/search", "/api/query"):
        answered = site.answer(Asked(method, place, parameters))
        assert 200 <= answered.status < 500


@given(
    st.text(st.sampled_from('()":[]*_-. abtiANDORT019')) | st.text(),
    st.sampled_from(
        ["search_query", "id_list", "start", "max_results", "sortBy", "query", "fields", "year", "limit"]
    ),
)
def test_no_query_makes_it_fail_and_every_feed_is_xml(site: Site, text: str, name: str):
    said = {"search_query": "ti:splines", "query": "splines", name: text}
    feed = site.answer(Asked("GET", "/api/query", said))
    assert feed.status in (200, 400)
    ElementTree.fromstring(feed.body)
    found = site.answer(Asked("GET", "/graph/v1/paper/search", said))
    assert found.status in (200, 400)
    json.loads(found.body)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not a paper index"),
        ('{"papers": [{"id": "1"}]}', r"papers\[0\].id: '1' does not have the form"),
        (index(paper(1, "a"), paper(1, "b")), "twice"),
        (index(paper(1, "a", color="red")), "color"),
    ],
)
def test_a_file_that_is_no_index_is_refused_in_words(tmp_path: Path, content: str, words: str):
    (tmp_path / "papers.json").write_text(content)
    with pytest.raises(TaskError, match=words):
        Catalogue.read(tmp_path / "papers.json")
