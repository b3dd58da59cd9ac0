"""The bibtex-generation task: its paragraphs, its reader of BibTeX, the rules of scoring, and those who cheat it."""

from __future__ import annotations

import json
import re
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

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "bibtex-generation"
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


def cited(mini: Path, folder: Path, tool: Any) -> dict[str, Any]:
    """The verdict on texts and bibliographies that a function makes of a paragraph and all papers of the index."""
    papers = index(mini / "private")
    folder.mkdir(exist_ok=True)
    for paragraph in answers_of(mini)["paragraphs"]:
        text, bibliography = tool(paragraph, papers)
        document = {"id": paragraph["id"], "failed": False, "text": text, "bibliography": bibliography}
        (folder / f"{paragraph['id']}.json").write_text(json.dumps(document))
    verdict: dict[str, Any] = grade(folder, mini / "private")
    return verdict


def entry(paper: dict[str, Any]) -> str:
    return (
        f"@article{{{paper['id']}, title = {{{paper['title']}}}, author = {{{' and '.join(paper['authors'])}}}, "
        f"year = {paper['year']}, eprint = {{{paper['id']}}}}}\n"
    )


def citing(paragraph: dict[str, Any], works: Any) -> str:
    """The paragraph's text with the works that a function gives for the number of a sentence."""
    text = paragraph["text"]
    for number, sentence in reversed(list(enumerate(paragraph["sentences"]))):
        if chosen := works(number):
            end = sentence["end"] - 1
            text = f"{text[:end]} \\cite{{{','.join(chosen)}}}{text[end:]}"
    return text


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name and definition.program and definition.services == ("papers", "chat")
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and r"\cite{KEY,KEY}" in text
    assert scoring.WEIGHTS == {"citations": 0.65, "entries": 0.25, "bibliography": 0.10}
    assert all(f"{share} %" in text for share in (65, 25, 10))


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_paragraphs(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = {each["text"] for each in answers_of(prepared(tmp_path / "other", seed=1))["paragraphs"]}
    assert not other & {each["text"] for each in answers_of(mini)["paragraphs"]}


def test_what_the_agent_sees_tells_nothing_of_the_hidden_part(mini):
    shown = (
        b"".join(contents(mini / "public").values()) + (mini / "private/services/papers.json").read_bytes()
    )
    hidden = index(mini / "private")
    assert len(hidden) >= 300 and len(index(mini / "private", "services")) >= 300
    for paper in hidden:
        assert paper["id"].encode() not in shown and paper["authors"][0].encode() not in shown


def test_inputs_are_texts_without_answers(mini):
    asked = json.loads((mini / "private/inputs/paragraphs.json").read_text())
    assert [set(paragraph) for paragraph in asked["paragraphs"]] == [{"id", "text"}] * 24
    assert not any("cite" in paragraph["text"] for paragraph in asked["paragraphs"])


def test_sentences_cover_a_paragraph_and_speak_of_the_works_that_they_need(mini):
    papers = {paper["id"]: paper for paper in index(mini / "private")}
    needed = []
    for paragraph in answers_of(mini)["paragraphs"]:
        parts = [paragraph["text"][each["start"] : each["end"]] for each in paragraph["sentences"]]
        assert " ".join(parts) + "\n" == paragraph["text"] and all(part.endswith(".") for part in parts)
        works = [work for each in paragraph["sentences"] for work in each["works"]]
        assert 4 <= len(works) == len(set(works)) <= 7
        for part, each in zip(parts, paragraph["sentences"], strict=True):
            needed.append(len(each["works"]))
            for work in each["works"]:
                told = {word.strip(".,") for word in f"{part} {part.lower()}".split()}
                paper = papers[work]
                known = set(re.findall(r"[\w.]*\w", f"{paper['abstract']} {' '.join(paper['authors'])}"))
                assert len(told & known) >= 1
    assert needed.count(0) >= 70 and needed.count(1) >= 60 and needed.count(2) >= 8


PARAGRAPH = {
    "id": "p",
    "text": "Folding is hard. Velkar was a step forward. Orsin and Sulmo differ. We go on.\n",
    "sentences": [
        {"start": 0, "end": 16, "works": []},
        {"start": 17, "end": 43, "works": ["1001.90001"]},
        {"start": 44, "end": 67, "works": ["1102.90002", "1203.90003"]},
        {"start": 68, "end": 77, "works": []},
    ],
}
PAPERS = {
    "1001.90001": {"title": "Velkar: a way", "authors": ["Ada Bell", "Carl Dorn"], "year": 2010},
    "1102.90002": {"title": "Orsin, or why it works", "authors": ["Eva Fink"], "year": 2011},
    "1203.90003": {"title": "On Sulmo", "authors": ["Gus Hahn"], "year": 2012},
}
ANSWERS = {"open": False, "papers": PAPERS, "paragraphs": [PARAGRAPH]}
TEXT = (
    "Folding is hard. Velkar was a step forward \\cite{a}. Orsin and Sulmo differ. \\cite{b, c} We go on.\n"
)
BIB = """
@article{a, title = {Velkar: {A} way}, author = "Bell, Ada and Carl Dorn", year = 2010, eprint = {1001.90001v2},}
@inproceedings{b,
  title = {Orsin, or why it works},
  author = {Eva Fink}, year = {2011}, eprint = {arXiv:1102.90002}
}
@misc{c, Title = {On Sulmo}, AUTHOR = {Gus Hahn}, year = {2012}, eprint = {1203.90003}, note = {Nice {\\"o}ne}}
"""


def parts(text: str = TEXT, bib: str = BIB, answers: dict[str, Any] = ANSWERS) -> dict[str, float]:
    found: dict[str, float] = scoring.parts_of(text, bib, answers["paragraphs"][0], answers)
    return found


def test_a_paragraph_without_fault_gets_all():
    assert parts() == {"citations": 1.0, "entries": 1.0, "bibliography": 1.0}
    assert scoring.score_paragraph(TEXT, BIB, PARAGRAPH, ANSWERS) == pytest.approx(1.0)


def test_the_parts_agree_with_values_computed_by_hand():
    wrong_place = TEXT.replace(" \\cite{a}", "").replace("Folding is hard.", "Folding is hard \\cite{a}.")
    # Two of three citations are right, and three were wanted; so are two of three entries.
    assert parts(wrong_place) == {
        "citations": pytest.approx(2 / 3),
        "entries": pytest.approx(2 / 3),
        "bibliography": 1.0,
    }
    too_many = TEXT.replace("We go on.", "We go on \\cite{a,b,c}.")
    assert parts(too_many)["citations"] == pytest.approx(2 * 3 / (6 + 3))
    assert parts(TEXT.replace(" \\cite{a}", "")) == {
        "citations": pytest.approx(2 * 2 / (2 + 3)),
        "entries": pytest.approx(2 / 3),
        "bibliography": 0.0,
    }
    assert parts(bib=BIB.replace("2010", "2011"))["entries"] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert parts(bib=BIB.replace("Bell, Ada and Carl Dorn", "Bell, Ada"))["entries"] == pytest.approx(8 / 9)
    assert parts(bib=BIB.replace("1203.90003", "1203.90004")) == {
        "citations": pytest.approx(2 / 3),
        "entries": pytest.approx(2 / 3),
        "bibliography": 1.0,
    }
    assert parts(TEXT.replace("\\cite{a}", "\\cite{a,z}"))["bibliography"] == 0.0, "a key without an entry"
    assert parts(PARAGRAPH["text"], "") == {"citations": 0.0, "entries": 0.0, "bibliography": 0.0}


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("hard", "easy"),
        TEXT.replace(" \\cite{a}", "\\cite{a}"),
        TEXT.replace(" \\cite{a}", "  \\cite{a}"),
        TEXT.replace("We go on.", ""),
        TEXT.replace("\\cite", "\\citep"),
        TEXT + "And more.\n",
        "",
        TEXT + " " * 20_000,
    ],
)
def test_a_text_that_was_changed_counts_nothing(text):
    assert not any(parts(text).values())


