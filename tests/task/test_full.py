"""Every `full` variant of the suite is made ready: from servers on loopback that have made-up content in the real file
formats, and again from what a person downloaded."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest
from support.origins import Origins, serving, tar_of, zip_of
from support.tools import HURRIED, upstream

from mlagentbench import run
from mlagentbench.errors import PreparationError, UsageError
from mlagentbench.service import live
from mlagentbench.task.definition import (
    Archived,
    HttpSource,
    HuggingFaceSource,
    KaggleSource,
    ListedSource,
    Source,
    Task,
)
from mlagentbench.task.preparation import Prepared, choose_variant, find_prepared, prepare
from mlagentbench.task.registry import in_suite, list_tasks, load_task

FETCHED = [
    task
    for task in list_tasks()
    if in_suite(task) and "full" in task.definition.variants and task.definition.variants["full"].sources
]
MADE = [task for task in list_tasks() if in_suite(task) and task.name == "CLRS"]
"""Those whose `full` a library makes."""
LIVE = [
    task
    for task in list_tasks()
    if in_suite(task) and "full" in task.definition.variants and task.definition.services
]
"""Those whose `full` is made of services on the network."""


@dataclass(frozen=True)
class Published:
    """A copy of a task that takes made-up content for the published data, and that content."""

    task: Task
    folder: Path
    """What `prepare.py` gets as `source`, as it would lie there."""
    module: ModuleType
    archives: dict[str, bytes]
    """Those that were packed already, by name."""

    def files(self, source: Source) -> dict[str, bytes]:
        """Of one source, by their names in it; what other sources bring into folders of their own is not in it."""
        root = self.folder / source.into
        others = [
            self.folder / each.into
            for each in self.task.definition.variants["full"].sources
            if each.into and each.into != source.into
        ]
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file() and not any(path.is_relative_to(other) for other in others)
        }

    def packed(self, form: Archived, files: Mapping[str, bytes]) -> bytes:
        if form.name not in self.archives:
            self.archives[form.name] = zip_of(files) if form.name.endswith(".zip") else tar_of(files)
        return self.archives[form.name]

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.task.definition.variants["full"].sources


def publish(task: Task, place: Path) -> Published:
    """The content, and the task with the sizes, addresses and checksums of that content."""
    module = importlib.import_module(f"support.sources_{task.name.replace('-', '_')}")
    folder = place / "published"
    _write(module, folder)
    copy = Path(shutil.copytree(task.folder, place / "tasks" / task.name))
    sizes = json.dumps(getattr(module, "SIZES", {}))
    with (copy / "prepare.py").open("a", encoding="utf-8") as script:
        script.write(f"\n\nimport json as _json\n\nglobals().update(_json.loads({sizes!r}))\n")
    definition = copy / "task.toml"
    text = re.sub(r'url = "https://', 'url = "http://', definition.read_text(encoding="utf-8"))
    # What only the models need takes minutes to install; making the data needs none of it (but tokenizers).
    text = re.sub(r',? ?"(torch|transformers|scikit-learn|scipy|safetensors)==[^"]+"', "", text)
    made = Published(task, folder, module, {})
    for source in made.sources:
        if isinstance(source, ListedSource):
            for name in source.lists:  # a proxy sees nothing of what goes through TLS
                listing = folder / name
                listing.write_bytes(listing.read_bytes().replace(b'"https://', b'"http://'))
        if isinstance(source, HttpSource):
            text = _with_checksum(text, source, made.packed(source, made.files(source)))
            for other in source.alternatives:
                text = _with_checksum(text, other, made.packed(other, _alternative(module)))
    definition.write_text(text, encoding="utf-8")
    return Published(load_task(copy), folder, module, made.archives)


def _write(module: ModuleType, folder: Path) -> None:
    if hasattr(module, "publish"):
        module.publish(folder)
    else:
        module.unpacked(folder, module.pickled_files())


def _alternative(module: ModuleType) -> dict[str, bytes]:
    files: dict[str, bytes] = module.binary_files()
    return files


def _with_checksum(text: str, form: Archived, content: bytes) -> str:
    for kind in ("md5", "sha256"):
        if published := getattr(form, kind):
            assert published in text
            text = text.replace(published, hashlib.new(kind, content).hexdigest())
    return text


def serve(published: Published, origins: Origins) -> None:
    for source in published.sources:
        files = published.files(source)
        if isinstance(source, KaggleSource):
            origins.kaggle[source.name] = files
        elif isinstance(source, HttpSource):
            origins.web[_place(source.url)] = published.packed(source, files)
        elif isinstance(source, HuggingFaceSource):
            origins.hub[f"{source.repo_type}s/{source.name}"] = files
        else:
            for name in source.lists:
                listed = json.loads((published.folder / name).read_bytes())
                for each in listed[source.records] if source.records else listed:
                    origins.web[_place(each[source.url])] = files[each[source.file]]


def _place(url: str) -> str:
    address = urlsplit(url)
    return f"{address.hostname}{address.path}"


@pytest.fixture
def origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Origins]:
    with serving(monkeypatch, tmp_path / "home") as served:
        yield served


@pytest.fixture
def made_ready(shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Prepares `full` with a cache of its own each time, but for interpreters, which take a while to make."""
    (shared_cache / "interpreters").mkdir(parents=True, exist_ok=True)

    def make(task: Task, source: Path | None = None) -> Prepared:
        cache = tmp_path / f"cache-{len(list(tmp_path.glob('cache-*')))}"
        cache.mkdir()
        (cache / "interpreters").symlink_to(shared_cache / "interpreters")
        monkeypatch.setenv("MLAGENTBENCH_CACHE", str(cache))
        prepared = prepare(task, "full", source=source)
        assert find_prepared(task, "full") == prepared
        return prepared

    return make


