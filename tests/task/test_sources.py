"""The real client against a small server on loopback that answers as Kaggle does, with a redirect."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from support.origins import serving, zip_of

from mlagentbench.errors import PreparationError
from mlagentbench.task.definition import KaggleSource
from mlagentbench.task.preparation import find_prepared, prepare
from mlagentbench.task.registry import load_task
from mlagentbench.task.sources import fetch_all

TRAIN = b"id,y\n" + b"".join(b"%d,%d\n" % (row, row * row) for row in range(20_000))
SOURCE = KaggleSource(
    kind="kaggle-competition",
    name="tiny-rocks",
    files=("train.csv",),
    page="https://kaggle.test/c/tiny-rocks",
)


@pytest.fixture
def fetch(cache: Path, tmp_path: Path):
    """Fetches into a folder of its own each time."""

    def fetch(source=SOURCE, given=None, progress=None, limit=None) -> Path:
        folder = tmp_path / f"source-{len(list(tmp_path.glob('source-*')))}"
        folder.mkdir()
        fetch_all([source] if not isinstance(source, list) else source, folder, given, progress, limit)
        return folder

    return fetch


@pytest.fixture
def kaggle(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with serving(monkeypatch, tmp_path / "home") as origins:
        origins.kaggle["tiny-rocks"] = {"train.csv": TRAIN}
        yield origins


def archive(file: Path, members: dict[str, bytes]) -> Path:
    file.write_bytes(zip_of(members))
    return file


def one_sentence(error: pytest.ExceptionInfo[PreparationError]) -> str:
    message = str(error.value)
    assert "\n" not in message and message.endswith(".")
    return message


def test_the_file_is_fetched_with_progress_and_kept(kaggle, fetch, cache):
    said: list[str] = []
    folder = fetch(progress=said.append)
    assert (folder / "train.csv").read_bytes() == TRAIN
    assert (folder / "train.csv").resolve().is_relative_to(cache / "downloads")
    assert any("100%" in line for line in said)
    assert kaggle.asked == [
        "http://localhost/api/v1/competitions.CompetitionApiService/DownloadDataFile tiny-rocks train.csv"
    ]
    kaggle.status = 500
    assert (fetch() / "train.csv").read_bytes() == TRAIN
    assert len(kaggle.asked) == 1


def test_a_kept_file_that_changed_on_disk_is_fetched_again(kaggle, fetch):
    folder = fetch()
    (folder / "train.csv").write_bytes(b"id,y\n1,rubbish\n")
    said: list[str] = []
    assert (fetch(progress=said.append) / "train.csv").read_bytes() == TRAIN
    assert any("has changed on disk" in line for line in said)


def test_a_cut_download_is_told_and_goes_on_where_it_stopped(kaggle, fetch):
    large = b"id,y\n" + bytes(range(48, 58)) * 300_000
    kaggle.kaggle["tiny-rocks"]["train.csv"] = large
    kaggle.cut_after = 2_500_000
    with pytest.raises(PreparationError, match=r"was cut .* run the same command again") as error:
        fetch()
    one_sentence(error)
    kaggle.cut_after = None
    assert (fetch() / "train.csv").read_bytes() == large
    assert kaggle.ranges == [f"bytes={2 * 2**20}-"], "the client keeps whole chunks"


def test_no_account_is_told_with_the_page_to_visit(kaggle, fetch, monkeypatch):
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    with pytest.raises(
        PreparationError, match=r"members only.*kaggle.com/settings/api.*KAGGLE_API_TOKEN"
    ) as error:
        fetch()
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
        fetch()
    assert SOURCE.page in one_sentence(error) or status == 401


def test_a_wrong_token_and_a_file_that_is_not_there_are_told(kaggle, fetch, monkeypatch):
    kaggle.kaggle["tiny-rocks"] = {"other.csv": b"x"}
    with pytest.raises(PreparationError, match="404"):
        fetch()
    monkeypatch.setenv("KAGGLE_API_TOKEN", "stale")
    with pytest.raises(PreparationError, match="401"):
        fetch()


def test_content_that_does_not_match_its_checksum_is_refused_and_not_kept(kaggle, fetch):
    kaggle.wrong_checksum = True
    with pytest.raises(PreparationError, match="checksum differs") as error:
        fetch()
    one_sentence(error)
    kaggle.wrong_checksum = False
    assert (fetch() / "train.csv").read_bytes() == TRAIN


@pytest.mark.parametrize(
    ("content", "told"), [(b"", "is empty"), (b"\n<!DOCTYPE html><p>Sign in", "is a web page")]
)
def test_what_is_no_data_is_refused(kaggle, fetch, content, told):
    kaggle.kaggle["tiny-rocks"]["train.csv"] = content
    with pytest.raises(PreparationError, match=told):
        fetch()


def test_no_server_at_all_is_told(kaggle, fetch, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with pytest.raises(PreparationError, match=r"was cut \(ProxyError\)"):
        fetch()


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
    downloaded = prepare(task, "full")
    assert find_prepared(task, "full") == downloaded
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "other"))
    given = prepare(task, "full", source=archive(tmp_path / "tiny-rocks.zip", {"train.csv": TRAIN}))
    assert given.digest == downloaded.digest
    almost = archive(tmp_path / "almost.zip", {"train.csv": TRAIN.replace(b"id,y", b"id,z")})
    with pytest.raises(PreparationError, match=r"^train.csv has id,z, not id,y.$"):
        prepare(task, "full", seed=1, source=almost)
