from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.errors import PreparationError, UsageError
from mlagentbench.task import worker
from mlagentbench.task.preparation import choose_variant, find_prepared, prepare, verify_prepared
from mlagentbench.task.registry import load_task

PREPARE = (
    "from mlagentbench.task.preparation import prepare\nfrom mlagentbench.task.registry import load_task\n"
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rewrite(task, text: str) -> None:
    (task.folder / "prepare.py").write_text(text)


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir() if not path.name.endswith(".lock"))


def test_data_lie_in_the_cache_and_the_answers_in_private_only(task, cache):
    prepared = prepare(task, "mini")
    assert prepared.folder.is_relative_to(cache / "data")
    assert sorted(contents(prepared.public)) == ["test.csv", "train.csv"]
    assert sorted(contents(prepared.private)) == ["answers.csv"]
    assert stat.S_IMODE(prepared.private.stat().st_mode) == 0o700
    assert stat.S_IMODE(prepared.public.stat().st_mode) == 0o755
    assert prepared.starter == task.folder / "starter"
    assert verify_prepared(prepared) == []


def test_the_same_bytes_come_out_wherever_they_are_made(task, cache, monkeypatch, tmp_path):
    first = prepare(task, "mini", seed=3)
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "other"))
    second = prepare(task, "mini", seed=3)
    assert first.folder != second.folder
    assert contents(first.public) == contents(second.public)
    assert contents(first.private) == contents(second.private)
    assert first.digest == second.digest
    assert prepare(task, "mini", seed=4).digest != first.digest


def test_what_is_ready_is_not_made_again(task):
    assert find_prepared(task, "mini") is None
    first = prepare(task, "mini")
    before = (first.folder / "prepared.json").stat()
    said: list[str] = []
    assert prepare(task, "mini", progress=said.append) == first == find_prepared(task, "mini")
    assert said == []
    assert (first.folder / "prepared.json").stat() == before


def test_a_key_enters_the_data_and_is_kept_in_private(task):
    plain = prepare(task, "mini")
    keyed = prepare(task, "mini", key="hush")
    other = prepare(task, "mini", key="mum")
    assert len({plain.digest, keyed.digest, other.digest}) == 3
    assert (keyed.public / "train.csv").read_bytes() != (other.public / "train.csv").read_bytes()
    assert (keyed.private / "key").read_text() == "hush"
    assert stat.S_IMODE((keyed.private / "key").stat().st_mode) == 0o600
    assert "hush" not in keyed.folder.name
    assert b"hush" not in (keyed.folder / "prepared.json").read_bytes()
    assert find_prepared(task, "mini", key="hush") == keyed


def test_the_seed_that_a_key_gives_cannot_be_tried_out(task):
    rewrite(
        task,
        "def prepare(variant, public, private, seed):\n    (private / 'seed').write_text(str(seed))\n",
    )
    seeds = [int((prepare(task, "mini", seed=n, key="k").private / "seed").read_text()) for n in range(8)]
    assert len(set(seeds)) == 8
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**56
    assert (prepare(task, "mini", seed=5).private / "seed").read_text() == "5"


def test_a_changed_script_makes_the_data_again_and_a_changed_grader_does_not(task):
    first = prepare(task, "mini")
    (task.folder / "grade.py").write_text("# another grader\n")
    assert find_prepared(task, "mini") == first
    script = (task.folder / "prepare.py").read_text()
    rewrite(task, script.replace('"mini": 400', '"mini": 10'))
    assert find_prepared(task, "mini") is None
    said: list[str] = []
    assert prepare(task, "mini", progress=said.append).digest != first.digest
    assert any("again: what they are made from has changed" in line for line in said)


def test_a_changed_file_that_the_script_may_read_makes_the_data_again_and_what_agents_see_does_not(task):
    (task.folder / "columns.txt").write_text("one\n")
    first = prepare(task, "mini")
    (task.folder / "problem.md").write_text("Another text.\n")
    (task.folder / "solution" / "train.py").write_text("# another solution\n")
    assert find_prepared(task, "mini") == first
    (task.folder / "columns.txt").write_text("two\n")
    assert find_prepared(task, "mini") is None
    prepare(task, "mini")
    (task.folder / "words").mkdir()
    (task.folder / "words" / "list.txt").write_text("a\n")
    assert find_prepared(task, "mini") is None


@pytest.mark.parametrize("damage", ["changed", "missing", "added", "a link"])
def test_a_damaged_cache_is_noticed_named_and_mended(task, damage):
    prepared = prepare(task, "mini")
    file = prepared.public / "train.csv"
    original = file.read_bytes()
    if damage == "changed":
        file.write_bytes(original + b"1")
    elif damage == "added":
        (prepared.public / "leak.csv").write_bytes(b"")
    else:
        file.unlink()
        if damage == "a link":
            file.symlink_to(prepared.private / "answers.csv")
    (told,) = verify_prepared(prepared)
    assert ("leak.csv" if damage == "added" else "train.csv") in told
    assert find_prepared(task, "mini") is None
    assert prepare(task, "mini").digest == prepared.digest
    assert contents(prepared.public)["train.csv"] == original
    assert not (prepared.public / "leak.csv").exists()