@pytest.mark.parametrize("task", FETCHED, ids=lambda task: task.name)
def test_full_is_ready_through_a_server_and_the_same_from_a_path(
    task: Task, origins: Origins, made_ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = publish(task, tmp_path)
    serve(published, origins)
    fetched = made_ready(published.task)
    assert any(fetched.public.rglob("*")) and any(fetched.private.rglob("*"))
    assert origins.asked
    origins.asked.clear()
    origins.status = 500
    assert made_ready(published.task, published.folder).digest == fetched.digest, "from the unpacked folder"
    given = tmp_path / "downloaded"
    given.mkdir()
    for source in published.sources:
        files = published.files(source)
        if isinstance(source, KaggleSource):
            (given / f"{source.name}.zip").write_bytes(zip_of(files))
        elif isinstance(source, HttpSource):
            (given / source.name).write_bytes(published.packed(source, files))
        else:
            shutil.copytree(
                published.folder / source.into, given / (source.into or "files"), dirs_exist_ok=True
            )
    assert made_ready(published.task, given).digest == fetched.digest, "from archives in one folder"
    archives = [path for path in given.iterdir() if path.is_file()]
    if len(published.sources) == 1 and archives:
        assert made_ready(published.task, archives[0]).digest == fetched.digest, "from the archive itself"
    assert not origins.asked


def test_another_model_of_the_hub_takes_the_place_of_the_named_one(
    origins: Origins, made_ready, tmp_path: Path
) -> None:
    published = publish(load_task("llama-inference"), tmp_path)
    serve(published, origins)
    own = made_ready(published.task)
    model = next(
        each for each in published.sources if isinstance(each, HuggingFaceSource) and each.exchangeable
    )
    files = published.files(model)
    settings = json.loads(files["config.json"]) | {"architectures": ["OtherForCausalLM"]}
    origins.hub["models/somebody/other-1b"] = files | {"config.json": json.dumps(settings).encode()}
    other = f"full=somebody/other-1b@{'a1' * 20}"
    exchanged = prepare(published.task, other)
    assert json.loads((exchanged.public / "model" / "config.json").read_bytes()) == settings
    assert exchanged.variant == other and exchanged.folder != own.folder
    assert find_prepared(published.task, other) == exchanged, "a run finds what was prepared"
    assert find_prepared(published.task, "full") == own, "and leaves the task's own alone"
    assert f"somebody/other-1b@{'a1' * 20}" in published.task.definition.variant(other).description


@pytest.mark.parametrize(
    ("task", "variant", "said"),
    [
        ("llama-inference", "full=somebody/other-1b", "40 digits of a commit"),
        ("llama-inference", "full=somebody/other-1b@main", "40 digits of a commit"),
        ("llama-inference", f"full=../other-1b@{'a1' * 20}", "40 digits of a commit"),
        ("llama-inference", f"mini=somebody/other-1b@{'a1' * 20}", "no other data than its own"),
        ("babylm", f"full=somebody/other-1b@{'a1' * 20}", "no other data than its own"),
        ("babylm", "huge=somebody/other-1b", "it has mini, full"),
    ],
)
def test_what_cannot_be_exchanged_is_refused(task: str, variant: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        choose_variant(load_task(task), variant)


OTHER_FORMS = [
    (task, form)
    for task in FETCHED
    for source in task.definition.variants["full"].sources
    if isinstance(source, HttpSource)
    for form in source.alternatives
]


@pytest.mark.parametrize(("task", "form"), OTHER_FORMS, ids=lambda each: each.name)
def test_full_is_the_same_from_another_form_of_its_data(task, form, made_ready, tmp_path) -> None:
    published = publish(task, tmp_path)
    given = tmp_path / form.name
    given.write_bytes(published.packed(form, _alternative(published.module)))
    assert made_ready(published.task, given).digest == made_ready(published.task, published.folder).digest


@pytest.mark.parametrize("task", MADE, ids=lambda task: task.name)
def test_full_is_ready_where_a_library_makes_it(task: Task, made_ready, tmp_path: Path) -> None:
    """The library itself takes gigabytes; a stand-in has its interface. A slow test has the library's own samples."""
    module = importlib.import_module(f"support.sources_{task.name.lower()}")
    copy = Path(shutil.copytree(task.folder, tmp_path / "tasks" / task.name))
    definition = copy / "task.toml"
    text = definition.read_text(encoding="utf-8")
    needed = re.sub(r'"(?!numpy)[\w-]+==[^"]+",?', "", text)
    definition.write_text(needed, encoding="utf-8")
    with (copy / "prepare.py").open("a", encoding="utf-8") as script:
        script.write(f"\n\nglobals().update({module.SIZES!r})\n")
    alone = load_task(copy)
    with pytest.raises(PreparationError, match="cannot be imported"):
        made_ready(alone)
    module.library(copy)
    prepared = made_ready(alone)
    assert any(prepared.public.rglob("*")) and any(prepared.private.rglob("*"))


@pytest.mark.parametrize("task", LIVE, ids=lambda task: task.name)
def test_full_is_worked_and_graded_where_services_on_the_network_answer(
    task: Task, made_ready, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server on loopback stands for both services; it knows the papers that are asked for, and speaks as they do."""
    copy = Path(shutil.copytree(task.folder, tmp_path / "tasks" / task.name))
    known = json.loads((made_ready(load_task(copy)).private / "answers.json").read_bytes())["papers"]
    papers = [
        {
            "id": name,
            "title": paper["title"],
            "authors": [f"A. {paper['authors'][0]}"],
            "published": f"{paper['year']}-05-01",
            "year": paper["year"],
            "abstract": f"Here we propose something new about {' and '.join(paper.get('own', ['it']))}.",
        }
        for name, paper in known.items()
    ]
    monkeypatch.setattr(live, "Manners", lambda: HURRIED)
    with upstream(papers) as address:
        with (copy / "prepare.py").open("a", encoding="utf-8") as script:
            script.write(f"\n\nLIVE = {{'atom': {address!r}, 'scholar': {address!r}}}\n")
        prepared = made_ready(load_task(copy))
        assert any(prepared.public.rglob("*")) and any(prepared.private.rglob("*"))
        made = run(copy, "starter", variant="full", runs=runs, network=True)
    assert made.grade is not None and made.grade.valid and made.grade.success is False
    assert made.grade.score is not None and made.grade.score > 0.05