INVALID = {
    "a brace that is not closed": BIB[: BIB.rindex("}")],
    "a key twice": BIB + BIB.split("\n")[1],
    "a field twice": BIB.replace("note = {Nice", "year = {Nice"),
    "words between entries": BIB + "and so on",
    "no comma": BIB.replace("On Sulmo},", "On Sulmo}"),
    "no key": BIB.replace("@misc{c,", "@misc{,"),
    "no value": BIB.replace("{2012}", ""),
    "a name as a value": BIB.replace("{2012}", "last"),
    "an open quotation": BIB.replace('Carl Dorn"', "Carl Dorn"),
    "deep": BIB.replace("{2012}", "{" * 50 + "}" * 50),
    "a string": '@string{x = "y"}' + BIB,
    "no entry": "@",
    "long": BIB + " " * 100_000,
}


@pytest.mark.parametrize("kind", INVALID)
def test_a_bibliography_that_is_not_valid_counts_nothing(kind):
    assert not any(parts(bib=INVALID[kind]).values())
    if kind != "long":
        with pytest.raises(scoring.BibtexError):
            scoring.entries_of(INVALID[kind])


def test_accents_and_commands_are_no_difference():
    plain = scoring.plain
    assert plain('{\\"O}zg{\\"u}r') == plain("Özgür") == "ozgur"
    assert scoring.person("Veličković, Petar") == plain("Petar Veli{\\v{c}}kovi{\\'c}")


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"\A[A-Za-z0-9:._/+-]{1,20}\Z"),
        st.dictionaries(
            st.from_regex(r"\A[a-z]{1,8}\Z"),
            st.text(st.characters(blacklist_characters="{}", blacklist_categories=["Cs"])),
        ),
        max_size=4,
    )
)
def test_what_is_written_as_bibtex_is_read_as_it_was(entries):
    written = "\n".join(
        f"@misc{{{key}" + "".join(f",\n {name} = {{{value}}}" for name, value in fields.items()) + "}"
        for key, fields in entries.items()
    )
    assert scoring.entries_of(written) == entries


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["@", "misc", "{", "}", ",", "=", '"', "a", "title", "1", "\n", "\0", "é", *BIB.split()]
        )
    )
)
def test_any_bibliography_has_a_score_from_0_to_1(pieces):
    for value in parts(bib="".join(pieces)).values():
        assert 0.0 <= value <= 1.0


