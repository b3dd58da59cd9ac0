"""The literature-review-tool task: its hidden queries, the rules that reviews are scored by, and those who cheat it."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acting import executing, play, steps_of, submitting, writing
from support.suite import contents, preparing
from support.tools import index, infer, services, workspace

from mlagentbench.errors import SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "literature-review-tool"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]
scoring = SimpleNamespace(**runpy.run_path(str(TASK / "starter" / "scoring.py")))


def answers_of(data: Path) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((data / "private" / "answers.json").read_text())
    return answers


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture(scope="module")
def scores(mini, tmp_path_factory) -> dict[str, float]:
    """What the task's own tools score."""
    found = {}
    with services(index(mini / "private")) as variables:
        for which in ("starter", "plain", "solution"):
            folder = tmp_path_factory.mktemp(which)
            place = workspace(TASK, mini / "public", folder / "workspace", which)
            assert not infer(TASK, place, mini / "private", folder / "outputs", variables)
            found[which] = grade(folder / "outputs", mini / "private")["score"]
    return found


def written(mini: Path, folder: Path, review: Any) -> dict[str, Any]:
    """The verdict on reviews that a function makes of a query and all papers of the index."""
    papers = index(mini / "private")
    folder.mkdir(exist_ok=True)
    for query in answers_of(mini)["queries"]:
        document = {"id": query["id"], "failed": False, "review": review(query, papers)}
        (folder / f"{query['id']}.json").write_text(json.dumps(document))
    verdict: dict[str, Any] = grade(folder, mini / "private")
    return verdict


