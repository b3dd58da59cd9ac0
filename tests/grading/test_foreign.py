"""Task folders of the original benchmark, from the first step to the verdict: their code is foreign, and sandboxed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.acting import executing, listing, play, reading, steps_of, submitting, writing
from support.tasks import original_task

from mlagentbench import run, verify
from mlagentbench.sandbox import choose
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task

STARTER = """
import csv
rows = list(csv.DictReader(open('data.csv')))
with open('submission.csv', 'w') as out:
    print('id,y', file=out)
    for row in rows:
        print(row['id'], 3, sep=',', file=out)
print('trained on', len(rows))
"""
GRADER = """
import csv, os

def get_score(folder):
    truth = {str(i): i * 3 % 7 for i in range(20)}
    with open(os.path.join(folder, 'submission.csv')) as stream:
        rows = {row['id']: float(row['y']) for row in csv.DictReader(stream)}
    return sum(abs(rows[i] - truth[i]) for i in truth) / len(truth)
"""
BETTER = STARTER.replace("print(row['id'], 3, sep", "print(row['id'], row['y'], sep")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))


def test_a_folder_in_the_originals_layout_runs_from_start_to_verdict(
    tmp_path: Path, runs: Path, backend: str
) -> None:
    task = original_task(tmp_path / "old one", starter=STARTER, grader=GRADER)
    made = run(task, "starter", runs=runs, sandbox=backend)
    assert "trained on 20" in steps_of(made)[0].observation.text
    assert made.grade is not None and made.grade.valid and made.grade.score == pytest.approx(1.75, abs=0.5)
    assert made.grade.improvement is None, "its format does not say which way is better"
    assert "not trusted" in made.grade.notes[0]
    assert verify(made.folder).ok


def test_with_the_goal_given_beside_it_there_is_improvement_and_success(tmp_path: Path, runs: Path) -> None:
    task = original_task(
        tmp_path / "old", starter=STARTER, grader=GRADER, additions='[metric]\ngoal = "minimize"\n'
    )
    made = play(task, [writing("train.py", BETTER), executing("train.py"), submitting()], runs)
    assert made.grade is not None and made.grade.score == 0.0
    assert made.grade.improvement == 1.0 and made.grade.success


def test_its_read_only_files_are_read_only_and_its_scripts_are_nowhere_to_be_seen(
    tmp_path: Path, runs: Path, backend: str
) -> None:
    task = original_task(
        tmp_path / "old", starter=STARTER, grader=GRADER, files={"scripts/answers.csv": "secret"}
    )
    look = (
        "import os\nprint(os.listdir('.'))\n"
        f"try:\n    open({str(task / 'scripts' / 'answers.csv')!r})\nexcept OSError: print('not to be read')\n"
        "open('data.csv', 'w')"
    )
    made = play(
        task,
        [
            listing(),
            writing("data.csv", "x"),
            reading("data.csv"),
            writing("look.py", look),
            executing("look.py"),
        ],
        runs,
        sandbox=backend,
    )
    shown, refused, data, _, looked = (step.observation for step in steps_of(made))
    assert "data.csv" in shown.text and "[read-only]" in shown.text and "eval.py" not in shown.text
    assert not refused.ok and data.text.startswith("id,y\n")
    assert not looked.ok and "not to be read" in looked.text and "eval" not in looked.text.split("\n")[0]


def test_a_grader_that_crashes_is_told_with_its_output_and_is_no_score(tmp_path: Path, runs: Path) -> None:
    grader = "print('looking around')\ndef get_score(folder):\n    import no_such_library_anywhere\n"
    made = run(original_task(tmp_path / "old", starter=STARTER, grader=grader), "starter", runs=runs)
    assert made.summary.ended == "submitted"
    assert made.grade is not None and not made.grade.valid and made.grade.score is None
    assert "The task's own grader crashed (exit status 1)" in made.grade.reason
    assert "looking around" in made.grade.reason and "no_such_library_anywhere" in made.grade.reason


def test_a_folder_without_a_grader_is_told_as_that(tmp_path: Path, runs: Path) -> None:
    task = original_task(tmp_path / "old", starter=STARTER, grader=GRADER)
    (task / "scripts" / "eval.py").unlink()
    made = run(task, "starter", runs=runs)
    assert made.grade is not None and not made.grade.valid
    assert "has no scripts/eval.py" in made.grade.reason and "crashed" not in made.grade.reason


def test_a_baseline_can_be_declared_where_the_starter_gives_none(tmp_path: Path, runs: Path) -> None:
    additions = 'baseline = 2.0\n[metric]\ngoal = "minimize"\n'
    task = original_task(tmp_path / "old", starter="...\n", grader=GRADER, additions=additions)
    made = play(task, [writing("train.py", STARTER), executing("train.py"), submitting()], runs)
    assert made.grade is not None and made.grade.baseline is not None and made.grade.baseline.mean == 2.0
    assert made.grade.improvement == pytest.approx(1 - made.grade.score / 2.0)
    assert any("declares" in note for note in made.grade.notes)


@pytest.mark.parametrize("answer", ["'good'", "None", "float('nan')", "float('inf')", "[1.0]"])
def test_a_grader_that_gives_no_number_gives_no_score(tmp_path: Path, runs: Path, answer: str) -> None:
    task = original_task(
        tmp_path / "old", starter=STARTER, grader=f"def get_score(folder):\n    return {answer}\n"
    )
    made = run(task, "starter", runs=runs)
    assert made.grade is not None and not made.grade.valid and made.grade.score is None and made.grade.reason


def test_a_starter_that_crashes_is_told_and_leaves_no_score(tmp_path: Path, runs: Path) -> None:
    task = original_task(tmp_path / "old", starter="print('tried')\nimport old_library\n", grader=GRADER)
    made = run(task, "starter", runs=runs)
    assert "tried" in steps_of(made)[0].observation.text and not steps_of(made)[0].observation.ok
    assert made.grade is not None and not made.grade.valid and made.grade.score is None


def test_the_grader_cannot_look_outside_of_its_sandbox(tmp_path: Path, runs: Path, backend: str) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("do not read")
    grader = (
        "import os, socket\ndef get_score(folder):\n    seen = 0.0\n"
        f"    for path in ({str(canary)!r}, '/etc/shadow', os.path.expanduser('~/.bashrc')):\n"
        "        try:\n            seen += len(open(path).read()) + 1\n        except OSError:\n            pass\n"
        f"    try:\n        open({str(tmp_path / 'written')!r}, 'w')\n"
        "    except OSError:\n        pass\n"
        "    try:\n        socket.create_connection(('1.1.1.1', 80), 1)\n        seen += 10_000\n"
        "    except OSError:\n        pass\n    return seen\n"
    )
    made = run(
        original_task(tmp_path / "old", starter=STARTER, grader=grader), "starter", runs=runs, sandbox=backend
    )
    assert made.grade is not None and made.grade.valid, made.grade
    assert made.grade.score == 0.0 and not (tmp_path / "written").exists()


@pytest.mark.parametrize(
    "name", ["eval.py", "json.py", "csv.py", "os.py", "sitecustomize.py", "encodings.py"]
)
def test_what_the_agent_wrote_does_not_take_the_graders_place(tmp_path: Path, runs: Path, name: str) -> None:
    task = original_task(tmp_path / "old", starter=STARTER, grader=GRADER)
    fake = (
        "import sys\ndef get_score(folder): return 0.0\n"
        "if len(sys.argv) > 3: print('\\n' + sys.argv[-1] + '0.0', flush=True)\n"
        "if len(sys.argv) > 3: __import__('os')._exit(0)\n"
    )
    made = play(task, [executing("train.py"), writing(name, fake), submitting()], runs)
    honest = play(task, [executing("train.py"), submitting()], runs)
    assert made.grade is not None and honest.grade is not None
    assert made.grade.score == honest.grade.score != 0.0


READS_ITS_ANSWERS = """
import csv, os