def test_a_change_that_hides_behind_its_size_and_time_is_found_by_verifying(task):
    prepared = prepare(task, "mini")
    file = prepared.private / "answers.csv"
    before = file.stat()
    file.write_bytes(file.read_bytes()[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert find_prepared(task, "mini") == prepared
    assert verify_prepared(prepared) == ["private/answers.csv has other content"]


def test_a_torn_manifest_counts_as_not_prepared(task):
    prepared = prepare(task, "mini")
    (prepared.folder / "prepared.json").write_text('{"format": 1, "ta')
    assert find_prepared(task, "mini") is None
    assert prepare(task, "mini") == prepared


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("def prepare(variant, public, private, seed):\n    1 / 0\n", "ZeroDivisionError"),
        ("def prepare(variant, public, private, seed):\n    input('Press any key')\n", "EOFError"),
        ("def prepare(variant, public, private, seed):\n    pass\n", "wrote nothing into private"),
        (
            "def prepare(variant, public, private, seed):\n"
            "    (private / 'a').write_text('x')\n    (public / 'a').symlink_to('/etc/passwd')\n",
            "public/a is not a plain file",
        ),
        (
            "from mlagentbench.errors import PreparationError\n"
            "def prepare(variant, public, private, seed):\n    raise PreparationError('no SalePrice')\n",
            "^no SalePrice$",
        ),
    ],
)
def test_a_script_that_fails_leaves_nothing_that_looks_prepared(task, cache, script, told):
    rewrite(task, script)
    with pytest.raises(PreparationError, match=told):
        prepare(task, "mini")
    assert find_prepared(task, "mini") is None
    assert not [path for path in (cache / "data").glob("*/*") if path.is_dir()]


def test_a_failed_remake_keeps_the_data_that_were_there(task):
    prepared = prepare(task, "mini")
    before = contents(prepared.folder)
    rewrite(task, "def prepare(variant, public, private, seed):\n    1 / 0\n")
    with pytest.raises(PreparationError):
        prepare(task, "mini")
    assert contents(prepared.folder) == before


@pytest.mark.parametrize("instant", ["in the script", "before the manifest", "before the rename"])
def test_a_kill_at_any_instant_leaves_no_half_made_data_and_no_litter(task, instant):
    if instant == "in the script":
        script = (task.folder / "prepare.py").read_text()
        kill = "    import os, time; print('half', flush=True); time.sleep(1000)\n"
        rewrite(task, script.replace('    write(public / "test.csv"', kill + '    write(public / "test.csv"'))
        when = "def tell(line):\n    if line == 'half': os.kill(os.getpid(), 9)\n"
    else:
        name = "write_durably" if instant == "before the manifest" else "_move_into_place"
        when = (
            "from mlagentbench.task import preparation\n"
            f"preparation.{name} = lambda *a, **k: os.kill(os.getpid(), 9)\ntell = print\n"
        )
    code = f"import os\n{PREPARE}{when}prepare(load_task({str(task.folder)!r}), 'mini', progress=tell)"
    ended = subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL)
    assert ended.returncode == -signal.SIGKILL
    assert find_prepared(task, "mini") is None
    if instant == "in the script":
        rewrite(task, script)
    prepared = prepare(task, "mini")
    assert verify_prepared(prepared) == []
    assert beside(prepared.folder) == ["mini-s0"]


def test_two_processes_at_once_make_the_data_once(task):
    code = f"{PREPARE}print(prepare(load_task({str(task.folder)!r}), 'mini', progress=print).digest)"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [process.communicate()[0].splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs[0][-1] == outputs[1][-1]
    assert sum(line.startswith("Making the data") for output in outputs for line in output) == 1


def test_copies_of_a_task_do_not_share_data(task, tmp_path):
    prepared = prepare(task, "mini")
    copy = tmp_path / "copy"
    task.folder.rename(copy)
    assert find_prepared(load_task(copy), "mini") is None
    assert prepare(load_task(copy), "mini").digest == prepared.digest


def test_variants_are_chosen_and_wrong_ones_told(task, original):
    assert choose_variant(task) == "mini"
    assert choose_variant(task, "full") == "full"
    assert choose_variant(load_task(original)) == "original"
    with pytest.raises(UsageError, match="no variant 'tiny'; it has mini, full"):
        prepare(task, "tiny")


def test_what_does_not_fit_together_is_told(task, original):
    with pytest.raises(UsageError, match="leave --from out"):
        prepare(task, "mini", source=Path("/somewhere"))
    with pytest.raises(UsageError, match="leave --key out"):
        prepare(load_task(original), key="k")
    with pytest.raises(UsageError, match="empty key"):
        prepare(task, "mini", key="")


def test_the_new_tasks_grader_scores_by_id_and_refuses(task, tmp_path):
    prepared = prepare(task, "mini")
    header, *rows = (prepared.private / "answers.csv").read_text().splitlines()
    submission = tmp_path / "submission.csv"

    def grade(lines: list[str]) -> float:
        submission.write_text("\n".join([header, *lines]))
        arguments = {"submission": submission, "private": prepared.private}
        score: float = worker.call(
            task.folder / "grade.py", "grade", arguments, prepared.interpreter, seconds=30
        )
        return score

    assert grade(rows) == grade(rows[::-1]) == 0.0
    with pytest.raises(worker.SubmissionRefusedError, match="1 of 400 ids are missing"):
        grade(rows[1:])