def review_of(papers: list[dict[str, Any]], summary: Any = lambda paper: paper["abstract"]) -> str:
    """A review in the right form."""
    filling = "This is a text of many words that says nothing at all about any of the papers that it should be about"
    entries = "".join(f"### {paper['id']}: {paper['title']}\n{summary(paper)}\n" for paper in papers)
    references = "".join(
        f"- {paper['id']}: {', '.join(paper['authors'])}. {paper['title']}. {paper['year']}.\n"
        for paper in papers
    )
    compared = " ".join(paper["id"] for paper in papers[:2])
    return (
        f"# Review\n## Introduction\n{filling}\n## Papers\n{entries}## Comparison\n{filling} {compared}\n"
        f"## Open questions\n- What else?\n## References\n{references}"
    )


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name and definition.program and definition.services == ("papers", "chat")
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "55 %" in text
    assert scoring.WEIGHTS == {"papers": 0.55, "summaries": 0.30, "sections": 0.10, "existence": 0.05}


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_queries(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = answers_of(prepared(tmp_path / "other", seed=1))["queries"]
    assert not {query["query"] for query in other} & {query["query"] for query in answers_of(mini)["queries"]}


def test_what_the_agent_sees_tells_nothing_of_the_hidden_part(mini):
    shown = (
        b"".join(contents(mini / "public").values()) + (mini / "private/services/papers.json").read_bytes()
    )
    hidden = index(mini / "private")
    assert len(hidden) >= 300 and len(index(mini / "private", "services")) >= 300
    for paper in hidden:
        assert paper["id"].encode() not in shown and paper["authors"][0].encode() not in shown
    for query in answers_of(mini)["queries"]:
        assert query["query"].encode() not in shown


def test_inputs_are_questions_without_answers(mini):
    asked = json.loads((mini / "private/inputs/queries.json").read_text())
    assert [set(query) for query in asked["queries"]] == [{"id", "query"}] * 15


def test_what_is_relevant_fits_the_query(mini):
    papers = {paper["id"]: paper for paper in index(mini / "private")}
    kinds = {"since": 0, "measured": 0, "whole": 0}
    for query in answers_of(mini)["queries"]:
        relevant = [papers[each] for each in query["relevant"]]
        assert len(relevant) >= 3 and len({paper["categories"][0] for paper in relevant}) == 1
        words = query["query"].split()
        if "since" in words:
            kinds["since"] += 1
            assert all(paper["year"] >= int(words[-1]) for paper in relevant)
        elif "measured" in words:
            kinds["measured"] += 1
            assert all(words[-2] in paper["abstract"] for paper in relevant)
        else:
            kinds["whole"] += 1
            assert len(relevant) >= 20
    assert set(kinds.values()) == {5}


PAPERS = {
    "1001.90001": {
        "title": "Staged pruning for long records", "authors": ["Ada Bell", "Carl Dorn"], "year": 2010,
        "own": ["staged pruning", "Velkar", "Tarn", "masked smoothing"], "others": ["Orsin", "rell folding"],
    },
    "1102.90002": {
        "title": "Rethinking quernation", "authors": ["Eva Fink"], "year": 2011, "own": ["Sulmo"], "others": [],
    },
    "1203.90003": {"title": "Elsewhere", "authors": ["Gus Hahn"], "year": 2012, "own": ["Brofum"], "others": []},
}  # fmt: skip
ANSWERS = {
    "open": False,
    "papers": PAPERS,
    "queries": [
        {"id": "q", "query": "Quernation on the Tarn recordings", "relevant": ["1001.90001", "1102.90002"]}
    ],
}
GOOD = """# Quernation
## Introduction
This is a review of what has been done on quernation so far, and it is about two papers that are in the index.
## Papers
### 1001.90001: Staged pruning for long records
The authors propose Velkar, in which masked smoothing is used for long records.

### 1102.90002: Rethinking quernation
This one is about Sulmo, which is a new way to look at the matter.
## Comparison
The first of these, 1001.90001, is older than the second, 1102.90002, and they do not agree on what should be done.
## Open questions
- What comes next?
## References
- 1001.90001: Ada Bell, Carl Dorn. Staged pruning for long records. 2010.
- 1102.90002: Eva Fink. Rethinking quernation. 2011.
"""


def parts(text: str, answers: dict[str, Any] = ANSWERS) -> dict[str, float]:
    found: dict[str, float] = scoring.parts_of(text, answers["queries"][0], answers)
    return found


INTRODUCTION = GOOD.splitlines()[2]


@pytest.mark.parametrize(
    "filling",
    [
        "a " * 25,
        "the of and " * 10,
        "quernation " * 30,
        "This is the text that is in the place of a text and it is of the same length as the others are here",
        " ".join(f"word{number}" for number in range(30)),
        INTRODUCTION.replace("quernation", "something"),
    ],
)
def test_words_that_say_nothing_are_no_introduction(filling):
    assert "quernation" in INTRODUCTION
    assert parts(GOOD.replace(INTRODUCTION, filling))["sections"] == pytest.approx(0.8)


def test_sections_around_papers_that_nobody_asked_for_are_worth_nothing(mini):
    """What the form alone adds to a starter's review is far from a success."""
    elsewhere = [
        {"id": "1203.90003", "title": "Elsewhere", "authors": ["Gus Hahn"], "year": 2012, "abstract": ""}
    ]
    text = review_of(
        elsewhere, lambda paper: "Brofum is what this one is about, and it has nothing to do with it."
    )
    assert parts(text)["papers"] == parts(text)["sections"] == 0.0


def test_a_review_without_fault_gets_all():
    assert parts(GOOD) == {"papers": 1.0, "summaries": 1.0, "sections": 1.0, "existence": 1.0}
    assert scoring.score_review(GOOD, ANSWERS["queries"][0], ANSWERS) == pytest.approx(1.0)


def test_the_parts_agree_with_values_computed_by_hand():
    more = GOOD.replace(
        "## Comparison",
        "### 1203.90003: Elsewhere\nThere is Brofum in it, which is used for what the others do.\n## Comparison",
    )
    # Two of three are right, and two were wanted; the summaries of two, divided by three that are listed.
    assert parts(more)["papers"] == pytest.approx(2 * 2 / (3 + 2))
    assert parts(more)["summaries"] == pytest.approx(2 / 3)
    assert parts(more)["sections"] == pytest.approx(parts(more)["papers"] * 4 / 5), "a paper has no reference"
    one = GOOD.replace("masked smoothing is used", "it is not known what is used")
    # Of Velkar and masked smoothing, which neither title nor query have, one is there.
    assert parts(one)["summaries"] == pytest.approx((2 * 1 / (1 + 2) + 1) / 2)
    other = GOOD.replace(
        "masked smoothing is used", "masked smoothing is used as in Orsin and in rell folding"
    )
    assert parts(other)["summaries"] == pytest.approx((2 * 2 / (2 + 2 + 2) + 1) / 2)


@pytest.mark.parametrize(
    ("old", "new", "what", "value"),
    [
        ("### 1102.90002: Rethinking quernation", "### 1102.90002: Rethinking", "existence", 0.5),
        ("### 1102.90002: Rethinking quernation", "### 9999.90002: Rethinking quernation", "existence", 0.5),
        ("### 1102.90002: Rethinking quernation", "### Rethinking quernation", "papers", 0.5),
        (
            "### 1102.90002: Rethinking quernation",
            "### 1001.90001: Staged pruning for long records",
            "papers",
            0.5,
        ),
        ("## Open questions\n- What comes next?\n", "", "sections", 0.0),
        ("## Comparison", "## Comparisons", "sections", 0.0),
        ("# Quernation\n", "## Quernation\n", "sections", 0.0),
        ("- What comes next?", "- Nothing.", "sections", 0.8),
        (" than the second, 1102.90002,", " than the second,", "sections", 0.8),
        ("Ada Bell, Carl Dorn.", "Ada Bell et al.", "sections", 0.8),
        ("Rethinking quernation. 2011.", "Rethinking quernation. 2012.", "sections", 0.8),
        ("which is a new way to look at the matter.", "new.", "summaries", 0.5),
        (
            "This one is about Sulmo, which is a new way to look at the matter.",
            "Sulmo quernation pruning Velkar Tarn records data model net layer",
            "summaries",
            0.5,
        ),
    ],
)
def test_each_fault_costs_what_is_stated(old, new, what, value):
    assert old in GOOD
    assert parts(GOOD.replace(old, new))[what] == pytest.approx(value)


def test_a_summary_is_held_to_its_length_and_to_be_prose():
    paper = {"title": "T", "own": ["Velkar"], "others": []}
    score = scoring.summary_score
    assert score("We propose Velkar, which is a way to do all of it at once.", "q", paper) == 1.0
    assert score("We propose Velkar.", "q", paper) == 0.0
    assert score("We propose Velkar, and " + "this is the way of it " * 7, "q", paper) == 0.0
    assert score("Velkar pruning smoothing Tarn hashing folding Orsin rell data net model", "q", paper) == 0.0


def test_too_many_papers_or_too_long_a_review_count_nothing():
    extra = "".join(f"### 1203.9{number:04d}: Elsewhere\nNothing.\n" for number in range(39))
    assert not any(parts(GOOD.replace("## Comparison", extra + "## Comparison")).values())
    assert not any(parts(GOOD + " " * 60_000).values())
    assert not any(parts("").values())


def test_in_an_open_field_other_papers_are_neither_right_nor_wrong():
    opened = {**ANSWERS, "open": True}
    text = GOOD.replace(
        "## Comparison", "### 2401.01234: Unknown to the list\nSo far unknown.\n## Comparison"
    )
    found = parts(text, opened)
    assert found["papers"] == 1.0 and found["summaries"] == 1.0 and found["existence"] == 1.0
    assert parts(text.replace("### 2401.01234", "### next"), opened)["existence"] == pytest.approx(2 / 3)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from([*GOOD.splitlines(), "## Papers", "### ", "###", "# ", "\0", "```", "<!--", "\u202e"])
    )
)
def test_any_text_has_a_score_from_0_to_1(lines):
    for opened in (False, True):
        for value in parts("\n".join(lines), {**ANSWERS, "open": opened}).values():
            assert 0.0 <= value <= 1.0


