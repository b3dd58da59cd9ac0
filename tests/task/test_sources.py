"""Kaggle's own client against a small server on loopback that answers as Kaggle does, with a redirect."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from support.origins import zip_of

from mlagentbench.errors import PreparationError, UsageError
from mlagentbench.task.definition import KaggleSource, Records
from mlagentbench.task.preparation import find_prepared, prepare, remake
from mlagentbench.task.registry import load_task

TRAIN = b"id,y\n" + b"".join(b"%d,%d\n" % (row, row * row) for row in range(20_000))
SOURCE = KaggleSource(
    kind="kaggle-competition",
    name="tiny-rocks",
    files=("train.csv",),
    page="https://kaggle.test/c/tiny-rocks",
)


@pytest.fixture
def kaggle(origins):
    origins.kaggle["tiny-rocks"] = {"train.csv": TRAIN}
    return origins


def archive(file: Path, members: dict[str, bytes]) -> Path:
    file.write_bytes(zip_of(members))
    return file


def one_sentence(error: pytest.ExceptionInfo[PreparationError]) -> str:
    message = str(error.value)
    assert "\n" not in message and message.endswith(".")
    return message


def test_the_file_is_fetched_with_progress_and_kept(kaggle, fetch, cache):
    said: list[str] = []
    folder = fetch(SOURCE, progress=said.append)
    assert (folder / "train.csv").read_bytes() == TRAIN
    assert (folder / "train.csv").resolve().is_relative_to(cache / "downloads")
    assert any("100%" in line for line in said)
    assert kaggle.asked == [
        "http://localhost/api/v1/competitions.CompetitionApiService/DownloadDataFile tiny-rocks train.csv"
    ]
    kaggle.status = 500
    assert (fetch(SOURCE) / "train.csv").read_bytes() == TRAIN
    assert len(kaggle.asked) == 1


def test_a_kept_file_that_changed_on_disk_is_fetched_again(kaggle, fetch):
    folder = fetch(SOURCE)
    (folder / "train.csv").write_bytes(b"id,y\n1,rubbish\n")
    said: list[str] = []
    assert (fetch(SOURCE, progress=said.append) / "train.csv").read_bytes() == TRAIN
    assert any("has changed on disk" in line for line in said)


def test_a_cut_download_is_told_and_goes_on_where_it_stopped(kaggle, fetch):
    large = b"id,y\n" + bytes(range(48, 58)) * 300_000
    kaggle.kaggle["tiny-rocks"]["train.csv"] = large
    kaggle.cut_after = 2_500_000
    with pytest.raises(PreparationError, match=r"was cut .* run the same command again") as error:
        fetch(SOURCE)
    one_sentence(error)
    kaggle.cut_after = None
    assert (fetch(SOURCE) / "train.csv").read_bytes() == large
    assert kaggle.ranges == [f"bytes={2 * 2**20}-"], "the client keeps whole chunks"


def test_no_account_is_told_with_the_page_to_visit(kaggle, fetch, monkeypatch):
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    with pytest.raises(
        PreparationError, match=r"members only.*kaggle.com/settings/api.*KAGGLE_API_TOKEN"
    ) as error:
        fetch(SOURCE)
    assert SOURCE.page in one_sentence(error)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, r"does not accept your token .*settings/api"),
        (403, r"accept its rules at https://kaggle.test/c/tiny-rocks/rules"),
        (404, r"no train.csv in tiny-rocks \(404\)"),
        (500, r"the error 500 .* try again later"),
    ],
)
def test_each_refusal_is_one_sentence_that_says_what_to_do(kaggle, fetch, status, told):
    kaggle.status = status
    with pytest.raises(PreparationError, match=told) as error:
        fetch(SOURCE)
    assert SOURCE.page in one_sentence(error) or status == 401


def test_a_wrong_token_and_a_file_that_is_not_there_are_told(kaggle, fetch, monkeypatch):
    kaggle.kaggle["tiny-rocks"] = {"other.csv": b"x"}
    with pytest.raises(PreparationError, match="404"):
        fetch(SOURCE)
    monkeypatch.setenv("KAGGLE_API_TOKEN", "stale")
    with pytest.raises(PreparationError, match="401"):
        fetch(SOURCE)


def test_content_that_does_not_match_its_checksum_is_refused_and_not_kept(kaggle, fetch):
    kaggle.wrong_checksum = True
    with pytest.raises(PreparationError, match="checksum differs") as error:
        fetch(SOURCE)
    one_sentence(error)
    kaggle.wrong_checksum = False
    assert (fetch(SOURCE) / "train.csv").read_bytes() == TRAIN


@pytest.mark.parametrize(
    ("content", "told"), [(b"", "is empty"), (b"\n<!DOCTYPE html><p>Sign in", "is a web page")]
)
def test_what_is_no_data_is_refused(kaggle, fetch, content, told):
    kaggle.kaggle["tiny-rocks"]["train.csv"] = content
    with pytest.raises(PreparationError, match=told):
        fetch(SOURCE)


def test_no_server_at_all_is_told(kaggle, fetch, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with pytest.raises(PreparationError, match=r"was cut \(ProxyError\)"):
        fetch(SOURCE)


@pytest.mark.parametrize(
    "form", ["archive", "folder", "folder of the archive", "zip of the file", "one deeper"]
)
def test_what_a_person_downloaded_is_taken_without_a_connection(fetch, tmp_path, form):
    given = tmp_path / "given"
    given.mkdir()
    if form == "archive":
        given = archive(tmp_path / "tiny-rocks.zip", {"train.csv": TRAIN, "../evil.csv": b"x"})
    elif form == "folder":
        (given / "train.csv").write_bytes(TRAIN)
    elif form == "folder of the archive":
        archive(given / "tiny-rocks.zip", {"tiny-rocks/train.csv": TRAIN})
    elif form == "zip of the file":
        archive(given / "train.csv.zip", {"train.csv": TRAIN})
    else:
        (given / "tiny-rocks").mkdir()
        (given / "tiny-rocks" / "train.csv").write_bytes(TRAIN)
    assert (fetch(SOURCE, given) / "train.csv").read_bytes() == TRAIN
    assert not list(tmp_path.rglob("evil.csv"))


def test_what_is_the_wrong_thing_is_told_with_the_page(fetch, tmp_path):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("train.csv", TRAIN)
    broken = bytearray(whole.getvalue())
    broken[200:300] = bytes(100)
    wrong = {
        "missing": (tmp_path / "nowhere", "There is no .*nowhere"),
        "other": (
            archive(tmp_path / "other.zip", {"titanic.csv": b"x"}),
            "other.zip has no train.csv in it",
        ),
        "cut": (tmp_path / "cut.zip", "is not a whole archive"),
        "broken": (tmp_path / "broken.zip", "cannot be unpacked"),
        "empty": (tmp_path / "empty", "has no train.csv"),
    }
    (tmp_path / "cut.zip").write_bytes(whole.getvalue()[:-30])
    (tmp_path / "broken.zip").write_bytes(broken)
    (tmp_path / "empty").mkdir()
    for path, told in wrong.values():
        with pytest.raises(PreparationError, match=told) as error:
            fetch(SOURCE, path)
        assert SOURCE.page in one_sentence(error)


MANY = KaggleSource(
    kind="kaggle-competition",
    name="many-clouds",
    files=("train_metadata.json",),
    page="https://kaggle.test/c/many-clouds",
    records=(
        Records(
            list="train_metadata.json",
            key="record_id",
            files=("train/{key}/band.npy", "train/{key}/mask.npy"),
        ),
    ),
)


def clouds(count: int) -> dict[str, bytes]:
    ids = [str(7 * number + 100) for number in range(count)]
    files = {
        "train_metadata.json": json.dumps([{"record_id": each, "row": 1} for each in reversed(ids)]).encode()
    }
    return files | {
        f"train/{each}/{part}.npy": f"{part} {each}".encode() for each in ids for part in ("band", "mask")
    }


def laid(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def test_records_are_fetched_side_by_side_by_the_list_of_them_and_no_more_than_the_limit(origins, fetch):
    origins.kaggle["many-clouds"] = clouds(30)
    said: list[str] = []
    few = laid(fetch(MANY, progress=said.append, limit=12))
    assert set(few) == {"train_metadata.json"} | {
        f"train/{each}/{part}.npy" for each in range(100, 184, 7) for part in ("band", "mask")
    }
    assert any("24 of 24 files, 100%" in line for line in said)
    asked = len(origins.asked)
    assert len(laid(fetch(MANY, limit=14))) == 29
    assert len(origins.asked) == asked + 4, "what is kept is not asked for again"
    del origins.kaggle["many-clouds"]["train/303/mask.npy"]
    with pytest.raises(PreparationError, match=r"no train/303/mask.npy in many-clouds \(404\)") as error:
        fetch(MANY)
    one_sentence(error)


def test_records_are_taken_from_what_a_person_downloaded(fetch, tmp_path):
    given = archive(tmp_path / "many-clouds.zip", clouds(5))
    assert len(laid(fetch(MANY, given, limit=2))) == 5
    with zipfile.ZipFile(given) as opened:
        opened.extractall(tmp_path / "unpacked")
    assert len(laid(fetch(MANY, tmp_path / "unpacked"))) == 11
    (tmp_path / "unpacked" / "train" / "107" / "mask.npy").unlink()
    with pytest.raises(PreparationError, match=r"has no train/107/mask.npy in it") as error:
        fetch(MANY, tmp_path / "unpacked")
    assert MANY.page in one_sentence(error)


@pytest.mark.parametrize(
    ("listing", "told"),
    [
        (b'[{"record_id": "../../up"}]', "names no record"),
        (b'[{"id": "1"}]', "has no array of objects with 'record_id'"),
        (b"[", "is not valid JSON"),
    ],
)
def test_a_list_of_records_that_is_none_is_refused(fetch, tmp_path, listing, told):
    given = archive(tmp_path / "many-clouds.zip", {"train_metadata.json": listing})
    with pytest.raises(PreparationError, match=told) as error:
        fetch(MANY, given)
    assert MANY.page in one_sentence(error)


def test_one_of_two_folders_with_the_same_names_must_be_named(fetch, tmp_path):
    for name in ("rocks", "titanic"):
        (tmp_path / "given" / name).mkdir(parents=True)
        (tmp_path / "given" / name / "train.csv").write_bytes(TRAIN)
    with pytest.raises(PreparationError, match=r"in several folders \(rocks/, titanic/\)"):
        fetch(SOURCE, tmp_path / "given")


def test_a_variant_with_a_source_is_prepared_through_the_client_and_from_a_path(
    kaggle, task, tmp_path, monkeypatch
):
    file = task.folder / "task.toml"
    file.write_text(
        file.read_text() + f'[[variants.full.sources]]\nkind = "kaggle-competition"\nname = "{SOURCE.name}"\n'
        f'files = ["train.csv"]\npage = "{SOURCE.page}"\n'
    )
    (task.folder / "prepare.py").write_text(
        "from mlagentbench.errors import PreparationError\n"
        "def prepare(variant, public, private, seed, source=None):\n"
        "    lines = (source / 'train.csv').read_text().splitlines()\n"
        "    if lines[0] != 'id,y':\n        raise PreparationError(f'train.csv has {lines[0]}, not id,y.')\n"
        "    (public / 'train.csv').write_text(lines[0]); (private / 'rest').write_text(lines[-1])\n"
    )
    task = load_task(task.folder)
    kaggle.status = 403
    with pytest.raises(
        PreparationError, match=r"give --from its folder\. .* is: mlagentbench prepare "
    ) as error:
        prepare(task, "full")
    assert one_sentence(error).endswith(f"prepare {task.folder} --variant full --from FOLDER.")
    kaggle.status = 200
    downloaded = prepare(task, "full")
    assert find_prepared(task, "full") == downloaded
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "other"))
    given = prepare(task, "full", source=archive(tmp_path / "tiny-rocks.zip", {"train.csv": TRAIN}))
    assert given.digest == downloaded.digest
    almost = archive(tmp_path / "almost.zip", {"train.csv": TRAIN.replace(b"id,y", b"id,z")})
    with pytest.raises(PreparationError, match=r"^train.csv has id,z, not id,y.$"):
        prepare(task, "full", seed=1, source=almost)


def test_a_limit_makes_data_of_their_own_that_are_meant_where_there_are_no_others(origins, task, tmp_path):
    file = task.folder / "task.toml"
    sources = f"""
