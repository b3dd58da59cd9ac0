"""What of a person's folder is copied, only shown, or left out; and that looking at it changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.trees import tree

from mlagentbench.errors import UsageError
from mlagentbench.workspace import surveying
from mlagentbench.workspace.surveying import copy_folder, leads_out, never_copied, survey


def fill(folder: Path, **sizes: int) -> None:
    for name, size in sizes.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)


def test_small_files_are_copied_and_a_large_one_is_shown(tmp_path):
    fill(tmp_path, code=10, data__small=20, data__large=101)
    found = survey(tmp_path, limit=1000)
    assert (found.files, found.size) == (2, 30)
    assert found.shown == {"data/large": 101}
    assert not found.left_out


def test_folders_are_shown_largest_first_until_the_rest_fits(tmp_path):
    fill(tmp_path / "data" / "images", **{f"i{number}": 60 for number in range(20)})
    fill(tmp_path / "data" / "labels", **{f"l{number}": 10 for number in range(70)})
    fill(tmp_path, code=10)
    assert survey(tmp_path, limit=1000).shown == {"data/images": 1200}
    assert survey(tmp_path, limit=600).shown == {"data/images": 1200, "data/labels": 700}


def test_too_many_small_files_are_shown_as_their_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(surveying, "_MOST_ENTRIES", 5)
    fill(tmp_path, **{f"many__f{number}": 1 for number in range(9)}, code=1)
    found = survey(tmp_path)
    assert found.shown == {"many": 9} and found.files == 1


def test_what_does_not_fit_is_refused_with_what_to_do(tmp_path):
    fill(tmp_path, **{f"f{number}": 90 for number in range(20)})
    with pytest.raises(UsageError, match=r"1.8 KB .* --leave-out PATTERN, or raise --copy-limit"):
        survey(tmp_path, limit=1000)
    assert survey(tmp_path, ["f1*"], limit=1000).files == 9


def test_version_control_secrets_clutter_and_environments_are_left_out_wherever_they_are(tmp_path):
    fill(tmp_path, code=1, sub__code=1)
    fill(tmp_path, **{".git__HEAD": 1, "sub__.env": 1, "sub____pycache____x.pyc": 1, "env__pyvenv.cfg": 1})
    (tmp_path / "sub" / "__pycache__").mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "pipe")
    found = survey(tmp_path)
    assert found.left_out == {
        ".git": "version control",
        "env": "a virtual environment",
        "pipe": "not a plain file",
        "sub/.env": "may hold secrets",
        "sub/__pycache__": "can be made again",
    }
    assert never_copied("a/.git/hooks/x") and never_copied(".env") and not never_copied("a/git")


def test_a_folder_with_a_secret_in_it_is_never_shown_as_one(tmp_path):
    fill(tmp_path, **{f"data__f{number}": 90 for number in range(20)}, **{"data__.env": 5})
    with pytest.raises(UsageError):
        survey(tmp_path, limit=1000)


def test_links_are_copied_as_links_and_those_that_lead_out_are_named(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "up").symlink_to("../in")
    (tmp_path / "out").symlink_to("in/../../elsewhere")
    (tmp_path / "etc").symlink_to("/etc")
    found = survey(tmp_path)
    assert found.outward == {"out": "in/../../elsewhere", "etc": "/etc"} and found.files == 3
    assert not leads_out("a/b", "../c") and leads_out("a", "../c") and leads_out("a/b", "../../c")


def test_a_copy_has_modes_times_links_and_empty_folders_and_the_original_stays(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    fill(source, code=10, sub__tool=5, sub__big=7, **{".git__HEAD": 1})
    (source / "code").chmod(0o751)
    (source / "sub").chmod(0o500)
    (source / "empty").mkdir()
    (source / "outside").symlink_to("/etc/passwd")
    os.utime(source / "code", ns=(10**18, 10**18))
    before = tree(source)
    copy_folder(source, target, {".git", "sub/big"})
    (target / "sub").chmod(0o700)
    (source / "sub").chmod(0o700)
    copied = tree(target)
    assert copied == {
        name: what for name, what in tree(source).items() if name not in (".git", ".git/HEAD", "sub/big")
    }
    assert (target / "code").stat().st_mtime_ns == 10**18
    (source / "sub").chmod(0o500)
    assert tree(source) == before
