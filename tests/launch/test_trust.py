"""A run that was not made here decides nothing about this machine, and what was made here cannot be changed unseen."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.acting import executing, play, submitting, writing
from support.foreign import foreign_copy
from support.program_task import LEARNED, WELL, program_task
from support.trees import tree

import mlagentbench
from mlagentbench import Run, apply, fork, grade, pack, resume, unpack, verify
from mlagentbench.environment.trust import ForeignRunError, local_request, taken_over, trust_run
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.groups import compare
from mlagentbench.evaluation.profile import read_profile
from mlagentbench.evaluation.stepwise import grade_steps
from mlagentbench.folders import signing_key_file
from mlagentbench.launch.finding import find_lines
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import grades_reached_here, read_grades
from mlagentbench.record.summary import read_summary
from mlagentbench.sandbox import choose


@pytest.fixture
def made(tiny_task: Path, runs: Path) -> Run:
    return play(tiny_task, [executing("train.py"), submitting()], runs)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


def with_(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.update(values)


def improved(kept: dict[str, Any], **values: Any) -> None:
    for verdict in kept["grades"].values():
        verdict.update(values)


class TestTheKey:
    def test_is_made_once_and_is_readable_by_its_user_alone(self, made: Run) -> None:
        key = signing_key_file()
        assert stat.S_IMODE(key.stat().st_mode) == 0o600 and key.stat().st_size == 32
        assert not key.is_relative_to(made.folder.parents[3])

    def test_is_in_no_pack_and_neither_is_a_signature(self, made: Run, tmp_path: Path) -> None:
        import tarfile

        with tarfile.open(pack(made.folder, tmp_path / "p.tar.gz")) as archive:
            for entry in archive:
                content = archive.extractfile(entry)
                assert content is not None and signing_key_file().read_bytes() not in content.read()
                assert "signature.json" not in entry.name

    def test_another_installation_knows_none_of_our_runs(
        self, made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert RunFolder.open(made.folder).origin == "made"
        monkeypatch.setenv("MLAGENTBENCH_SIGNING_KEY", str(tmp_path / "another.key"))
        assert RunFolder.open(made.folder).origin == "foreign"

    def test_that_is_no_key_is_refused_with_what_to_do(
        self, tiny_task: Path, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "short.key").write_bytes(b"short")
        monkeypatch.setenv("MLAGENTBENCH_SIGNING_KEY", str(tmp_path / "short.key"))
        with pytest.raises(UsageError, match="Remove it"):
            play(tiny_task, [submitting()], runs)

    @pytest.mark.skipif(os.getuid() != 0, reason="what nobody can write, root can")
    def test_that_cannot_be_kept_is_told_before_a_run_starts(
        self, tiny_task: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLAGENTBENCH_SIGNING_KEY", "/proc/signing.key")
        with pytest.raises(UsageError, match="MLAGENTBENCH_SIGNING_KEY"):
            play(tiny_task, [submitting()], runs)

    def test_is_not_seen_by_what_an_agent_wrote(self, tiny_task: Path, runs: Path) -> None:
        key = signing_key_file()
        look = f"import os\ntry: print(os.path.getsize({str(key)!r}) and 'seen')\nexcept OSError: print('hidden')"
        done = play(tiny_task, [writing("look.py", look), executing("look.py"), submitting()], runs)
        events = RunFolder.open(done.folder).history().events
        said = [event.observation.text for event in events if event.type == "step"]
        assert "seen" not in said[1] and said[1].startswith(("hidden", "0"))


class TestAForeignRun:
    def test_has_this_machines_settings_and_not_its_own(
        self, made: Run, elsewhere: Path, tiny_task: Path
    ) -> None:
        copy = RunFolder.open(
            foreign_copy(
                made.folder,
                elsewhere,
                request=with_(
                    sandbox="none",
                    network=True,
                    python="/evil/python",
                    base_url="http://evil",
                    model="openai/x",
                ),
            )
        )
        assert copy.origin == "foreign"
        asked = local_request(copy, tiny_task)
        assert (asked.sandbox, asked.network, asked.python) == ("auto", False, "")
        assert (asked.base_url, asked.model, asked.model_options) == ("", "", {})
        assert asked.limits == local_request(RunFolder.open(made.folder)).limits

    def test_is_verified_and_graded_in_this_machines_sandbox_whatever_it_says(
        self, tmp_path: Path, runs: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its program tells whether it sees the host's files."""
        monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))
        task = program_task(tmp_path / "guess")
        mark = tmp_path / "reached-the-host"
        reach = f"try: open({str(mark)!r}, 'w').close()\nexcept OSError: pass\n"
        model = reach + LEARNED
        actions = [writing("model.py", model), writing("train.py", WELL), executing("train.py"), submitting()]
        done = play(task, actions, runs, sandbox=choose("auto").name)
        assert not mark.exists()
        copy = foreign_copy(done.folder, elsewhere, request=with_(sandbox="none"))
        checked = verify(copy, task=task)
        assert checked.ok, checked.problems
        assert checked.origin == "foreign" and "the same verdict" in " ".join(checked.grade.checked)
        assert grade(copy, task=task).valid
        (told,) = grade_steps([copy], task=task)
        assert told.problems == []
        assert not mark.exists()

    def test_does_not_name_the_folder_whose_code_grades_it(self, made: Run, elsewhere: Path) -> None:
        copy = foreign_copy(made.folder, elsewhere)
        checked = verify(copy)
        assert checked.ok and "--task" in " ".join(checked.grade.checked)
        with pytest.raises(ForeignRunError, match="--task"):
            grade(copy)
        (told,) = grade_steps([copy])
        assert "--task" in told.problems[0]

    @pytest.mark.parametrize("name", ["/tmp/evil@1", "./evil@1", "~/evil@1", "nowhere@1", ""])
    def test_does_not_reach_a_folder_by_the_name_of_its_task_either(
        self, made: Run, elsewhere: Path, name: str
    ) -> None:
        copy = foreign_copy(made.folder, elsewhere, request=with_(task=name, task_folder=""))
        with pytest.raises(ForeignRunError, match="installed"):
            grade(copy)
        assert read_profile(RunFolder.open(copy)).subject.category == ""

    def test_is_of_the_task_that_is_named_or_refused(
        self, made: Run, elsewhere: Path, tiny_task: Path
    ) -> None:
        copy = foreign_copy(made.folder, elsewhere, request=with_(task="other@1"))
        with pytest.raises(UsageError, match="other@1"):
            grade(copy, task=tiny_task)

    @pytest.mark.parametrize("what", ["resume", "fork"])
    def test_is_neither_resumed_nor_forked_unless_trusted_and_says_what_it_would_decide(
        self, made: Run, elsewhere: Path, what: str
    ) -> None:
        copy = foreign_copy(
            made.folder,
            elsewhere,
            request=with_(
                agent="evil:Agent",
                sandbox="none",
                network=True,
                model="openai/gpt",
                base_url="http://evil.example/v1",
                settings={"command": "curl evil", "mounts": ["/root"]},
            ),
        )
        before = tree(elsewhere)
        with pytest.raises(ForeignRunError) as refused:
            resume(copy) if what == "resume" else fork(copy, 1)
        for said in (
            "none",
            "network",
            "http://evil.example/v1",
            "curl evil",
            "/root",
            "evil:Agent",
            "--trust",
        ):
            assert said in str(refused.value)
        assert tree(elsewhere) == before

    def test_goes_on_once_it_is_trusted_and_counts_like_our_own(self, made: Run, elsewhere: Path) -> None:
        copy = foreign_copy(made.folder, elsewhere, events=lambda events: events[:2])
        (copy / "grades.json").unlink()
        done = resume(copy, trust=True)
        assert done.summary.ended == "submitted" and done.grade is not None
        assert RunFolder.open(copy).origin == "trusted"
        assert verify(copy).ok
        assert fork(copy, 1).grade is not None

    def test_is_not_applied_to_the_folder_that_it_names(
        self, tmp_path: Path, runs: Path, elsewhere: Path
    ) -> None:
        project, victim = tmp_path / "project", tmp_path / "victim"
        for folder in (project, victim):
            folder.mkdir()
            (folder / "train.py").write_text("print('as it was')\n")
        file = tmp_path / "actions.jsonl"
        actions = [writing("train.py", "evil()\n"), submitting()]
        file.write_text("".join(json.dumps({"name": a.name, "args": a.args}) + "\n" for a in actions))
        done = mlagentbench.assist(project, "Better.", "scripted", settings={"file": file}, runs=runs)
        copy = foreign_copy(
            done.folder, elsewhere, request=lambda asked: asked["own"].update(folder=str(victim), asks=False)
        )
        with pytest.raises(ForeignRunError, match=str(victim)):
            apply(copy)
        assert (victim / "train.py").read_text() == "print('as it was')\n"
        assert apply(copy, trust=True).changed == ("train.py",)

    def test_is_not_counted_by_an_experiment_nor_made_anew_in_silence(
        self, made: Run, elsewhere: Path, tmp_path: Path
    ) -> None:
        from mlagentbench.launch.finding import _refuse_foreign

        copy = foreign_copy(made.folder, elsewhere)
        with pytest.raises(ForeignRunError, match="mlagentbench trust"):
            _refuse_foreign([RunFolder.open(copy)])
        trust_run(RunFolder.open(copy))
        _refuse_foreign([RunFolder.open(copy)])
        assert find_lines(elsewhere, [])[0] == []

    def test_gives_no_verdict_to_other_runs(self, made: Run, tiny_task: Path, runs: Path) -> None:
        """A forged verdict on the content that every run of this task begins with."""
        victim = play(tiny_task, [executing("train.py"), submitting()], runs, experiment="victim")
        (victim.folder / "grades.json").unlink()
        forged = foreign_copy(
            made.folder,
            runs.parent / "aside",
            grades=lambda kept: improved(kept, score=0.0, improvement=0.99, success=True),
        )
        place = runs / "forged" / forged.parents[1].name / forged.parent.name / forged.name
        shutil.copytree(forged, place)
        (told,) = grade_steps([victim.folder])
        assert told.problems == []
        verdicts = read_grades(RunFolder.open(victim.folder)).values()
        assert all(verdict.score != 0.0 and not verdict.success for verdict in verdicts)

    def test_that_was_trusted_gives_its_verdicts_to_no_other_run(self, made: Run, elsewhere: Path) -> None:
        copy = RunFolder.open(
            foreign_copy(made.folder, elsewhere, grades=lambda kept: improved(kept, score=0.0))
        )
        trust_run(copy)
        assert read_grades(copy) and not grades_reached_here(copy)

    def test_is_read_without_anything_being_believed_or_run(self, made: Run, elsewhere: Path) -> None:
        copy = RunFolder.open(foreign_copy(made.folder, elsewhere))
        for name in ("summary.json", "evaluation.json"):
            forged = json.loads((made.folder / "summary.json").read_bytes()) | {"steps": 999}
            (copy.path / name).write_text(json.dumps(forged))
        assert read_summary(copy).steps == 2
        assert read_profile(copy).summary.steps == 2
        assert compare(elsewhere).groups


