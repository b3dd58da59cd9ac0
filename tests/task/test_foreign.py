from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench.errors import PreparationError
from mlagentbench.sandbox import choose
from mlagentbench.task.layout import layout
from mlagentbench.task.preparation import find_prepared, prepare, verify_prepared
from mlagentbench.task.registry import load_task


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def script(folder: Path, text: str) -> None:
    (folder / "scripts" / "prepare.py").write_text(text)


def everything(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files(folder)}


def test_without_a_script_the_folder_is_taken_as_it_lies_there(original):
    prepared = prepare(load_task(original))
    assert prepared.variant == "original"
    assert files(prepared.starter) == ["train.py"]
    assert files(prepared.public) == ["data/more.txt", "train.csv"]
    assert files(prepared.private) == ["eval.py", "read_only_files.txt", "research_problem.txt"]
    assert find_prepared(load_task(original)) == prepared
    assert verify_prepared(prepared) == []


@pytest.mark.parametrize(
    ("lines", "read_only", "whole"),
    [
        ("./data\n", {"data/more.txt", "data/deep/most.txt"}, ["data"]),
        ("data/*", {"data/more.txt", "data/deep/most.txt"}, ["data"]),
        ("./data/more.txt\n./train.csv\n", {"data/more.txt", "train.csv"}, ["train.csv"]),
        ("", set(), []),
    ],
)
def test_what_its_list_names_is_read_only_in_the_workspace(original, lines, read_only, whole):
    (original / "scripts" / "read_only_files.txt").write_text(lines)
    (original / "env" / "data" / "deep").mkdir()
    (original / "env" / "data" / "deep" / "most.txt").write_text("most\n")
    prepared = prepare(load_task(original))
    shown = layout(prepared)
    reached = {
        name
        for name in files(original / "env")
        if any((name + "/").startswith(p + "/") for p in shown.read_only)
    }
    assert reached == read_only
    assert set(shown.copied) == set(files(original / "env")) - read_only
    assert sorted(path.name for path in prepared.public.iterdir()) == whole


def test_its_script_runs_on_a_copy_and_its_answers_go_to_private(original):
    before = everything(original)
    script(
        original,
        "import os\nprint('splitting', os.path.basename(os.getcwd()))\n"
        "open('../env/test.csv', 'w').write('id\\n1\\n')\nopen('answer.csv', 'w').write('id,y\\n1,2\\n')\n",
    )
    before["scripts/prepare.py"] = (original / "scripts" / "prepare.py").read_bytes()
    said: list[str] = []
    prepared = prepare(load_task(original), progress=said.append)
    assert "splitting scripts" in said
    assert "test.csv" in files(prepared.starter)
    assert (prepared.private / "answer.csv").read_text() == "id,y\n1,2\n"
    assert everything(original) == before


def test_its_script_cannot_reach_the_rest_of_the_machine(original, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    if not choose().isolating:
        pytest.skip("no isolating sandbox here")
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    script(
        original,
        f"""
import os, socket
def tried(what):
    try:
        what()
        return "done"
    except OSError:
        return "refused"
print("read", tried(lambda: open({str(outside)!r}).read()))
print("write", tried(lambda: open({str(original / "env" / "new")!r}, "w")))
print("connect", tried(lambda: socket.create_connection(("192.0.2.1", 80), timeout=1)))
print("key", os.environ.get("OPENAI_API_KEY"))
""",
    )
    said: list[str] = []
    prepare(load_task(original), progress=said.append)
    assert {"read refused", "write refused", "connect refused", "key None"} <= set(said)
    assert not (original / "env" / "new").exists()


def test_its_failure_is_told_with_its_output(original):
    script(original, "print('fetching')\nraise OSError('no_such_host')\n")
    with pytest.raises(
        PreparationError, match=r"(?s)status 1\. If it downloads .*--network on.*fetching.*no_such"
    ):
        prepare(load_task(original))
    assert find_prepared(load_task(original)) is None


def test_a_library_that_its_script_lacks_is_named_with_the_place_to_ask_for_it(original):
    script(original, "from no_such_library.part import x\n")
    with pytest.raises(
        PreparationError,
        match=r"needs the library 'no_such_library': .*`requirements` in a mlagentbench\.toml",
    ) as failed:
        prepare(load_task(original))
    assert "--network" not in str(failed.value)


def test_a_script_that_waits_for_a_person_fails_instead_and_says_what_to_do_by_hand(original):
    script(original, "input('Press any key after you have accepted the rules online.')\n")
    with pytest.raises(PreparationError, match=r"(?s)waits for a person.*`prepared`.*EOFError") as failed:
        prepare(load_task(original))
    assert "--network" not in str(failed.value)


def test_a_download_that_failed_unnoticed_is_not_taken_for_data(original):
    script(original, "import subprocess\nprint('403 Forbidden')\nsubprocess.run(['false'])\n")
    (original / "env" / "train.csv").unlink()
    (original / "env" / "data" / "more.txt").unlink()
    with pytest.raises(PreparationError, match=r"(?s)made no data.*train\.csv.*403 Forbidden"):
        prepare(load_task(original))
    assert find_prepared(load_task(original)) is None
    script(original, "open('../env/train.csv', 'w').write('id,y\\n')\n")
    assert files(prepare(load_task(original)).public) == ["train.csv"]


def test_data_that_are_ready_are_made_again_when_asked(original):
    script(original, "import time\nopen('../env/data/when', 'w').write(str(time.time_ns()))\n")
    first, same = prepare(load_task(original)).digest, prepare(load_task(original)).digest
    assert first == same != prepare(load_task(original), again=True).digest


def test_a_folder_that_was_prepared_already_is_not_prepared_again(original):
    script(original, "raise SystemExit(1)\n")
    (original / "scripts" / "prepared").write_text("")
    assert files(prepare(load_task(original)).starter) == ["train.py"]


@pytest.mark.parametrize("place", ["../env/link", "link", "../env/data"])
def test_links_that_it_leaves_are_refused_and_never_followed(original, place):
    script(original, f"import os, shutil\nshutil.rmtree({place!r}, True)\nos.symlink('/etc', {place!r})\n")
    with pytest.raises(PreparationError, match="is not a plain file"):
        prepare(load_task(original))


def test_a_folder_that_it_replaces_is_told(original):
    script(original, "import os, shutil\nshutil.rmtree('../env')\nos.symlink('/etc', '../env')\n")
    with pytest.raises(PreparationError, match="in place of env/"):
        prepare(load_task(original))


def test_a_change_in_the_folder_makes_the_data_again(original):
    first = prepare(load_task(original))
    (original / "env" / "train.csv").write_text("id,y\n1,2\n3,4\n")
    assert find_prepared(load_task(original)) is None
    assert prepare(load_task(original)).digest != first.digest
