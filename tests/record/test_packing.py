"""Sharing a run as one file, and collecting what no run needs any more."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.acting import execute, executing, play, steps_of, submitting, writing
from support.foreign import foreign_copy
from support.trees import tree

from mlagentbench import Environment, Run, bounds, fork, gc, pack, unpack, verify
from mlagentbench.cli.commands.show import command as show
from mlagentbench.environment.trust import trust_run
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.profile import read_profile
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.workspace import Store, diff, entries, materialise, measure
from mlagentbench.workspace.tree import Node, save


@pytest.fixture
def made(tiny_task: Path, runs: Path) -> Run:
    code = "print('much\\n' * 20_000); open('big.bin', 'wb').write(bytes(range(256)) * 4000)"
    return play(
        tiny_task, [writing("talk.py", code), executing("talk.py"), executing("train.py"), submitting()], runs
    )


@pytest.fixture
def packed(made: Run, tmp_path: Path) -> Path:
    return pack(made.folder, tmp_path / "run.mlab.tar.gz")


def record_of(folder: Path) -> dict[str, bytes]:
    return {path: data for path, data in tree(folder).items() if path not in ("lock", "signature.json")}


def test_a_packed_run_is_the_same_elsewhere(made: Run, packed: Path, tmp_path: Path, tiny_task: Path) -> None:
    there = unpack(packed, tmp_path / "elsewhere")
    assert there.relative_to(tmp_path / "elsewhere") == made.folder.relative_to(tmp_path / "runs")
    assert {path: data.partition(b" ")[2] for path, data in record_of(there).items()} == {
        path: data.partition(b" ")[2] for path, data in record_of(made.folder).items()
    }
    checked = verify(there, task=tiny_task)
    assert checked.ok and checked.origin == "foreign", checked.problems
    for step in steps_of(there):
        trees = []
        for folder in (made.folder, there):
            laid = tmp_path / f"laid-{len(trees)}-{step.index}"
            laid.mkdir()
            materialise(RunFolder.open(folder).store(), step.snapshot, laid)
            trees.append(tree(laid))
        assert trees[0] == trees[1]


def test_a_pack_says_nothing_of_who_made_it(packed: Path) -> None:
    with tarfile.open(packed) as archive:
        assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in archive} == {(0, 0, "", "")}


def test_packing_is_by_default_named_after_the_run(
    made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pack(made.folder) == Path(f"{made.folder.name}.mlab.tar.gz")
    assert (tmp_path / f"{made.folder.name}.mlab.tar.gz").is_file()


def test_a_run_is_not_unpacked_over_itself(packed: Path, runs: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        unpack(packed, runs)


def test_a_run_that_is_still_going_on_can_be_packed_as_far_as_it_is(env: Environment, tmp_path: Path) -> None:
    execute(env, "open('out.txt', 'w').write('x' * 100_000)")
    there = unpack(pack(env.folder.path, tmp_path / "p.tar.gz"), tmp_path / "elsewhere")
    assert len(steps_of(there)) == 2
    assert verify(there).ok


def rewritten(
    packed: Path, change: Callable[[tarfile.TarInfo, bytes], list[tuple[tarfile.TarInfo, bytes]]]
) -> Path:
    target = packed.with_name("hostile.tar.gz")
    with tarfile.open(packed) as source, tarfile.open(target, "w:gz") as archive:
        for entry in source:
            content = source.extractfile(entry)
            assert content is not None
            for info, data in change(entry, content.read()):
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return target


def named(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


HOSTILE = {
    "a path that climbs out": named("../../evil"),
    "an absolute path": named("/tmp/evil"),
    "a path that climbs from inside": named("default/ball/agent/../../../../../evil"),
    "a link": named("default/ball/scripted--no-model/x/outputs/link", tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link": named("default/ball/scripted--no-model/x/outputs/link", tarfile.LNKTYPE, "/etc/passwd"),
    "a device": named("default/ball/scripted--no-model/x/outputs/zero", tarfile.CHRTYPE),
    "a pipe": named("default/ball/scripted--no-model/x/outputs/pipe", tarfile.FIFOTYPE),
    "a folder": named("default", tarfile.DIRTYPE),
    "a file that no run has": named("default/ball/scripted--no-model/x/workspace/train.py"),
    "a lock of the store": named(f"{STORE}/lock"),
    "a journal of the store": named(f"{STORE}/journal/1-x"),
    "an object with another name": named(f"{STORE}/objects/{'0' * 64}"),
    "a store inside of a run": named(f"default/ball/{STORE}/x/run.json"),
    "another run": named("default/ball/scripted--no-model/other/run.json"),
    "a name beyond all measure": named("default/ball/scripted--no-model/x/outputs/" + "x" * 3000),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_pack_is_refused_and_leaves_nothing(packed: Path, tmp_path: Path, what: str) -> None:
    with tarfile.open(packed) as source:
        run_id = next(entry.name.split("/")[3] for entry in source if entry.name.endswith("run.json"))
    entry = HOSTILE[what]
    entry.name = entry.name.replace("/x/", f"/{run_id}/")
    added = [(entry, b"evil" if entry.isreg() else b"")]
    evil = rewritten(
        packed,
        lambda each, data: [*added, (each, data)] if each.name.endswith("run.json") else [(each, data)],
    )
    before = tree(tmp_path)
    with pytest.raises(RecordError):
        unpack(evil, tmp_path / "elsewhere")
    after = {path: data for path, data in tree(tmp_path).items() if not path.startswith(f"elsewhere/{STORE}")}
    assert after.keys() - before.keys() <= {"elsewhere"}
    assert not list(tmp_path.rglob("evil")) and not Path("/tmp/evil").exists()
    assert not list((tmp_path / "elsewhere" / STORE).glob("unpacking-*"))


def test_a_pack_without_one_of_its_objects_is_refused(packed: Path, tmp_path: Path) -> None:
    dropped: list[str] = []

    def drop_first(entry: tarfile.TarInfo, data: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
        if not dropped and "objects" in entry.name:
            dropped.append(entry.name)
            return []
        return [(entry, data)]

    with pytest.raises(RecordError, match="missing"):
        unpack(rewritten(packed, drop_first), tmp_path / "elsewhere")


@pytest.mark.parametrize("part", ["run.json", "events.jsonl", "outputs/", "objects/"])
def test_a_pack_with_a_changed_byte_is_refused(packed: Path, tmp_path: Path, part: str) -> None:
    """But for whole outputs, which no hash covers."""

    def flip(entry: tarfile.TarInfo, data: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
        return [(entry, bytes([data[0] ^ 1]) + data[1:] if part in entry.name and data else data)]

    flipped = rewritten(packed, flip)
    if part == "outputs/":
        unpack(flipped, tmp_path / "elsewhere")
    else:
        with pytest.raises(RecordError):
            unpack(flipped, tmp_path / "elsewhere")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1), flip=st.integers(0, 255))
def test_any_bytes_are_a_pack_or_refused_in_words(
    packed: Path, tmp_path: Path, cut: float, flip: int
) -> None:
    data = bytearray(packed.read_bytes())
    place = int(cut * (len(data) - 1))
    if flip:
        data[place] ^= flip
    else:
        del data[place:]
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(data)
    before = {path.name for path in (tmp_path / "e").iterdir()} if (tmp_path / "e").exists() else set()
    try:
        unpack(damaged, tmp_path / "e")
    except (RecordError, UsageError) as error:
        assert str(error)
        after = {path.name for path in (tmp_path / "e").iterdir()} if (tmp_path / "e").exists() else set()
        assert after <= before | {STORE}


@pytest.mark.parametrize(
    "content",
    [b"", b"not a pack", gzip.compress(b"", mtime=0), gzip.compress(b"x" * 5000, mtime=0)],
    ids=["empty", "text", "an empty archive", "no archive"],
)
def test_a_file_that_is_no_pack_is_told_as_that(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(RecordError, match=r"x\.tar\.gz"):
        unpack(tmp_path / "x.tar.gz", tmp_path / "elsewhere")
    with pytest.raises(RecordError, match=r"missing\.tar\.gz"):
        unpack(tmp_path / "missing.tar.gz", tmp_path / "elsewhere")


class TestCollecting:
    def test_keeps_what_runs_need_and_removes_what_a_deleted_run_left(
        self, tiny_task: Path, runs: Path
    ) -> None:
        kept = play(tiny_task, [executing("train.py"), submitting()], runs)
        gone = play(tiny_task, [writing("only-here.txt", "x" * 70_000), submitting()], runs)
        nothing = gc(runs)
        assert (nothing.objects, nothing.bytes) == (0, 0)
        for path in sorted(gone.folder.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        gone.folder.rmdir()
        collected = gc(runs)
        assert collected.objects >= 2 and collected.bytes >= 70_000
        assert verify(kept.folder).ok

    def test_keeps_what_a_killed_run_needs_to_go_on(self, env: Environment, runs: Path) -> None:
        execute(env, "open('out.txt', 'w').write('y' * 1000)")
        folder = env.folder.path
        env.suspend()
        gc(runs)
        assert verify(folder).ok

    def test_waits_for_no_run_but_says_that_one_is_going_on(self, env: Environment, runs: Path) -> None:
        with pytest.raises(RecordError, match="still writing"):
            gc(runs)

    def test_stops_at_a_record_that_cannot_be_read(self, made: Run, runs: Path) -> None:
        events = made.folder / "events.jsonl"
        events.write_bytes(events.read_bytes().replace(b"step", b"stop", 1))
        before = tree(runs / STORE)
        with pytest.raises(RecordError):
            gc(runs)
        assert tree(runs / STORE) == before

    def test_of_a_folder_without_runs_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="not a folder of runs"):
            gc(tmp_path)


def nested(store: Store, depth: int, width: int) -> str:
    """A snapshot of equal folders in equal folders: `depth` small objects, and `width` to the power of that files."""
    name = save(store, Node("folder", 0o755, children={"x": Node("file", 0o644, 1, store.put(b"x"))}))
    for _ in range(depth):
        name = save(
            store,
            Node("folder", 0o755, children={f"d{each}": Node("folder", hash=name) for each in range(width)}),
        )
    return name


class TestBounds:
    """Scaled down, so that the tests stay small."""

    def test_a_pack_that_unpacks_to_too_much_is_refused_without_being_held_in_memory(
        self, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zeros = bytes(64 * 2**20)
        bomb = (named(f"{STORE}/objects/{hashlib.sha256(zeros).hexdigest()}"), zeros)
        evil = rewritten(
            packed, lambda each, data: [bomb, (each, data)] if "run.json" in each.name else [(each, data)]
        )
        assert evil.stat().st_size < 2**20
        monkeypatch.setenv("MLAGENTBENCH_BOUNDS", str(32 * 2**20 / bounds.PACK.most))
        tracemalloc.start()
        with pytest.raises(RecordError, match="MLAGENTBENCH_BOUNDS"):
            unpack(evil, tmp_path / "elsewhere")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 * 2**20
        assert not (tmp_path / "elsewhere").exists()

    def test_a_header_that_is_larger_than_any_is_refused_before_it_is_read(
        self, packed: Path, tmp_path: Path
    ) -> None:
        evil = tmp_path / "header.tar.gz"
        entry = tarfile.TarInfo("x")
        entry.pax_headers = {"comment": "x" * 40 * 2**20}
        with tarfile.open(evil, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(entry)
        tracemalloc.start()
        with pytest.raises(RecordError, match="header"):
            unpack(evil, tmp_path / "elsewhere")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 * 2**20 and not (tmp_path / "elsewhere").exists()

    def test_a_refused_pack_leaves_nothing_in_a_store_that_is_there(
        self, packed: Path, tmp_path: Path
    ) -> None:
        unpack(packed, tmp_path / "elsewhere")
        before = tree(tmp_path / "elsewhere")
        extra = (named(f"{STORE}/objects/{hashlib.sha256(b'new').hexdigest()}"), b"new")
        wrong = (named(f"{STORE}/objects/{'0' * 64}"), b"wrong")
        evil = rewritten(
            packed,
            lambda each, data: [extra, wrong, (each, data)] if "run.json" in each.name else [(each, data)],
        )
        with pytest.raises(RecordError, match="not what its name says"):
            unpack(evil, tmp_path / "elsewhere")
        with pytest.raises(UsageError, match="exists already"):
            unpack(packed, tmp_path / "elsewhere")
        assert tree(tmp_path / "elsewhere") == before

    def test_more_files_than_a_pack_may_hold_are_refused(
        self, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLAGENTBENCH_BOUNDS", "0.00001")
        with tarfile.open(packed) as source:
            place = next(entry.name.rpartition("/")[0] for entry in source if entry.name.endswith("run.json"))
        many = [(named(f"{place}/outputs/{number}"), b"") for number in range(200)]
        evil = rewritten(
            packed, lambda each, data: [(each, data), *many] if "run.json" in each.name else [(each, data)]
        )
        with pytest.raises(RecordError, match="number of files"):
            unpack(evil, tmp_path / "elsewhere")

    def test_equal_folders_in_equal_folders_are_refused_wherever_they_would_be_gone_through(
        self, made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLAGENTBENCH_BOUNDS", "0.001")
        with RunFolder.open(made.folder).store() as store:
            wide, plain = nested(store, 30, 3), nested(store, 1, 1)
            assert measure(store, plain, {})[0] == 2
            for go in (
                lambda: measure(store, wide, {}),
                lambda: materialise(store, wide, tmp_path / "laid"),
                lambda: list(entries(store, wide)),
                lambda: diff(store, plain, wide),
            ):
                with pytest.raises(RecordError, match="number of files and folders"):
                    go()
            with pytest.raises(RecordError, match="nested deeper"):
                measure(store, nested(store, 150, 1), {})

    def test_a_pack_with_such_a_snapshot_is_refused(self, made: Run, tmp_path: Path) -> None:
        folder = RunFolder.open(made.folder)
        with folder.store() as store:
            wide = nested(store, 30, 3)
        evil = foreign_copy(
            made.folder,
            tmp_path / "evil",
            events=lambda events: [
                event.model_copy(update={"snapshot": wide}) if event.type == "run_ended" else event
                for event in events
            ],
        )
        packed = pack(evil, tmp_path / "evil.tar.gz")
        with pytest.raises(RecordError, match="number of files and folders"):
            unpack(packed, tmp_path / "elsewhere")
        assert not (tmp_path / "elsewhere").exists()

    def test_a_file_that_is_larger_than_its_snapshot_says_is_not_laid(
        self, made: Run, tmp_path: Path
    ) -> None:
        with RunFolder.open(made.folder).store() as store:
            lie = Node("file", 0o644, 1, store.put(bytes(5 * 2**20)))
            name = save(store, Node("folder", 0o755, children={"x": lie}))
            with pytest.raises(RecordError, match="not the size"):
                materialise(store, name, tmp_path / "laid")

    def test_a_line_of_a_record_that_is_too_long_is_refused_and_says_how_to_read_it(
        self, tiny_task: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done = play(tiny_task, [writing("long.txt", "x" * 100_000), submitting()], runs)
        folder = RunFolder.open(done.folder)
        monkeypatch.setenv("MLAGENTBENCH_BOUNDS", "0.0001")
        assert folder.request().agent == "scripted"
        checked = verify(done.folder)
        assert not checked.ok and "line 2" in checked.problems[0]
        assert "MLAGENTBENCH_BOUNDS" in checked.problems[0]
        monkeypatch.delenv("MLAGENTBENCH_BOUNDS")
        assert verify(done.folder, regrade=False).ok

    def test_a_bound_that_is_no_number_is_told_as_that(
        self, made: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MLAGENTBENCH_BOUNDS", "much")
        with pytest.raises(UsageError, match="MLAGENTBENCH_BOUNDS"):
            verify(made.folder)


class TestWhatARecordNames:
    @pytest.mark.parametrize(
        "name", ["../../../secret.txt", "/etc/hostname", "..", "link", "outputs/x", "pipe"]
    )
    def test_as_an_output_is_a_plain_file_beside_it_or_refused(
        self, made: Run, tmp_path: Path, name: str
    ) -> None:
        def elsewhere(events):
            return [
                event.model_copy(
                    update={"observation": event.observation.model_copy(update={"output": name})}
                )
                if event.type == "step"
                else event
                for event in events
            ]

        copy = RunFolder.open(foreign_copy(made.folder, tmp_path / "evil", events=elsewhere))
        (tmp_path / "secret.txt").write_text("the secret")
        (copy.path / "secret.txt").write_text("the secret")
        (copy.outputs / "link").symlink_to(tmp_path / "secret.txt")
        os.mkfifo(copy.outputs / "pipe")
        shown = CliRunner().invoke(show, [str(copy.path), "1"])
        assert shown.exit_code != 0 and "the secret" not in shown.output
        assert isinstance(shown.exception, RecordError)
        assert not verify(copy.path, regrade=False).ok
        with pytest.raises(RecordError):
            trust_run(copy)
            fork(copy.path, 1)

    @pytest.mark.parametrize("part", ["run.json", "events.jsonl", "grades.json"])
    def test_as_its_own_parts_is_not_read_through_a_link(self, made: Run, tmp_path: Path, part: str) -> None:
        copy = RunFolder.open(foreign_copy(made.folder, tmp_path / "evil"))
        (copy.path / part).rename(tmp_path / "moved")
        (copy.path / part).symlink_to(tmp_path / "moved")
        with pytest.raises(RecordError, match="link"):
            read_profile(copy)


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o1777, 0o6777])
def test_what_is_checked_out_never_runs_as_somebody_else(made: Run, tmp_path: Path, mode: int) -> None:
    with RunFolder.open(made.folder).store() as store:
        file = Node("file", mode, 1, store.put(b"x"))
        inner = save(store, Node("folder", mode, children={"x": file}))
        name = save(store, Node("folder", mode, children={"x": file, "d": Node("folder", hash=inner)}))
        materialise(store, name, tmp_path / "laid")
    for path in (
        tmp_path / "laid",
        tmp_path / "laid" / "x",
        tmp_path / "laid" / "d",
        tmp_path / "laid" / "d" / "x",
    ):
        assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777
