"""The hub's own client, and the downloads that it leads to, against a small server that answers as the hub does."""

from __future__ import annotations

import pytest
from support.origins import COMMIT

from mlagentbench.errors import PreparationError
from mlagentbench.task.definition import HuggingFaceSource

PAGE = "https://huggingface.test/datasets/owner/reviews"
REVIEWS = HuggingFaceSource(
    kind="huggingface",
    name="owner/reviews",
    repo_type="dataset",
    revision="main",
    files=("plain_text/train-*.parquet", "README.md"),
    page=PAGE,
)
MODEL = HuggingFaceSource(
    kind="huggingface",
    name="owner/small-model",
    repo_type="model",
    revision=COMMIT,
    files=("config.json", "weights/"),
    page="https://huggingface.test/owner/small-model",
    into="model",
)
PARQUET = b"PAR1" + bytes(range(256)) * 8_000
FILES = {
    "plain_text/train-0.parquet": PARQUET,
    "README.md": b"# Reviews\n",
    "plain_text/test-0.parquet": b"PAR1",
}


@pytest.fixture
def hub(origins):
    origins.hub["datasets/owner/reviews"] = dict(FILES)
    origins.hub["models/owner/small-model"] = {
        "config.json": b"{}", "weights/a.safetensors": b"1234", "weights/deep/b.txt": b"b", "tf_model.h5": b"no",
    }  # fmt: skip
    return origins


def one_sentence(error: pytest.ExceptionInfo[PreparationError]) -> str:
    message = str(error.value)
    assert "\n" not in message and message.endswith(".")
    return message


def test_two_repositories_are_fetched_once_each_into_its_folder(hub, fetch):
    said: list[str] = []
    folder = fetch([REVIEWS, MODEL], progress=said.append)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {
        "plain_text/train-0.parquet", "README.md", "model/config.json", "model/weights/a.safetensors",
        "model/weights/deep/b.txt",
    }  # fmt: skip
    assert (folder / "plain_text" / "train-0.parquet").read_bytes() == PARQUET
    assert any("train-0.parquet" in line and "100%" in line for line in said)
    asked = len(hub.asked)
    hub.status = 500
    assert (fetch([REVIEWS, MODEL]) / "model" / "config.json").read_bytes() == b"{}"
    assert len(hub.asked) == asked


def test_the_token_is_shown_to_the_hub_and_not_to_where_it_sends_one(hub, fetch):
    fetch(REVIEWS)
    assert set(hub.keys) == {"hub.test"}
    assert any(address.startswith("http://cdn.test/") for address in hub.asked)


def test_a_cut_download_is_told_and_goes_on_where_it_stopped(hub, fetch):
    hub.cut_after = 1_000_000
    with pytest.raises(
        PreparationError, match=r"train-0.parquet was cut .* run the same command again"
    ) as error:
        fetch(REVIEWS)
    assert PAGE in one_sentence(error)
    hub.cut_after = None
    assert (fetch(REVIEWS) / "plain_text" / "train-0.parquet").read_bytes() == PARQUET
    assert hub.ranges == ["bytes=1000000-"]


def test_content_with_another_checksum_is_refused_and_not_kept(hub, fetch):
    hub.wrong_checksum = True
    with pytest.raises(PreparationError, match=r"its (SHA256|GIT-SHA1) is [0-9a-f]+, not [0-9a-f]+") as error:
        fetch(REVIEWS)
    assert PAGE in one_sentence(error)
    hub.wrong_checksum = False
    assert (fetch(REVIEWS) / "plain_text" / "train-0.parquet").read_bytes() == PARQUET


def test_a_kept_file_that_changed_on_disk_is_fetched_again(hub, fetch):
    (fetch(REVIEWS) / "README.md").resolve().write_bytes(b"# Others\n")
    said: list[str] = []
    assert (fetch(REVIEWS, progress=said.append) / "README.md").read_bytes() == FILES["README.md"]
    assert any("has changed on disk" in line for line in said)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, r"\(401\): make a token at https://huggingface.co/settings/tokens and set HF_TOKEN"),
        (403, r"does not give you owner/reviews \(403\): accept its conditions at"),
        (404, r"has no owner/reviews \(404\)"),
    ],
)
def test_each_refusal_is_one_sentence_that_says_what_to_do(hub, fetch, status, told):
    hub.status = status
    with pytest.raises(PreparationError, match=told) as error:
        fetch(REVIEWS)
    assert PAGE in one_sentence(error) and "--from" in one_sentence(error)


def test_a_repository_or_a_file_that_is_not_there_is_told(hub, fetch):
    del hub.hub["datasets/owner/reviews"]["README.md"]
    with pytest.raises(PreparationError, match=r"owner/reviews at main has no README.md") as error:
        fetch(REVIEWS)
    assert PAGE in one_sentence(error)
    hub.hub["datasets/owner/reviews"]["README.md"] = b"# Reviews\n"
    assert (fetch(REVIEWS) / "README.md").is_file(), "a listing without it was not kept"
    del hub.hub["models/owner/small-model"]
    with pytest.raises(PreparationError, match=r"has no owner/small-model \(40[14]\)|\(401\)"):
        fetch(MODEL)


def test_no_hub_at_all_is_told(fetch, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(PreparationError, match=r"cannot be reached \(ConnectError\)") as error:
        fetch(REVIEWS)
    assert PAGE in one_sentence(error)


def test_what_a_person_downloaded_is_taken_without_a_connection(fetch, tmp_path):
    given = tmp_path / "given"
    for name, content in FILES.items():
        (given / name).parent.mkdir(parents=True, exist_ok=True)
        (given / name).write_bytes(content)
    assert (fetch(REVIEWS, given) / "README.md").read_bytes() == FILES["README.md"]
    with pytest.raises(PreparationError, match=r"given has no config.json and 1 more in it") as error:
        fetch([REVIEWS, MODEL], given)
    assert MODEL.page in one_sentence(error)
    for place in ("model", "small-model"):
        (given / place / "weights").mkdir(parents=True)
        (given / place / "config.json").write_bytes(b"{}")
        (given / place / "weights" / "x.bin").write_bytes(b"1")
        folder = fetch([REVIEWS, MODEL], given)
        assert {path.name for path in (folder / "model").rglob("*")} == {"config.json", "weights", "x.bin"}
        (given / place).rename(tmp_path / f"gone-{place}")