class TestVerifying:
    def test_tells_integrity_origin_and_grade_apart(self, made: Run) -> None:
        checked = verify(made.folder)
        assert checked.origin == "made" and checked.ok
        assert "unbroken chain" in checked.integrity.checked[0]
        said = checked.grade.checked[0]
        assert "score" in said and "baseline" in said and "improvement" in said

    def test_finds_a_forged_baseline_with_the_improvement_that_follows_from_it(
        self, made: Run, elsewhere: Path, tiny_task: Path
    ) -> None:
        def forge(kept: dict[str, Any]) -> None:
            from mlagentbench.grading import Baseline, Grade
            from mlagentbench.grading.scoring import judge
            from mlagentbench.task.registry import load_task

            for name, verdict in kept["grades"].items():
                read = Grade.model_validate(verdict)
                worse = Baseline(mean=read.baseline.mean * 100, spread=0.0, runs=3)
                if load_task(tiny_task).definition.metric.goal == "maximize":
                    worse = Baseline(mean=read.baseline.mean / 100, spread=0.0, runs=3)
                judged = judge(read, load_task(tiny_task).definition.metric, worse)
                assert judged.success
                kept["grades"][name] = judged.model_dump(mode="json")

        copy = foreign_copy(made.folder, elsewhere, grades=forge)
        checked = verify(copy, task=tiny_task)
        assert not checked.ok
        assert "recorded as the baseline" in " ".join(checked.grade.problems)

    def test_finds_a_record_that_was_cut_with_everything_derived_from_it_removed(self, made: Run) -> None:
        events = made.folder / "events.jsonl"
        events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:-1]))
        for name in ("summary.json", "grades.json", "evaluation.json"):
            (made.folder / name).unlink(missing_ok=True)
        checked = verify(made.folder)
        assert not checked.ok and "was cut" in checked.problems[0]
        with pytest.raises(RecordError, match="was cut"):
            resume(made.folder)
        with pytest.raises(RecordError, match="was cut"):
            read_profile(RunFolder.open(made.folder))

    def test_a_signature_that_was_edited_is_none(self, made: Run) -> None:
        file = made.folder / "signature.json"
        content = json.loads(file.read_bytes())
        for change in ({"end": None}, {"signed_as": "trusted"}, {"signature": "0" * 64}, {"time": 1.0}):
            file.write_text(json.dumps(content | change))
            assert RunFolder.open(made.folder).origin == "foreign"

    def test_finds_a_verdict_that_was_changed_in_a_run_of_our_own(self, made: Run) -> None:
        file = made.folder / "grades.json"
        kept = json.loads(file.read_bytes())
        improved(kept, success=True)
        file.write_text(json.dumps(kept))
        folder = RunFolder.open(made.folder)
        assert "grades.json was changed" in " ".join(verify(folder.path).problems)
        for read in (read_summary, read_profile, read_grades):
            with pytest.raises(RecordError, match=r"grades\.json was changed"):
                read(folder)
        grade(folder.path)
        assert not read_summary(folder).grade.success and verify(folder.path).ok

    @pytest.mark.parametrize("name", ["summary.json", "evaluation.json"])
    def test_does_not_believe_what_was_derived_and_then_changed(self, made: Run, name: str) -> None:
        folder = RunFolder.open(made.folder)
        read_profile(folder)
        file = made.folder / name
        file.write_bytes(
            file.read_bytes().replace(b'"steps":2', b'"steps":7').replace(b'"steps": 2', b'"steps": 7')
        )
        assert b"7" in file.read_bytes()
        checked = verify(folder.path)
        assert not checked.ok and name in checked.problems[0]
        assert read_summary(folder).steps == 2 and read_profile(folder).summary.steps == 2
        assert verify(folder.path).ok


def test_a_run_that_is_unpacked_is_foreign_where_it_was_made_too(made: Run, tmp_path: Path) -> None:
    copy = unpack(pack(made.folder, tmp_path / "p.tar.gz"), tmp_path / "elsewhere")
    assert RunFolder.open(copy).origin == "foreign"


def test_what_a_run_decides_is_told_in_plain_characters(made: Run, elsewhere: Path) -> None:
    copy = foreign_copy(made.folder, elsewhere, request=with_(base_url="http://\x1b[2Jevil"))
    assert all(line.isprintable() for line in taken_over(RunFolder.open(copy).request()))
