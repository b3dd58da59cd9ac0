"""Objects are kept once, whole, and as long as something refers to them."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlagentbench.errors import RecordError
from mlagentbench.workspace import Store, Workspace, find, objects

LARGE = b"large" * 300_000


def object_files(store: Store) -> list[Path]:
    return sorted((store.folder / "objects").iterdir())


@given(data=st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_put_comes_back(store: Store, data: bytes) -> None:
    name = store.put(data)
    assert name == hashlib.sha256(data).hexdigest()
    assert store.get(name) == data
    assert store.size(name) == len(data)
    with store.open(name) as file:
        assert file.read() == data


@pytest.mark.parametrize("data", [b"", b"small", b"x" * 100_000, LARGE, b"\0" * 3_000_000 + b"end"])
def test_a_file_and_its_bytes_are_the_same_object(store: Store, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with path.open("rb") as file:
        name = store.put_file(file.fileno())
    assert store.put(data) == name
    assert store.get(name) == data


def test_objects_are_read_only_files_once_the_store_is_closed(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        names = [store.put(b"small"), store.put(LARGE), store.put(b"small")]
        store.flush()
    assert [path.name for path in object_files(store)] == sorted(set(names))
    assert {stat.S_IMODE(path.stat().st_mode) for path in object_files(store)} == {0o444}
    assert not list((tmp_path / "store" / "journal").iterdir())


def test_a_sparse_file_stays_sparse(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with path.open("rb") as file:
        name = store.put_file(file.fileno())
    assert store.size(name) == 50_000_000
    assert (store.folder / "objects" / name).stat().st_blocks * 512 < 1_000_000


def test_an_expected_file_is_not_copied_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(LARGE)
    with path.open("rb") as file:
        name = store.put_file(file.fileno())
        monkeypatch.setattr(Store, "_new_file", lambda self: pytest.fail("copied"))
        file.seek(0)
        assert store.put_file(file.fileno(), expected=name) == name


def test_a_wrong_expectation_does_no_harm(store: Store, tmp_path: Path) -> None:
    other = store.put(LARGE[::-1])
    path = tmp_path / "file"
    path.write_bytes(LARGE)
    with path.open("rb") as file:
        assert store.put_file(file.fileno(), expected=other) == hashlib.sha256(LARGE).hexdigest()


def test_a_damaged_object_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        name = store.put(b"content")
    path = store.folder / "objects" / name
    path.chmod(0o600)
    path.write_bytes(b"CONTENT")
    with pytest.raises(RecordError, match=f"{name} is damaged"):
        store.get(name)


def test_a_missing_object_is_named(store: Store) -> None:
    with pytest.raises(RecordError, match=f"{'0' * 64} is missing"):
        store.get("0" * 64)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "\n"])
def test_only_hashes_name_objects(store: Store, name: str) -> None:
    with pytest.raises(RecordError, match="is not the name of an object"):
        store.get(name)


def test_flushed_objects_are_seen_by_others_and_survive_a_kill(tmp_path: Path) -> None:
    def live_and_die() -> None:
        store = Store(tmp_path / "store")
        store.put(b"one")
        store.put(b"two")
        store.flush()
        store.put(b"three")
        store.flush()
        store.put(b"never flushed")
        os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=live_and_die)
    process.start()
    process.join()
    after = Store(tmp_path / "store")
    for data in (b"one", b"two", b"three"):
        assert after.get(hashlib.sha256(data).hexdigest()) == data
    assert not after.has(hashlib.sha256(b"never flushed").hexdigest())


@pytest.mark.parametrize("cut", [1, 3, 39, 43])
def test_a_journal_that_was_cut_off_keeps_what_is_whole(tmp_path: Path, cut: int) -> None:
    writer = Store(tmp_path / "store")
    first, second = writer.put(b"one"), writer.put(b"two")
    writer.flush()
    (journal,) = (tmp_path / "store" / "journal").iterdir()
    os.truncate(journal, journal.stat().st_size - cut)
    reader = Store(tmp_path / "store")
    assert reader.get(first) == b"one"
    with pytest.raises(RecordError, match=f"{second} is missing"):
        reader.get(second)


def test_an_object_that_a_power_failure_emptied_is_written_again(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        name = store.put(b"content")
    path = store.folder / "objects" / name
    path.chmod(0o600)
    path.write_bytes(b"")
    with Store(tmp_path / "store") as again:
        again.put(b"content")
    assert path.read_bytes() == b"content"


def put_many(folder: Path, first: int) -> None:
    with Store(folder) as store:
        for number in range(first, first + 60):
            store.put(b"%d" % number)
            store.put(b"%d" % number * 40_000)
            store.flush()


def test_many_processes_put_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=put_many, args=(tmp_path / "store", 30 * n)) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    store = Store(tmp_path / "store")
    for path in object_files(store):
        store.get(path.name)
    assert len(object_files(store)) == 2 * 150


def test_collecting_keeps_what_is_live_and_removes_the_rest(tmp_path: Path) -> None:
    (tmp_path / "space" / "inner").mkdir(parents=True)
    store = Store(tmp_path / "store")
    space = Workspace(tmp_path / "space", store, {}, max_file=10**9)
    space.write("inner/a", b"first")
    space.write("b", LARGE)
    first = space.snapshot(executed=False).id
    space.write("inner/a", b"second")
    second = space.snapshot(executed=False).id
    single = store.put(b"a message")
    store.close()
    kept = objects(store, second) | {single}
    gone = objects(store, first) - kept
    collected = store.collect([second, single])
    assert {path.name for path in object_files(store)} == kept
    assert collected.objects == len(gone) > 0
    assert collected.bytes > 0
    assert store.collect([second, single]).objects == 0


def test_collecting_takes_over_the_journals_of_killed_runs(tmp_path: Path) -> None:
    killed = Store(tmp_path / "store")
    live, dead = killed.put(b"live"), killed.put(b"dead")
    killed.flush()
    os.close(killed._lock)
    killed._lock = -1
    collector = Store(tmp_path / "store")
    assert collector.collect([live]).objects == 1
    assert collector.get(live) == b"live"
    assert not collector.has(dead)
    assert not list((tmp_path / "store" / "journal").iterdir())


def test_nothing_is_collected_while_a_run_writes(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as run:
        name = run.put(LARGE)
        with pytest.raises(RecordError, match="A run is still writing"):
            Store(tmp_path / "store").collect([])
        assert run.get(name) == LARGE
    assert Store(tmp_path / "store").collect([]).objects == 1


def test_the_live_ones_are_asked_for_when_no_run_can_write(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as run:
        name = run.put(b"x")

    def live():
        other = Store(tmp_path / "store")
        with pytest.raises(RecordError, match="A run is still writing"):
            other.collect([])
        yield name

    assert Store(tmp_path / "store").collect(live()).objects == 0


def test_a_file_with_the_bytes_of_a_tree_does_not_hide_the_tree_from_the_collector(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    store = Store(tmp_path / "store")
    space = Workspace(tmp_path / "space", store, {}, max_file=10**9)
    space.write("inner/a", b"precious")
    inner = find(store, space.snapshot(executed=False).id, "inner")
    assert inner is not None
    space.write("forged", store.get(inner.hash))
    taken = space.snapshot(executed=False).id
    store.close()
    whole = objects(store, taken)
    assert hashlib.sha256(b"precious").hexdigest() in whole
    store.collect([taken, inner.hash])
    assert {path.name for path in object_files(store)} == whole


def test_a_live_file_that_only_begins_like_a_tree_is_kept(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        name = store.put(b'["mlagentbench tree 1",493]\nnot really')
    assert store.collect([name, "0" * 64]).objects == 0
    assert store.has(name)
