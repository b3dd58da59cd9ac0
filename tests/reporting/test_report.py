"""The report as a person gets it: what it says, what it counts, and that every format says the same."""

from __future__ import annotations

import csv
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.histories import History
from support.runs import graded, write_run
from synthetic import AGENTS, TASKS, write_store

from mlagentbench.cli.main import cli
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.breakdown import by_category
from mlagentbench.evaluation.groups import compare, profiles_of
from mlagentbench.evaluation.overview import overview
from mlagentbench.evaluation.profile import read_profile
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.reporting import page as pages
from mlagentbench.reporting import writing
from mlagentbench.reporting.report import Written, report
from mlagentbench.reporting.wording import gain, rate


class _Page(HTMLParser):
    """The tables, headings and texts of a page, as a browser would read them."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._rows: list[list[str]] = []
        self._inside: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._inside or "script" in self._inside:
            return
        self.text += data
        if "caption" in self._inside[-1:]:
            self.tables[data] = self._rows
        elif self._rows and {"td", "th"} & set(self._inside):
            self._rows[-1][-1] += data


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _markdown_tables(text: str) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for title, body in re.findall(r"^\*\*(.+)\*\*\n\n((?:\|.*\n)+)", text, re.MULTILINE):
        lines = [line.strip("| \n").split(" | ") for line in body.splitlines()]
        found[title] = [lines[0], *lines[2:]]
    return found


def test_the_page_alone_answers_what_a_report_is_opened_for(written: Written) -> None:
    text = _Page(written.page).text
    for question in (
        "Which agent is better?",
        "By how much?",
        "How sure is that?",
        "At what cost?",
        "Why did runs fail?",
    ):
        assert question in text
    assert "research · made-up/large succeeds most often: in" in text
    assert re.search(
        r"research · made-up/large against research · made-up/small, over 2 tasks: success [+-]", text
    )
    assert "intervals of 95 % confidence, from 3 runs of each agent on each task" in text
    assert re.search(r"research · made-up/small: \$[\d.]+, [\d,]+ tokens, [\d.]+ (min|s) a run", text)
    assert "did not succeed" in text
    assert "nobody corrected any by hand" in text


def test_the_answers_are_those_of_compare(store: Path, written: Written) -> None:
    paired = compare(store).paired
    assert paired is not None and paired.success is not None
    text = _Page(written.page).text
    sign = 1 if paired.first.endswith("large") else -1
    assert f"success {100 * sign * paired.success.effect.value:+.1f} pp" in text


def test_conditions_are_stated(written: Written) -> None:
    table = _Page(written.page).tables["What runs were made with"]
    told = {row[0]: row[1] for row in table[1:]}
    assert told["variant"] == "mini"
    assert told["network"] == "off"
    assert told["hardware"].startswith("Linux, x86_64, 8 cores")
    assert told["version of mlagentbench"] == "0.1.0"
    assert told["sandbox"] == "bwrap"
    assert "Nothing was left out" in _Page(written.page).text


def test_numbers_are_the_same_in_every_format(written: Written) -> None:
    page = _Page(written.page).tables
    text = _markdown_tables((written.folder / "report.md").read_text("utf-8"))
    plain = [
        title for title in page if not re.search(r"claim|Settings|Success rate|Average|made with", title)
    ]
    assert "Results by agent" in plain and "What a run takes" in plain and len(plain) >= 8
    for title in plain:
        assert page[title] == text[title], title
    latex = (written.folder / "latex" / "agents.tex").read_text("utf-8")
    rows = [line.removesuffix(r" \\").split(" & ") for line in latex.splitlines() if line.endswith(r" \\")]
    unescaped = [[cell.replace(r"\%", "%").replace(r"$\cdot$", "·") for cell in row] for row in rows]
    assert unescaped == page["Results by agent"]


def test_tables_of_runs_and_steps_have_every_run_and_step(store: Path, written: Written) -> None:
    runs, steps = _rows(written.folder / "runs.csv"), _rows(written.folder / "steps.csv")
    profiles = {run.path.name: read_profile(run) for run in find_runs([store])}
    assert {row["run"] for row in runs} == profiles.keys()
    for row in runs:
        profile = profiles[row["run"]]
        assert row["success"] == str(profile.success).lower()
        assert float(row["improvement"]) == profile.gain
        assert int(row["tokens_in"]) == profile.summary.tokens_in
        mine = [step for step in steps if step["run"] == row["run"]]
        assert len(mine) == profile.summary.steps == int(row["steps"])
        assert sum(int(step["tokens_in"]) for step in mine) == profile.summary.tokens_in
        assert sum(step["ok"] == "false" for step in mine) == profile.summary.failed_steps
        assert sum(bool(step["score"]) for step in mine) == sum(
            point.valid for point in profile.points if point.step
        )


def test_parquet_holds_what_csv_holds(written: Written) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("runs", "steps", "claims"):
        table = parquet.read_table(written.folder / f"{name}.parquet")
        rows = _rows(written.folder / f"{name}.csv")
        assert table.num_rows == len(rows)
        assert table.column_names == list(rows[0])
        assert table.column("run").to_pylist() == [row["run"] for row in rows]
    scores = parquet.read_table(written.folder / "runs.parquet").column("score").to_pylist()
    assert scores == [
        float(row["score"]) if row["score"] else None for row in _rows(written.folder / "runs.csv")
    ]


def test_every_figure_is_there_as_svg_and_png_and_in_the_page(written: Written) -> None:
    names = {file.stem for file in (written.folder / "figures").glob("*.svg")}
    assert names == {file.stem for file in (written.folder / "figures").glob("*.png")}
    assert names >= {
        "success-by-agent", "success-by-category", "success-by-task", "improvement-by-agent", "performance-profile",
        "anytime-steps", "anytime-cost", "cost-against-success", "time-against-success", "tokens-by-agent",
        "time-by-agent", "failure-modes",
    }  # fmt: skip
    page = _Page(written.page)
    assert page.tags.count("figure") == len(names)


def test_the_same_runs_give_the_same_report(store: Path, written: Written) -> None:
    again = report(store, output=store.parent / "again")
    ours = {file.relative_to(written.folder): file.read_bytes() for file in written.files}
    theirs = {file.relative_to(again.folder): file.read_bytes() for file in again.files}
    different = [str(name) for name in ours if ours[name] != theirs.get(name) and name.suffix != ".parquet"]
    assert ours.keys() == theirs.keys()
    assert different == []


def test_the_page_asks_for_nothing_and_forbids_everything_else(written: Written) -> None:
    page = _Page(written.page)
    content = written.page.read_text("utf-8")
    assert "default-src 'none'; style-src 'sha256-" in content
    assert " style=" not in content
    assert not re.search(r"<[^>]*\son\w+=", content)
    for link in page.links:
        assert link.startswith(("#", "data:")) or not re.match(r"\w+:|//|/", link), link
        if not link.startswith(("#", "data:")):
            assert (written.folder / link).exists(), link


def test_categories_are_those_of_the_evaluation(store: Path, written: Written) -> None:
    found = {(each.category, each.who): each.result for each in by_category(profiles_of([store], store)[0])}
    rows = _Page(written.page).tables["Results by category"][1:]
    assert {(row[0], row[1]) for row in rows} == found.keys()
    for category, who, tasks, runs, success, _ in rows:
        result = found[category, who]
        assert (int(tasks), int(runs)) == (result.tasks, result.runs)
        assert success.startswith(f"{100 * result.success.value:.0f} % [")


def _one(runs: Path, name: str, improvement: float | None = 0.2, **asked: object) -> RunFolder:
    history = (
        History()
        .call("Plan")
        .step("Execute Script", "fine", ran=True, snapshot="s")
        .step("Final Answer")
        .end()
    )
    return write_run(
        runs, name, history.events, [graded("snapshot-2", improvement)], model="test/told", **asked
    )


def test_a_damaged_run_stays_in_the_denominator_and_is_named(runs: Path, tmp_path: Path) -> None:
    for seed in range(3):
        _one(runs, f"whole-{seed}", seed=seed)
    broken = _one(runs, "broken", seed=3)
    lines = broken.events_file.read_bytes().splitlines(keepends=True)
    broken.events_file.write_bytes(b"".join([lines[0], *lines[2:]]))
    written = report(runs, output=tmp_path / "report")
    assert written.runs == 4
    page = _Page(written.page)
    assert page.tables["Results by agent"][1][3].startswith("75 %")
    assert (
        "broken (research · test/told, house-price@1): events.jsonl, line 2 was changed from outside"
        in page.text
    )
    assert str(runs) not in written.page.read_text("utf-8")


def test_a_run_of_which_nothing_is_known_is_left_out_by_name(runs: Path, tmp_path: Path) -> None:
    _one(runs, "whole")
    _one(runs, "lost", seed=1).request_file.write_text("{}")
    written = report(runs, output=tmp_path / "report")
    assert written.runs == 1
    assert any(
        sentence.startswith("lost: nobody can tell what it is a run of") for sentence in written.left_out
    )
    text = _Page(written.page).text
    assert "lost: nobody can tell" in text and "Nothing was left out" not in text


def test_runs_that_go_on_or_have_no_grade_count_as_no_success(runs: Path, tmp_path: Path) -> None:
    _one(runs, "good")
    write_run(runs, "going", History().step("List Files").events, seed=1, model="test/told")
    write_run(runs, "ungraded", History().step("List Files").end("stopped").events, seed=2, model="test/told")
    page = _Page(report(runs, output=tmp_path / "report").page)
    assert page.tables["Results by agent"][1][3].startswith("33 %")
    assert "1 run had not ended" in page.text
    assert "1 run ended without a grade" in page.text


def test_hostile_texts_stay_texts_in_every_format(runs: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b[31m\u202e=cmd|' /C calc'!A0 [x](javascript:alert(1)) @everyone \\input{x} $x$"
    history = History().call(evil).step(evil, evil, ok=False).end("error", detail=f"={evil}")
    write_run(
        runs, "one", history.events, [graded("snapshot-1", None, reason=evil)], label="<img src=x onerror=alert(1)>",
        model='"><svg onload=alert(2)>',
    )  # fmt: skip
    _one(runs, "two")
    written = report(runs, output=tmp_path / "report", title=evil)
    content = written.page.read_text("utf-8")
    page = _Page(written.page)
    assert page.tags.count("script") == 1 and "img" not in page.tags
    assert "onload" not in re.sub(r"&[a-z#0-9]+;|\"[^\"]*\"", "", "".join(re.findall(r"<[^>]*>", content)))
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", content)
    assert r"\x1b[31m\x202e" in content
    for row in _rows(written.folder / "runs.csv"):
        assert not any(cell.startswith(("=", "@", "\t")) for cell in row.values())
    markdown = (written.folder / "report.md").read_text("utf-8")
    assert "<script" not in markdown and "<img" not in markdown and "@everyone" not in markdown
    assert not re.search(r"(?<!\\)\]\(javascript", markdown)
    for file in (written.folder / "latex").glob("*.tex"):
        assert r"\input{" not in file.read_text("utf-8")
    for file in (written.folder / "figures").glob("*.svg"):
        assert "<svg onload" not in file.read_text("utf-8")


def test_published_results_stand_apart_under_mini_and_say_so(written: Written) -> None:
    page = _Page(written.page)
    assert "These are not comparable with the results above." in page.text
    table = page.tables["Success rate in %, published (Table 3)"]
    assert table[0] == [
        "task",
        "GPT-4",
        "GPT-4-turbo",
        "Claude v1.0",
        "Claude v2.1",
        "Claude v3 Opus",
        "Gemini Pro",
        "Mixtral",
        "Baseline",
    ]
    assert [row[-1] for row in table[-2:]] == ["10.4", "6.4"]
    assert (
        "the printed average is 10.4, which is their sum divided by 8, as if there were 8 tasks; the mean of the 13 "
        "printed numbers is 6.4" in page.text
    )
    assert len([title for title in page.tables if "first draft" in title]) == 4


def test_published_results_stand_beside_full(tmp_path: Path) -> None:
    write_store(
        tmp_path / "runs", agents=AGENTS[:1], tasks=TASKS[:2], runs=2, steps=4, variant="full", words=5
    )
    page = _Page(report(tmp_path / "runs", output=tmp_path / "report").page)
    table = page.tables["Success rate in %, published (Table 3)"]
    assert table[0][:3] == ["task", "research · made-up/large (here)", "GPT-4"]
    rows = {row[0]: row for row in table}
    assert rows["house-price"][1] != "–" and rows["cifar10"][1] == "–"
    assert "not comparable" not in page.text


def test_variants_are_never_mixed(tmp_path: Path) -> None:
    for variant in ("mini", "full"):
        write_store(
            tmp_path / "runs", agents=AGENTS[:1], tasks=TASKS[:1], runs=2, steps=4, variant=variant, words=5
        )
    written = report(tmp_path / "runs", output=tmp_path / "report")
    page = _Page(written.page)
    assert "In short: the variant full" in page.text and "In short: the variant mini" in page.text
    for variant in ("mini", "full"):
        assert page.tables[f"Results by agent ({variant})"][1][2] == "2"
    assert (written.folder / "figures" / "full-success-by-agent.svg").exists()


def test_of_many_runs_the_page_has_examples_and_further_pages_have_all(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "ON_PAGE", 5)
    monkeypatch.setattr(writing, "A_PAGE", 5)
    monkeypatch.setattr(pages, "ON_PAGE", 5)
    written = report(store, output=tmp_path / "report")
    further = sorted(written.folder.glob("runs-*.html"))
    assert [file.name for file in further] == ["runs-001.html", "runs-002.html", "runs-003.html"]
    index = _Page(written.page)
    assert index.tags.count("article") == 5
    assert "There are 12 runs. Here are 5" in index.text
    assert re.search(
        r"house-price@1 \(mini\) · research · made-up/large \d of 3 runs succeeded, [12] of them here",
        index.text,
    )
    named = "".join(_Page(file).text for file in further)
    for run in find_runs([store]):
        assert named.count(run.path.name) == 1


def test_a_run_is_linked_only_where_it_lies_near(store: Path, written: Written, tmp_path: Path) -> None:
    far = report(store, output=tmp_path / "a" / "b" / "c" / "report")
    linked = [link for link in _Page(written.page).links if link.startswith("../runs/")]
    assert len(linked) == 12
    assert not [link for link in _Page(far.page).links if ".." in link]


def test_what_is_missing_is_told_with_what_to_install(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.ImageDraw", None)
    written = report(store, output=tmp_path / "report")
    assert [line for line in written.missing if "pip install 'mlagentbench[report]'" in line]
    assert not list((written.folder / "figures").glob("*.png"))
    assert list((written.folder / "figures").glob("*.svg"))


def test_a_new_report_takes_the_place_of_the_old_one_and_of_nothing_else(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "report"
    (target / "figures").mkdir(parents=True)
    (target / "notes.txt").write_text("mine")
    (target / "runs-007.html").write_text("old")
    (target / "figures" / "old.svg").write_text("old")
    report(store, output=target)
    assert (target / "notes.txt").read_text() == "mine"
    assert not (target / "runs-007.html").exists() and not (target / "figures" / "old.svg").exists()


def test_a_report_that_cannot_be_made_leaves_the_old_one_as_it_was(store: Path, tmp_path: Path) -> None:
    before = report(store, output=tmp_path / "report")
    content = {file: file.read_bytes() for file in before.files}
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no runs"):
        report(tmp_path / "empty", output=tmp_path / "report")
    assert {file: file.read_bytes() for file in before.files} == content
    assert not [each for each in (tmp_path / "report").iterdir() if each.name.startswith(".")]
    with pytest.raises(UsageError, match="no runs"):
        report(tmp_path / "empty", output=tmp_path / "another")
    assert not (tmp_path / "another").exists()


def test_a_report_never_goes_into_a_run_or_a_file(store: Path, tmp_path: Path) -> None:
    run = find_runs([store])[0]
    with pytest.raises(UsageError, match="run's own folder"):
        report(store, output=run.path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is a file"):
        report(store, output=tmp_path / "file")
    with pytest.raises(UsageError, match="no runs"):
        report(tmp_path, output=tmp_path / "report")


def test_the_command_says_where_what_lies(store: Path, tmp_path: Path) -> None:
    asked = ["report", str(store), "-o", str(tmp_path / "report")]
    told = CliRunner().invoke(cli, asked)
    assert told.exit_code == 0 and str(tmp_path / "report" / "index.html") in told.output
    found = json.loads(CliRunner().invoke(cli, [*asked, "--json"]).stdout)
    assert found["runs"] == 12 and found["left_out"] == []
    assert all(Path(file).exists() for file in found["files"])


_opened: list[str] = []
_listening: list[bool] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _listening and event == "open":
        _opened.append(str(arguments[0]))


def test_each_run_is_read_once_however_many_there_are(store: Path, tmp_path: Path) -> None:
    sys.addaudithook(_hear)
    _listening.append(True)
    try:
        report(store, output=tmp_path / "report")
    finally:
        _listening.clear()
    for run in find_runs([store]):
        assert _opened.count(str(run.evaluation_file)) == 1
        assert _opened.count(str(run.events_file)) == 2  # its last line, against the profile; and its steps
    assert sum(name.endswith("/steps.csv") for name in _opened) <= 2
    _opened.clear()


def test_agents_are_as_the_overview_of_the_evaluation_has_them(store: Path, written: Written) -> None:
    found = {each.who: each for each in overview(profiles_of([store], store)[0])}
    rows = _Page(written.page).tables["Results by agent"][1:]
    assert {row[0] for row in rows} == found.keys()
    for who, tasks, runs, success, decided, over_plain, improvement, middle, *_ in rows:
        each = found[who]
        assert (int(tasks), int(runs)) == (each.tasks, each.runs)
        assert [success, decided, over_plain] == [
            rate(value).text for value in (each.success, each.decided, each.over_plain)
        ]
        assert [improvement, middle] == [gain(each.improvement).text, gain(each.improvement_iqm).text]