def rows(path):
    with open(path) as stream:
        return {row['id']: float(row['y']) for row in csv.DictReader(stream)}

def get_score(folder):
    truth = rows(os.path.join(os.path.dirname(__file__), 'answers.csv'))
    given = rows(os.path.join(folder, 'out', 'submission.csv'))
    return sum(abs(given[i] - truth[i]) for i in truth) / len(truth)
"""


@pytest.mark.parametrize(
    "make",
    [
        "os.mkdir('out'); os.symlink(ANSWERS, 'out/submission.csv')",
        "os.symlink(os.path.dirname(ANSWERS), 'out'); os.symlink('out/answers.csv', 'submission.csv')",
        "os.mkdir('out'); os.symlink('hop', 'out/submission.csv'); os.symlink(ANSWERS, 'out/hop')",
        "os.mkdir('out'); os.mkfifo('out/submission.csv')",
    ],
)
def test_a_submission_that_is_a_link_is_not_followed_by_a_foreign_grader(
    tmp_path: Path, runs: Path, backend: str, make: str
) -> None:
    answers = "id,y\n" + "".join(f"{i},{i * 3 % 7}\n" for i in range(20))
    task = original_task(
        tmp_path / "old",
        starter=STARTER,
        grader=READS_ITS_ANSWERS,
        files={"scripts/answers.csv": answers, "scripts/submission.csv": answers},
    )
    private = prepare(load_task(task), sandbox=choose(backend)).private
    there = private if choose(backend).links_read_only() else Path("/task/scripts")
    code = f"import os\nANSWERS = {str(there / 'answers.csv')!r}\n{make}\n"
    made = play(task, [writing("link.py", code), executing("link.py"), submitting()], runs, sandbox=backend)
    assert steps_of(made)[1].observation.ok, steps_of(made)[1].observation.text
    assert made.grade is not None and not made.grade.valid and made.grade.score is None
    assert "plain file" in made.grade.reason


def test_links_beside_a_plain_submission_are_left_out_with_a_note(tmp_path: Path, runs: Path) -> None:
    task = original_task(tmp_path / "old", starter=STARTER, grader=GRADER)
    code = STARTER + "import os; os.symlink('submission.csv', 'latest.csv')\n"
    made = play(task, [writing("train.py", code), executing("train.py"), submitting()], runs)
    assert made.grade is not None and made.grade.valid and made.grade.score == pytest.approx(1.75, abs=0.5)
    assert any("latest.csv" in note for note in made.grade.notes)
