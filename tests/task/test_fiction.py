"""The field of research that does not exist: what tasks rely on when they ask about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlagentbench.service.catalogue import Catalogue
from mlagentbench.task.fiction import Field, make_fields
from mlagentbench.task.preparation import _shared_makers

SEEDS = (0, 7, 2**62 + 11)


@pytest.fixture(scope="module", params=SEEDS)
def fields(request) -> tuple[Field, ...]:
    return make_fields(request.param)


def pairs(field: Field) -> Iterator[tuple]:
    by_id = {paper.id: paper for paper in field.papers}
    for paper in field.papers:
        for cited in paper.citations:
            yield paper, by_id[cited]


def coined(field: Field) -> set[str]:
    """Words of authors, methods, collections and topics."""
    words = {word for topic in field.topics for name in topic.names for word in name.split() if word != "of"}
    words = {word for word in words if len(word) > 6 and not word.endswith("ing")}
    words |= {part for paper in field.papers for name in paper.authors for part in name.split()}
    return words | {word for paper in field.papers for word in (paper.method, paper.collection) if word}


def test_the_same_seed_gives_the_same_fields_and_another_one_others():
    once, again, other = make_fields(3), make_fields(3), make_fields(4)
    assert once == again
    assert len(coined(once[0]) & coined(other[0])) < 0.1 * len(coined(once[0]))
    assert not {paper.abstract for paper in once[0].papers} & {paper.abstract for paper in other[0].papers}


def test_fields_are_large_and_share_nothing_that_could_be_remembered(fields):
    one, other = fields
    assert len(one.papers) >= 300 and len(other.papers) >= 300
    assert not {paper.id for paper in one.papers} & {paper.id for paper in other.papers}
    plain = {"tracking", "matching", "recovery", "alignment", "registration", "pursuit", "forecasting"}
    assert not (coined(one) - plain - {"outlook"}) & coined(other)


def test_ids_are_like_those_of_arxiv_and_none_is_a_real_one(fields):
    for paper in fields[0].papers:
        assert re.fullmatch(r"\d{4}\.9\d{4}", paper.id)
        assert paper.id.startswith(paper.published[2:4] + paper.published[5:7])
    assert len({paper.title for paper in fields[0].papers}) == len(fields[0].papers)


def test_papers_cite_earlier_ones_and_mostly_those_of_their_topic(fields):
    cited = list(pairs(fields[1]))
    assert all(cited.published <= citing.published for citing, cited in cited)
    assert 0.5 < sum(citing.topic == cited.topic for citing, cited in cited) / len(cited) < 0.9


def test_own_terms_and_those_of_others_stand_in_the_abstract_and_are_told_apart(fields):
    for paper in fields[0].papers:
        text = paper.abstract.lower()
        assert paper.own and all(term.lower() in text for term in (*paper.own, *paper.others))
        assert not set(paper.own) & set(paper.others)


def test_no_two_papers_claim_the_same_and_methods_have_one_origin(fields):
    papers = fields[1].papers
    claims = [paper.claim for paper in papers if paper.claim]
    methods = [paper.method for paper in papers if paper.method]
    assert len(set(claims)) == len(claims) > 200 and len(set(methods)) == len(methods)


def test_a_name_finds_neither_all_papers_of_its_topic_nor_only_those(fields):
    recalls, precisions = [], []
    for topic in fields[1].topics:
        named = {
            paper.id
            for paper in fields[1].papers
            if topic.names[0] in f"{paper.title} {paper.abstract}".lower()
        }
        right = {paper.id for paper in fields[1].of(topic)}
        recalls.append(len(named & right) / len(right))
        precisions.append(len(named & right) / len(named))
    assert 0.25 < sum(recalls) / len(recalls) < 0.65
    assert 0.5 < sum(precisions) / len(precisions) < 0.95


def test_an_index_is_what_the_paper_service_reads(fields, tmp_path):
    (tmp_path / "papers.json").write_text(json.dumps(fields[0].index()))
    catalogue = Catalogue.read(tmp_path / "papers.json")
    assert [paper.id for paper in catalogue.papers] == [paper.id for paper in fields[0].papers]


def test_data_made_with_it_are_made_again_when_it_changes(tmp_path):
    (tmp_path / "prepare.py").write_text("from mlagentbench.task.fiction import make_fields\n")
    (tmp_path / "other.py").write_text("from mlagentbench.errors import PreparationError\n")
    files = _shared_makers([tmp_path / "prepare.py", tmp_path / "other.py", Path(__file__).parent])
    assert {"__init__.py", "field.py", "words.py", "writing.py"} == {file.name for file in files}
    assert _shared_makers([tmp_path / "other.py"]) == []