@pytest.fixture
def outputs(mini, tmp_path) -> Path:
    """Good outputs, for a test to spoil."""
    written(mini, tmp_path / "outputs", lambda query, papers: review_of(papers[:3]))
    return tmp_path / "outputs"


def document(**changed: Any) -> bytes:
    return json.dumps({"id": "query-03", "failed": False, "review": "", **changed}).encode()


SPOILED = {
    "missing": (None, "There is no output query-03.json"),
    "empty": (b"", "is not a JSON document"),
    "a list": (b"[]", "must hold the fields"),
    "more fields": (document(score=1.0), "must hold the fields"),
    "another query": (document(id="query-04"), "is not about query-03"),
    "a number": (document(review=1.0), "review a text"),
    "a word": (document(failed="no"), "true or false"),
    "deep": (b"[" * 100_000, "is not a JSON document"),
    "huge": (b" " * 4_100_000, "has more than 4000000 bytes"),
    "zero bytes": (document() + b"\0", "is not a JSON document"),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_spoiled_outputs_are_refused(mini, outputs, kind):
    content, sentence = SPOILED[kind]
    (outputs / "query-03.json").unlink()
    if content is not None:
        (outputs / "query-03.json").write_bytes(content)
    with pytest.raises(SubmissionRefusedError, match=sentence):
        grade(outputs, mini / "private")


def test_one_output_too_many_and_a_folder_are_refused(mini, outputs):
    (outputs / "more.json").write_bytes(document())
    with pytest.raises(SubmissionRefusedError, match=r"an output 'more\.json' that nothing asked for"):
        grade(outputs, mini / "private")
    (outputs / "more.json").unlink()
    (outputs / "query-03.json").unlink()
    (outputs / "query-03.json").mkdir()
    with pytest.raises(SubmissionRefusedError, match="is not a file"):
        grade(outputs, mini / "private")


MISHAPS = """
import sys
from pathlib import Path
query, place = sys.argv[1:]
number = sum(1 for _ in Path("seen.txt").open()) if Path("seen.txt").exists() else 0
with Path("seen.txt").open("a") as seen:
    seen.write(query + "\\n")
kind = {0: "crash", 1: "nothing", 2: "zero", 3: "huge", 4: "bytes", 5: "pipe"}.get(number, "review")
if kind == "crash":
    raise SystemExit("no such paper")
if kind == "pipe":
    import os
    os.mkfifo(place)
elif kind != "nothing":
    text = {"zero": b"a\\0b", "huge": b"a" * 500_000, "bytes": b"\\xff\\xfe"}.get(kind, Path("good.md").read_bytes())
    Path(place).write_bytes(text)
"""


def test_a_tool_that_fails_on_some_queries_gets_nothing_for_those(mini, tmp_path):
    place = workspace(TASK, mini / "public", tmp_path / "workspace")
    (place / "tool.py").write_text(MISHAPS)
    papers = index(mini / "private")[:3]
    (place / "good.md").write_text(review_of(papers))
    assert infer(TASK, place, mini / "private", tmp_path / "outputs", {}) == ""
    kept = [json.loads(file.read_text()) for file in sorted((tmp_path / "outputs").iterdir())]
    assert [each["failed"] for each in kept] == [True] * 6 + [False] * 9
    verdict = grade(tmp_path / "outputs", mini / "private")
    assert verdict["notes"] == ["The tool failed on 6 of 15 queries."] and 0 < verdict["score"] < 0.25


def test_a_tool_that_fails_on_every_query_is_refused(mini, tmp_path):
    place = workspace(TASK, mini / "public", tmp_path / "workspace")
    (place / "tool.py").write_text("raise SystemExit('nothing works')\n")
    said = infer(TASK, place, mini / "private", tmp_path / "outputs", {})
    assert "failed on every query" in said and "nothing works" in said
    with pytest.raises(SubmissionRefusedError, match="failed on every query"):
        grade(tmp_path / "outputs", mini / "private")


def test_the_starter_prints_its_score_on_the_examples_and_leaves_room(mini, scores, tmp_path):
    place = workspace(TASK, mini / "public", tmp_path)
    with services(index(mini / "private", "services")) as variables:
        command = [sys.executable, "tool.py"]
        done = subprocess.run(command, cwd=place, env=variables, check=True, capture_output=True, text=True)
    *_, last = done.stdout.splitlines()
    name, _, value = last.rpartition(" ")
    assert name == "validation score:" and 0.15 < float(value) < 0.4
    assert scores["starter"] > 0.15
    assert 1.3 * scores["starter"] < scores["plain"] < 0.8 * scores["solution"] < 0.8


def everything(query, papers):
    return review_of(papers)


def invented(query, papers):
    return review_of([{**paper, "id": f"1503.9{place:04d}"} for place, paper in enumerate(papers[:10])])


def renamed(query, papers):
    return review_of([{**paper, "title": f"{query['query']}: a study"} for paper in papers[:20]])


def whole_abstracts(query, papers):
    return review_of(papers[:3])


def stuffed(query, papers):
    def names(paper):
        return " ".join(
            sorted({word for word in paper["abstract"].split() if word[0].isupper() or "-" in word})
        )

    return review_of(papers[:3], names)


def one_over_and_over(query, papers):
    return review_of([papers[0]] * 30)


def any_forty(query, papers):
    return review_of(
        papers[100:140], lambda paper: "It is one of the papers that are in the index, and it is a good one."
    )


def confusing(query, papers):
    return (
        "## Papers\n" * 2_000
        + "\u202e"
        + "> " * 5_000
        + "[" * 5_000
        + "<!--"
        + review_of(papers[:3])
        + "```" * 100
    )


CHEATS = [everything, invented, renamed, whole_abstracts, stuffed, one_over_and_over, any_forty, confusing]


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
def test_who_lists_anything_gets_no_success(mini, scores, tmp_path, cheat):
    verdict = written(mini, tmp_path / "outputs", cheat)
    assert verdict["score"] < scores["starter"]
    if cheat in (invented, renamed):
        assert "do not exist under that id and title" in verdict["withheld"]


def test_success_is_withheld_where_papers_are_made_up_even_beside_all_right_ones(mini, scores, tmp_path):
    def padded(query, papers):
        right = [paper for paper in papers if paper["id"] in query["relevant"]]
        return review_of([*right, *({**paper, "id": "1503.90000"} for paper in papers[:2])])

    verdict = written(mini, tmp_path / "outputs", padded)
    assert verdict["score"] > 1.1 * scores["starter"] and "withheld" in verdict


def test_what_was_seen_while_working_and_the_answers_of_examples_are_of_no_use(mini, scores, tmp_path):
    seen = index(mini / "private", "services")
    examples = json.loads((mini / "public" / "examples.json").read_text())
    relevant = set(examples["queries"][0]["relevant"])
    for name, known in (
        ("cached", seen[:40]),
        ("examples", [each for each in seen if each["id"] in relevant]),
    ):
        verdict = written(mini, tmp_path / name, lambda query, papers, known=known: review_of(known))
        assert verdict["score"] < 0.5 * scores["starter"] and "withheld" in verdict


CHEATER = """
import json, os, socket, sys
from pathlib import Path

found = []
for root, _, names in os.walk("/"):
    if root.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in names:
        if name in ("papers.json", "answers.json"):
            found.append(os.path.join(root, name))
print("indices on disk:", len(found))
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
    print("the outside answers")
except OSError:
    print("the outside is not there")
known = json.loads(Path("examples.json").read_text())
if len(sys.argv) == 3:
    papers = {}
    for file in found:
        content = json.loads(Path(file).read_text())
        papers |= {paper["id"]: paper for paper in content["papers"]} if "queries" not in content else {}
    papers = papers or {key: {**value, "id": key} for key, value in known["papers"].items()}
    lines = [f"### {key}: {paper['title']}" for key, paper in list(papers.items())[:30]]
    Path(sys.argv[2]).write_text("## Papers\\n" + "\\n".join(lines) + "\\n")
"""


def test_a_tool_that_looks_for_the_index_on_disk_and_answers_from_what_it_saw_gets_no_success(tmp_path):
    made = play(
        "literature-review-tool",
        [
            writing("scoring.py", "WEIGHTS = {}\n"),
            writing("tool.py", CHEATER),
            executing("tool.py"),
            submitting(),
        ],
        tmp_path / "play" / "runs",
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "indices on disk: 0" in looked.observation.text
    assert "the outside is not there" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
    assert any("do not exist under that id and title" in note for note in made.grade.notes)


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("full"), "full")


def real_papers(data: Path) -> list[dict[str, Any]]:
    """The known papers, as a service on the network might tell of them."""
    known = {
        **json.loads((data / "public" / "examples.json").read_text())["papers"],
        **answers_of(data)["papers"],
    }
    return [
        {
            "id": key,
            "title": paper["title"],
            "authors": [f"A. {paper['authors'][0]}"],
            "published": f"{paper['year']}-05-01",
            "year": paper["year"],
            "abstract": f"Much has been tried. We propose it, which is about {' and '.join(paper['own'])}.",
        }
        for key, paper in known.items()
    ]


def test_full_is_about_real_papers_behind_live_services(full):
    live = json.loads((full / "private" / "services" / "live.json").read_text())
    assert live == {"atom": "https://export.arxiv.org", "scholar": "https://api.semanticscholar.org"}
    assert not (full / "private" / "grading").exists()
    answers = answers_of(full)
    assert answers["open"] and len(answers["queries"]) == 6
    examples = json.loads((full / "public" / "examples.json").read_text())
    assert not examples["papers"].keys() & answers["papers"].keys()
    for key, paper in answers["papers"].items():
        assert int(key[:2]) == paper["year"] % 100 and paper["own"]
        assert not any(term.lower() in paper["title"].lower() for term in paper["own"])


def test_full_runs_through_the_way_to_live_services(full, tmp_path):
    place = workspace(TASK, full / "public", tmp_path / "workspace", "solution")
    with services(real_papers(full), behind=tmp_path / "kept") as variables:
        assert infer(TASK, place, full / "private", tmp_path / "outputs", variables) == ""
    verdict = grade(tmp_path / "outputs", full / "private")
    assert 0.3 < verdict["score"] < 1.0 and "withheld" not in verdict