[[variants.full.sources]]
kind = "kaggle-competition"
name = "{MANY.name}"
files = ["train_metadata.json"]
page = "{MANY.page}"

[[variants.full.sources.records]]
list = "train_metadata.json"
key = "record_id"
files = ["train/{{key}}/band.npy"]
"""
    file.write_text(file.read_text() + sources)
    (task.folder / "prepare.py").write_text(
        "def prepare(variant, public, private, seed, source=None, limit=None):\n"
        "    names = sorted(path.name for path in (source / 'train').iterdir())\n"
        "    (public / 'names').write_text(' '.join(names)); (private / 'limit').write_text(str(limit))\n"
    )
    task = load_task(task.folder)
    given = archive(tmp_path / "many-clouds.zip", clouds(5))
    assert find_prepared(task, "full") is None
    few = prepare(task, "full", source=given, limit=2)
    assert (few.public / "names").read_text() == "100 107"
    assert (few.private / "limit").read_text() == "2"
    said: list[str] = []
    assert prepare(task, "full", progress=said.append) == find_prepared(task, "full") == few
    assert "that --limit 2 made" in said[0]
    three = prepare(task, "full", source=given, limit=3)
    assert three.folder != few.folder and find_prepared(task, "full") == three
    assert find_prepared(task, "full", limit=2) == few
    assert remake(three, tmp_path / "again") == three.digest, "from the same path, with the same limit"
    assert not (three.folder / "source").exists()
    everything = prepare(task, "full", source=given, limit=0)
    assert (everything.private / "limit").read_text() == "None"
    assert prepare(task, "full") == find_prepared(task, "full") == everything


def test_a_limit_for_a_task_that_takes_none_is_refused(task):
    with pytest.raises(UsageError, match="leave --limit out"):
        prepare(task, limit=3)
