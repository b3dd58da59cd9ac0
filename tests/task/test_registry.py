from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlagentbench.errors import TaskError, UsageError
from mlagentbench.task.new import new_task
from mlagentbench.task.registry import in_suite, list_tasks, load_task


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a package that brings a task: files and metadata on the path, as pip leaves them."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def put(name: str, value: str, module: str) -> Path:
        package = site / f"pkg_{name}"
        package.mkdir()
        (package / "__init__.py").write_text(module)
        info = site / f"pkg_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pkg-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[mlagentbench.tasks]\n{name} = {value}\n")
        return package

    yield put
    for module in [module for module in sys.modules if module.startswith("pkg_")]:
        del sys.modules[module]


def test_every_task_of_the_suite_loads_by_its_name_with_and_without_version():
    for task in list_tasks():
        if in_suite(task):
            assert load_task(task.name) == load_task(task.id) == task
            assert task.folder.name == task.name


def test_a_wrong_version_is_told_with_the_right_one(task, monkeypatch):
    monkeypatch.chdir(task.folder.parent)
    assert load_task("ball@1").id == "ball@1"
    with pytest.raises(UsageError, match=r"no ball@2: this is ball@1"):
        load_task("ball@2")


def test_a_wrong_name_is_answered_with_the_nearest_right_one(install, tmp_path):
    folder = new_task("house-flipping", tmp_path)
    install("house-flipping", "pkg_house-flipping:FOLDER".replace("-", "_", 1), "")
    assert folder.is_dir()
    for wrong in ("house-fliping", "House_Flipping"):
        with pytest.raises(UsageError, match=r"Did you mean house-flipping\?"):
            load_task(wrong)


def test_a_task_loads_by_path_whether_text_or_path(task, monkeypatch):
    assert load_task(str(task.folder)) == load_task(task.folder) == task
    monkeypatch.chdir(task.folder)
    assert load_task(".").name == "ball"


@pytest.mark.parametrize(
    ("value", "module"),
    [
        ("pkg_ball:FOLDER", "FOLDER = {folder!r}"),
        ("pkg_ball:FOLDER", "import pathlib\nFOLDER = pathlib.Path({folder!r})"),
        ("pkg_ball:folder", "def folder():\n    return {folder!r}"),
    ],
    ids=["text", "path", "function"],
)
def test_tasks_of_other_packages_load_by_entry_point(task, install, tmp_path, value, module):
    install("ball", value, module.format(folder=str(task.folder)))
    assert load_task("ball") == task
    assert task in list_tasks()


def test_a_package_can_be_the_task_folder_itself(install, tmp_path):
    package = install("pitch", "pkg_pitch", "")
    made = new_task("pitch", tmp_path / "made")
    for entry in made.iterdir():
        entry.rename(package / entry.name)
    assert load_task("pitch").folder == package


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ("raise RuntimeError('no GPU')", "cannot be loaded: RuntimeError: no GPU. Mend or uninstall pkg-bad"),
        ("FOLDER = 3", "is a int; its entry point must give"),
        ("FOLDER = {ball!r}", "calls itself 'ball'"),
    ],
)
def test_a_broken_package_is_named_and_does_not_hide_the_others(task, install, module, complaint):
    install("bad", "pkg_bad:FOLDER", module.format(ball=str(task.folder)))
    with pytest.raises(TaskError, match=complaint):
        load_task("bad")
    with pytest.warns(UserWarning, match=complaint):
        names = [each.name for each in list_tasks()]
    assert "bad" not in names


def test_a_folder_that_is_no_task_is_told_what_it_lacks(task, tmp_path):
    with pytest.raises(TaskError, match=r"neither a task.toml nor env/ and scripts/"):
        load_task(tmp_path)
    with pytest.raises(UsageError, match="no task folder"):
        load_task(tmp_path / "nowhere")
    (task.folder / "grade.py").unlink()
    (task.folder / "starter" / "train.py").unlink()
    with pytest.raises(TaskError, match=r"lacks grade.py, starter/train.py"):
        load_task(task.folder)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('submission = "../x.csv"', "submission in .* must be a path inside"),
        ('entry = "/bin/true"', "lacks starter//bin/true|must be a path inside"),
        ("requirements = 3", "requirements: "),
        ("colour = 1", "colour: "),
        ("name = ", "is not valid TOML"),
    ],
)
def test_a_wrong_field_is_named(task, line, complaint):
    file = task.folder / "task.toml"
    key = line.split()[0]
    kept = [each for each in file.read_text().splitlines() if not each.startswith(f"{key} =")]
    file.write_text("\n".join([line, *kept]))
    with pytest.raises(TaskError, match=complaint):
        load_task(task.folder)
