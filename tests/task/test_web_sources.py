"""Archives of web servers and files listed by their addresses, from a server on loopback."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from support.origins import tar_of, zip_of

from mlagentbench.errors import PreparationError
from mlagentbench.task.definition import Archived, HttpSource, ListedSource

BATCHES = {f"batches-py/data_batch_{number}": bytes([number]) * 900_000 for number in (1, 2)}
MEMBERS = BATCHES | {"batches-py/readme.html": b"<p>no data", "batches-py/test_batch": b"test"}
TAR = tar_of(MEMBERS)
PAGE = "https://images.test/batches.html"


def http(content: bytes = TAR, **more: object) -> HttpSource:
    fields: dict[str, object] = {
        "kind": "http",
        "name": "batches-python.tar.gz",
        "url": "http://images.test/batches-python.tar.gz",
        "files": ["batches-py/data_batch_*", "batches-py/test_batch"],
        "page": PAGE,
        "md5": hashlib.md5(content).hexdigest(),
    }
    return HttpSource.model_validate(fields | more)


@pytest.fixture
def server(origins):
    origins.web["images.test/batches-python.tar.gz"] = TAR
    return origins


def laid(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def one_sentence(error: pytest.ExceptionInfo[PreparationError]) -> str:
    message = str(error.value)
    assert "\n" not in message and message.endswith(".")
    return message


WANTED = {name: content for name, content in MEMBERS.items() if not name.endswith("html")}


def test_an_archive_is_fetched_once_with_progress_and_what_is_wanted_of_it_unpacked(server, fetch):
    said: list[str] = []
    assert laid(fetch(http(), progress=said.append)) == WANTED
    assert any("100%" in line for line in said)
    server.status = 500
    assert laid(fetch(http(into="images"))) == {f"images/{name}": data for name, data in WANTED.items()}
    assert len(server.asked) == 1


@pytest.mark.parametrize("checked", ["md5", "sha256", "nothing"])
def test_a_cut_download_is_told_and_goes_on_where_it_stopped(server, fetch, checked):
    big = tar_of({"batches-py/data_batch_1": bytes(range(256)) * 4_000, "batches-py/test_batch": b"x" * 9})
    server.web["images.test/batches-python.tar.gz"] = big
    known = {} if checked == "nothing" else {checked: hashlib.new(checked, big).hexdigest()}
    source = http(**{"md5": ""} | known)
    server.cut_after = len(big) // 2
    with pytest.raises(
        PreparationError, match=r"was cut \(after .* of .*\); run the same command again"
    ) as error:
        fetch(source)
    assert PAGE in one_sentence(error)
    server.cut_after = None
    assert len(laid(fetch(source))) == 2
    assert server.ranges == [f"bytes={len(big) // 2}-"]


def test_the_beginning_of_another_file_is_not_gone_on_with(server, fetch):
    server.cut_after = 500
    with pytest.raises(PreparationError, match="was cut"):
        fetch(http(md5=""))
    server.cut_after = None
    server.web["images.test/batches-python.tar.gz"] = tar_of(
        dict.fromkeys(("batches-py/data_batch_1", "batches-py/test_batch"), b"new")
    )
    assert set(laid(fetch(http(md5=""))).values()) == {b"new"}


def test_content_with_another_checksum_is_refused_and_not_kept(server, fetch):
    server.web["images.test/batches-python.tar.gz"] = tar_of({"batches-py/test_batch": b"other"})
    with pytest.raises(PreparationError, match=r"its MD5 is [0-9a-f]{32}, not [0-9a-f]{32}") as error:
        fetch(http())
    assert PAGE in one_sentence(error)
    server.web["images.test/batches-python.tar.gz"] = TAR
    assert laid(fetch(http())) == WANTED


def test_a_kept_archive_that_changed_on_disk_is_fetched_again(server, fetch, cache):
    fetch(http())
    (kept,) = (cache / "downloads" / "http").rglob("batches-python.tar.gz")
    kept.write_bytes(TAR[:-100])
    said: list[str] = []
    assert laid(fetch(http(), progress=said.append)) == WANTED
    assert any("has changed on disk" in line for line in said)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, r"images.test does not give batches-python.tar.gz to just anyone \(401\)"),
        (403, r"to just anyone \(403\): see at https://images.test/batches.html"),
        (404, r"has no batches-python.tar.gz any more \(404\)"),
        (503, r"the error 503 .* try again later"),
    ],
)
def test_each_refusal_is_one_sentence_that_says_what_to_do(server, fetch, status, told):
    server.status = status
    with pytest.raises(PreparationError, match=told) as error:
        fetch(http())
    assert PAGE in one_sentence(error) and "--from" in one_sentence(error)


def test_no_server_at_all_is_told(fetch, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with pytest.raises(PreparationError, match=r"was cut .*refused"):
        fetch(http())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<!doctype html><p>moved", "is a web page"),
        (b"no archive at all", "is not a whole archive"),
        (TAR[: len(TAR) // 2], "cannot be unpacked"),
        (tar_of({"batches-py/data_batch_1": b"x"}), "has no batches-py/test_batch in it"),
        (zip_of({"other": b"x"}), r"has no batches-py/data_batch_\* and 1 more in it"),
    ],
)
def test_what_is_no_such_archive_is_told(server, fetch, content, told):
    server.web["images.test/batches-python.tar.gz"] = content
    with pytest.raises(PreparationError, match=told) as error:
        fetch(http(content))
    assert PAGE in one_sentence(error)


def test_a_file_that_is_no_archive_stays_as_it_is(origins, fetch):
    origins.web["words.test/words.txt"] = b"a\nb\n"
    words = HttpSource(kind="http", name="words.txt", url="http://words.test/words.txt", page=PAGE)
    assert laid(fetch(words)) == {"words.txt": b"a\nb\n"}


@pytest.mark.parametrize(
    "form", ["archive", "other name", "folder", "folder of it", "inner folder", "deeper"]
)
def test_what_a_person_downloaded_is_taken_without_a_connection(fetch, tmp_path, form):
    given = tmp_path / "given"
    given.mkdir()
    archive = {
        "archive": "batches-python.tar.gz",
        "other name": "x.tgz",
        "folder of it": "batches-python.tar.gz",
    }
    if form in archive:
        (given / archive[form]).write_bytes(TAR)
    else:
        for name, content in WANTED.items():
            place = given / "a" / name if form == "deeper" else given / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    if form in ("archive", "other name"):
        given /= archive[form]
    elif form == "inner folder":
        given /= "batches-py"
    assert laid(fetch(http(), given)) == WANTED


def test_a_given_archive_with_another_checksum_is_refused(fetch, tmp_path):
    given = tmp_path / "batches-python.tar.gz"
    given.write_bytes(tar_of({"batches-py/test_batch": b"other"}))
    with pytest.raises(
        PreparationError, match=r"is not batches-python.tar.gz as it is published: its MD5"
    ) as error:
        fetch(http(), given)
    assert PAGE in one_sentence(error)


def test_another_form_of_the_same_data_is_taken_where_it_was_given(server, fetch, tmp_path):
    binary = tar_of({"batches-bin/all.bin": b"bytes"})
    other = Archived(
        name="batches-binary.tar.gz",
        url="http://images.test/batches-binary.tar.gz",
        md5=hashlib.md5(binary).hexdigest(),
        files=("batches-bin/all.bin",),
    )
    source = http(alternatives=[other])
    assert laid(fetch(source)) == WANTED
    (tmp_path / "given").mkdir()
    for name in ("batches-binary.tar.gz", "downloaded.tar.gz"):
        (tmp_path / "given" / name).write_bytes(binary)
        assert laid(fetch(source, tmp_path / "given" / name)) == {"batches-bin/all.bin": b"bytes"}
    assert laid(fetch(source, tmp_path / "given")) == {"batches-bin/all.bin": b"bytes"}


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


HOSTILE = {
    "a symbolic link": (
        tar_of({"batches-py/test_batch": b"x"}, link("batches-py/data_batch_1", "/etc/passwd")),
        "holds a link or a device in place of batches-py/data_batch_1",
    ),
    "a hard link": (
        tar_of({"batches-py/test_batch": b"x"}, link("batches-py/data_batch_1", "/etc/passwd", tarfile.LNKTYPE)),
        "holds a link or a device",
    ),
    "a device": (
        tar_of({"batches-py/test_batch": b"x"}, link("batches-py/data_batch_1", "", tarfile.CHRTYPE)),
        "holds a link or a device",
    ),
    "a path that leads out": (
        tar_of({"batches-py/test_batch": b"x", "batches-py/../../data_batch_1": b"x"}),
        r"has no batches-py/data_batch_\*",
    ),
    "a size that fills the disk": (
        tar_of({"batches-py/test_batch": b"x", "batches-py/data_batch_1": bytes(80_000_000)}),
        "unpacks to more than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("trick", HOSTILE)
def test_a_hostile_archive_is_refused(fetch, tmp_path, trick, monkeypatch):
    monkeypatch.setattr("mlagentbench.task.sources.unpacking._SLACK", 2**20)
    content, told = HOSTILE[trick]
    given = tmp_path / "given" / "batches-python.tar.gz"
    given.parent.mkdir()
    given.write_bytes(content)
    with pytest.raises(PreparationError, match=told) as error:
        fetch(http(content), given)
    assert PAGE in one_sentence(error)
    assert not list(tmp_path.rglob("data_batch_1"))


def test_a_link_in_a_zip_is_refused(fetch, tmp_path):
    import zipfile

    given = tmp_path / "pictures.zip"
    with zipfile.ZipFile(given, "w") as opened:
        member = zipfile.ZipInfo("batches-py/data_batch_1")
        member.external_attr = 0o120777 << 16
        opened.writestr(member, "/etc/passwd")
        opened.writestr("batches-py/test_batch", "x")
    with pytest.raises(PreparationError, match="holds a link or a device"):
        fetch(http(name="pictures.zip", md5=""), given)


IMAGES = ListedSource(
    kind="listed", name="sea-images", lists=("coco/train.json",), into="images", page="https://sea.test"
)
COCO = HttpSource(
    kind="http",
    name="coco.zip",
    url="http://sea.test/coco.zip",
    files=("coco/train.json",),
    page="https://sea.test",
)


def sea(origins, count: int, **instead: object) -> bytes:
    """A COCO file that lists images, and the images."""
    images = [
        {"id": number, "file_name": f"{number:03}.png", "coco_url": f"http://sea.test/png/{number}"}
        for number in range(count)
    ]
    for number in range(count):
        origins.web[f"sea.test/png/{number}"] = b"\x89PNG" + bytes([number])
    images[0] |= instead
    coco = zip_of({"coco/train.json": json.dumps({"images": images}).encode()})
    origins.web["sea.test/coco.zip"] = coco
    return coco


def test_listed_files_are_fetched_side_by_side_and_only_once(origins, fetch):
    sea(origins, 40)
    said: list[str] = []
    folder = fetch([COCO, IMAGES], progress=said.append)
    assert sorted(file.name for file in (folder / "images").iterdir()) == [f"{n:03}.png" for n in range(40)]
    assert (folder / "images" / "007.png").read_bytes() == b"\x89PNG\x07"
    assert any("40 of 40 files, 100%" in line for line in said)
    asked = len(origins.asked)
    assert len(list((fetch([COCO, IMAGES], limit=5) / "images").iterdir())) == 5
    assert len(origins.asked) == asked


def test_some_that_cannot_be_had_are_a_refusal_and_the_others_are_kept(origins, fetch):
    sea(origins, 12)
    origins.statuses = {"sea.test/png/3": 404, "sea.test/png/7": 403}
    with pytest.raises(
        PreparationError, match=r"^2 of 12 files of sea-images cannot be had.*00[37].png"
    ) as error:
        fetch([COCO, IMAGES])
    assert "--from" in str(error.value)
    origins.statuses.clear()
    origins.asked.clear()
    assert len(list((fetch([COCO, IMAGES]) / "images").iterdir())) == 12
    assert sorted(origins.asked) == ["http://sea.test/png/3", "http://sea.test/png/7"]


@pytest.mark.parametrize(
    ("instead", "told"),
    [
        ({"coco_url": "file:///etc/passwd"}, "which is no web address"),
        ({"file_name": "../../up.png"}, "which is no name of a file"),
        ({"file_name": "001.png"}, "001.png at two addresses"),
    ],
)
def test_a_list_that_is_hostile_is_refused(origins, fetch, instead, told):
    sea(origins, 3, **instead)
    with pytest.raises(PreparationError, match=told) as error:
        fetch([COCO, IMAGES])
    assert "https://sea.test" in one_sentence(error)


def test_a_list_of_another_form_is_refused_with_what_it_lacks(origins, fetch):
    origins.web["sea.test/coco.zip"] = zip_of({"coco/train.json": b'{"pictures": []}'})
    with pytest.raises(
        PreparationError, match=r"train.json has no array 'images' of objects with 'coco_url'"
    ):
        fetch([COCO, IMAGES])


def test_listed_files_that_a_person_has_are_taken_and_only_the_others_fetched(origins, fetch, tmp_path):
    given = tmp_path / "given"
    (given / "images").mkdir(parents=True)
    (given / "coco.zip").write_bytes(sea(origins, 3))
    for number in (0, 1):
        (given / "images" / f"{number:03}.png").write_bytes(b"mine")
    folder = fetch([COCO, IMAGES], given)
    assert [file.read_bytes() for file in sorted((folder / "images").iterdir())] == [
        b"mine", b"mine", b"\x89PNG\x02",
    ]  # fmt: skip
    assert origins.asked == ["http://sea.test/png/2"]
    assert len(list((fetch([COCO, IMAGES], given / "coco.zip") / "images").iterdir())) == 3