@pytest.fixture
def outputs(mini, tmp_path) -> Path:
    """Outputs for a test to spoil."""
    cited(mini, tmp_path / "outputs", lambda paragraph, papers: (paragraph["text"], ""))
    return tmp_path / "outputs"


def document(**changed: Any) -> bytes:
    return json.dumps(
        {"id": "paragraph-03", "failed": False, "text": "", "bibliography": "", **changed}
    ).encode()


SPOILED = {
    "missing": (None, "There is no output paragraph-03.json"),
    "empty": (b"", "is not a JSON document"),
    "a list": (b"[]", "must hold the fields"),
    "more fields": (document(score=1.0), "must hold the fields"),
    "another paragraph": (document(id="paragraph-04"), "is not about paragraph-03"),
    "a number": (document(text=1.0), "text and bibliography texts"),
    "nothing for a bibliography": (document(bibliography=None), "text and bibliography texts"),
    "deep": (b"[" * 100_000, "is not a JSON document"),
    "huge": (b" " * 8_100_000, "has more than 8000000 bytes"),
    "zero bytes": (document() + b"\0", "is not a JSON document"),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_spoiled_outputs_are_refused(mini, outputs, kind):
    content, sentence = SPOILED[kind]
    (outputs / "paragraph-03.json").unlink()
    if content is not None:
        (outputs / "paragraph-03.json").write_bytes(content)
    with pytest.raises(SubmissionRefusedError, match=sentence):
        grade(outputs, mini / "private")


def test_one_output_too_many_is_refused(mini, outputs):
    (outputs / "more.json").write_bytes(document())
    with pytest.raises(SubmissionRefusedError, match=r"an output 'more\.json' that nothing asked for"):
        grade(outputs, mini / "private")


MISHAPS = """
import shutil, sys
from pathlib import Path
given, text, bibliography = map(Path, sys.argv[1:])
number = len(Path("seen.txt").read_text()) if Path("seen.txt").exists() else 0
with Path("seen.txt").open("a") as seen:
    seen.write("x")
if number == 0:
    raise SystemExit("no such paper")
text.write_bytes(b"\\0" if number == 1 else given.read_bytes())
if number != 2:
    bibliography.write_bytes(b"a" * 500_000 if number == 3 else b"")
"""


def test_a_tool_that_fails_on_some_paragraphs_gets_nothing_for_those(mini, tmp_path):
    place = workspace(TASK, mini / "public", tmp_path / "workspace")
    (place / "tool.py").write_text(MISHAPS)
    assert infer(TASK, place, mini / "private", tmp_path / "outputs", {}) == ""
    kept = [json.loads(file.read_text()) for file in sorted((tmp_path / "outputs").iterdir())]
    assert [each["failed"] for each in kept] == [True] * 4 + [False] * 20
    verdict = grade(tmp_path / "outputs", mini / "private")
    assert verdict == {"score": 0.0, "notes": ["The tool failed on 4 of 24 paragraphs."]}


def test_a_tool_that_fails_on_every_paragraph_is_refused(mini, tmp_path):
    place = workspace(TASK, mini / "public", tmp_path / "workspace")
    (place / "tool.py").write_text("raise SystemExit('nothing works')\n")
    said = infer(TASK, place, mini / "private", tmp_path / "outputs", {})
    assert "failed on every paragraph" in said and "nothing works" in said
    with pytest.raises(SubmissionRefusedError, match="failed on every paragraph"):
        grade(tmp_path / "outputs", mini / "private")


def test_the_starter_prints_its_score_on_the_examples_and_leaves_room(mini, scores, tmp_path):
    place = workspace(TASK, mini / "public", tmp_path)
    with services(index(mini / "private", "services")) as variables:
        command = [sys.executable, "tool.py"]
        done = subprocess.run(command, cwd=place, env=variables, check=True, capture_output=True, text=True)
    *_, last = done.stdout.splitlines()
    name, _, value = last.rpartition(" ")
    assert name == "validation score:" and 0.15 < float(value) < 0.5
    assert scores["starter"] > 0.2
    assert 1.3 * scores["starter"] < scores["plain"] < 0.9 * scores["solution"] < 0.9


def right(paragraph):
    return lambda number: paragraph["sentences"][number]["works"]


def everything_entered(paragraph, papers):
    """No citation, and a bibliography with all that there is."""
    return paragraph["text"], "".join(entry(paper) for paper in papers)


def everything_cited(paragraph, papers):
    keys = [paper["id"] for paper in papers[:200]]
    text = citing(paragraph, lambda number: keys if number == 0 else [])
    return text, "".join(entry(paper) for paper in papers[:200])


def cited_everywhere(paragraph, papers):
    """Each sentence gets the same thirty."""
    keys = [paper["id"] for paper in papers[:30]]
    return citing(paragraph, lambda number: keys), "".join(entry(paper) for paper in papers[:30])


def rewritten(paragraph, papers):
    """All right but that the text says what suits it."""
    works = {work for each in paragraph["sentences"] for work in each["works"]}
    chosen = [paper for paper in papers if paper["id"] in works]
    text = " ".join(f"{paper['title']} \\cite{{{paper['id']}}}." for paper in chosen)
    return text, "".join(entry(paper) for paper in chosen)


def made_up(paragraph, papers):
    work = {"id": "1503.90000", "title": "All of it", "authors": ["Nobody Else"], "year": 2015}
    return citing(paragraph, lambda number: ["1503.90000"]), entry(work)


def broken_bibliography(paragraph, papers):
    return citing(paragraph, right(paragraph)), "".join(entry(paper) for paper in papers)[:-3]


def confusing(paragraph, papers):
    keys = "\\cite{" * 3_000 + "}" * 3_000
    return paragraph["text"].replace(".", keys + ".", 1), "@a{" * 20_000


def untouched(paragraph, papers):
    return paragraph["text"], ""


CHEATS = [
    everything_entered, everything_cited, cited_everywhere, rewritten, made_up, broken_bibliography, confusing,
    untouched,
]  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
def test_who_cites_without_looking_gets_no_success(mini, scores, tmp_path, cheat):
    verdict = cited(mini, tmp_path / "outputs", cheat)
    assert verdict["score"] < 0.6 * scores["starter"]
    if cheat is rewritten:
        assert verdict["notes"] == ["The text of 24 of 24 paragraphs was changed, not only cited."]
    if cheat is broken_bibliography:
        assert verdict["notes"] == ["24 of 24 bibliographies are not valid BibTeX."]


def test_all_entries_beside_right_citations_cost_more_than_they_bring(mini, scores, tmp_path):
    def padded(paragraph, papers):
        return citing(paragraph, right(paragraph)), "".join(entry(paper) for paper in papers)

    def exact(paragraph, papers):
        works = {work for each in paragraph["sentences"] for work in each["works"]}
        return citing(paragraph, right(paragraph)), "".join(
            entry(each) for each in papers if each["id"] in works
        )

    assert cited(mini, tmp_path / "exact", exact)["score"] == pytest.approx(1.0)
    assert cited(mini, tmp_path / "padded", padded)["score"] < 0.67


def test_what_was_seen_while_working_and_the_answers_of_examples_are_of_no_use(mini, scores, tmp_path):
    seen = {paper["id"]: paper for paper in index(mini / "private", "services")}
    examples = json.loads((mini / "public" / "examples.json").read_text())["paragraphs"]

    def remembered(paragraph, papers):
        works = [each["works"] for example in examples for each in example["sentences"]]
        text = citing(paragraph, lambda number: works[number])
        return text, "".join(
            entry(seen[key]) for each in works[: len(paragraph["sentences"])] for key in each
        )

    def answered(paragraph, papers):
        example = examples[0]
        keys = {work for each in example["sentences"] for work in each["works"]}
        return citing(example, right(example)), "".join(entry(seen[key]) for key in sorted(keys))

    for tool in (remembered, answered):
        assert cited(mini, tmp_path / tool.__name__, tool)["score"] < 0.5 * scores["starter"]


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
if len(sys.argv) == 4:
    known = json.loads(Path("examples.json").read_text())
    for file in found:
        content = json.loads(Path(file).read_text())
        known = content if "paragraphs" in content else known
    given, text, bibliography = map(Path, sys.argv[1:])
    content = given.read_text()
    works = [work for work in known["papers"]][:8]
    text.write_text(content.replace(".", f" \\\\cite{{{','.join(works)}}}.", 1))
    entries = [f"@a{{{work}, title = {{{known['papers'][work]['title']}}}, eprint = {{{work}}}}}" for work in works]
    bibliography.write_text("\\n".join(entries))
"""


def test_a_tool_that_looks_for_answers_on_disk_and_cites_what_it_saw_gets_no_success(tmp_path):
    made = play(
        "bibtex-generation",
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


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("full"), "full")


def test_full_is_about_real_papers_behind_live_services(full):
    live = json.loads((full / "private" / "services" / "live.json").read_text())
    assert live == {"atom": "https://export.arxiv.org", "scholar": "https://api.semanticscholar.org"}
    answers = answers_of(full)
    assert answers["open"] and len(answers["paragraphs"]) == 8
    examples = json.loads((full / "public" / "examples.json").read_text())
    assert not examples["papers"].keys() & answers["papers"].keys()
    for key, paper in answers["papers"].items():
        assert int(key[:2]) == paper["year"] % 100


def test_full_runs_through_the_way_to_live_services(full, tmp_path):
    known = answers_of(full)["papers"]
    papers = [
        {
            "id": key,
            "title": paper["title"],
            "authors": [f"A. {paper['authors'][0]}"],
            "published": f"{paper['year']}-05-01",
            "year": paper["year"],
            "abstract": "A text about it.",
        }
        for key, paper in known.items()
    ]
    place = workspace(TASK, full / "public", tmp_path / "workspace", "solution")
    with services(papers, behind=tmp_path / "kept") as variables:
        assert infer(TASK, place, full / "private", tmp_path / "outputs", variables) == ""
    assert 0.3 < grade(tmp_path / "outputs", full / "private")["score"] < 1.0
