"""Making a task's data ready: once, whole or not at all, the same bytes every time."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from mlagentbench.errors import PreparationError, UsageError
from mlagentbench.folders import cache_folder
from mlagentbench.sandbox.spec import Interpreter, Sandbox
from mlagentbench.task import worker
from mlagentbench.task.cache import locked, sync_folder, write_durably
from mlagentbench.task.definition import HuggingFaceSource, Task
from mlagentbench.task.full_disk import demand_space
from mlagentbench.task.interpreter import find_interpreter, interpreter_for
from mlagentbench.task.manifest import Manifest, differences, digest_of, record
from mlagentbench.task.progress import Progress, silent
from mlagentbench.task.registry import in_suite
from mlagentbench.units import format_size

_LONGEST = 24 * 3600.0
_MANIFEST = "prepared.json"
_MAKES_NO_DATA = (
    "grade.py", "infer.py", "problem.md", "task.toml", "starter", "plain", "solution", "__pycache__",
)  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """A task's data in one variant, and the interpreter that its code runs on."""

    task: Task
    variant: str
    seed: int
    public: Path
    """Files that the agent may read, at their places in the workspace."""
    private: Path
    """What the grader needs, and nothing that an agent wrote may ever see."""
    starter: Path
    """Files that the agent finds in its workspace and may change."""
    interpreter: Interpreter
    digest: str
    """Of the content of all prepared files."""

    @property
    def folder(self) -> Path:
        return self.public.parent


@dataclass(frozen=True)
class _Raw:
    """What was said about raw files: where they lie, if a person has them, and how many are enough."""

    given: Path | None
    limit: int | None


def file_name(variant: str) -> str:
    """A variant in the name of a file or folder."""
    return re.sub("[/=]", "--", variant)


def choose_variant(task: Task, variant: str | None = None) -> str:
    """The variant that was asked for; without one `mini`, or the only one that there is."""
    names = list(task.definition.variants)
    if variant is None:
        if "mini" in names:
            return "mini"
        if len(names) == 1:
            return names[0]
    elif variant in names:
        return variant
    elif "=" in variant and variant.partition("=")[0] in names:
        return _exchanged(task, variant)
    asked = f"no variant {variant!r}" if variant else "no variant mini"
    raise UsageError(f"{task.id} has {asked}; it has {', '.join(names)}. Say which with --variant.")


def _exchanged(task: Task, variant: str) -> str:
    plain, _, exchange = variant.partition("=")
    sources = task.definition.variants[plain].sources
    if not any(isinstance(each, HuggingFaceSource) and each.exchangeable for each in sources):
        raise UsageError(
            f"{task.id} ({plain}) is made of no other data than its own; give --variant {plain}."
        )
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*@[0-9a-f]{40}", exchange):
        raise UsageError(
            f"{exchange!r} does not name one repository for good; give --variant {plain}=OWNER/REPOSITORY@COMMIT with "
            f"the 40 digits of a commit, which the hub's page of its files shows."
        )
    return variant


def prepare(
    task: Task,
    variant: str | None = None,
    *,
    seed: int = 0,
    key: str | None = None,
    source: Path | None = None,
    limit: int | None = None,
    python: str | None = None,
    progress: Progress | None = None,
    network: bool = False,
    sandbox: Sandbox | None = None,
    again: bool = False,
) -> Prepared:
    """Make the data ready, unless they are; with `again`, in any case. `source` is what a person downloaded by hand.
    `limit` is for tasks that can do with fewer records: 0 takes all, None whatever is ready, and all where nothing is.
    `network` and `sandbox` are for the scripts of original tasks, which are foreign code."""
    variant = choose_variant(task, variant)
    _check_use(task, variant, key, source, limit)
    interpreter = interpreter_for(
        task.definition.requirements_of(variant), python, progress, wheels_only=not task.trusted
    )
    tell = progress or silent
    if limit is None and (limit := _ready_limit(task, variant, seed, key)) is not None:
        tell(f"Using the data of {task.id} ({variant}) that --limit {limit} made.")
    limit = limit or None
    folder = _data_folder(task, variant, seed, key, limit)
    with locked(folder.with_name(f"{folder.name}.lock"), f"the data of {task.id}", progress) as lock:
        _remove_leftovers(folder)
        manifest = _read_manifest(folder)
        if manifest is not None:
            if reason := "it was asked for" if again else _stale(task, variant, folder, manifest):
                tell(f"Making the data of {task.id} ({variant}) again: {reason}.")
            else:
                return _prepared(task, variant, seed, folder, interpreter, manifest)
        tell(f"Making the data of {task.id}, variant {variant}, seed {seed}.")
        building = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        raw = _Raw(source, limit)
        try:
            if task.trusted:
                _make(task, variant, building, _data_seed(seed, key), raw, interpreter, progress, lock)
            else:
                from mlagentbench.task.foreign import make_original

                make_original(
                    task, building, interpreter, sandbox=sandbox, network=network, progress=progress
                )
            manifest = _finish(task, variant, seed, key, building, raw)
            _move_into_place(building, folder)
        except (PreparationError, OSError) as error:
            demand_space(folder, str(error))
            raise
        finally:
            shutil.rmtree(building, ignore_errors=True)
        total = sum(file.size for file in manifest.files)
        tell(
            f"{task.id} ({variant}) is ready: {len(manifest.files)} files, {format_size(total)}, in {folder}."
        )
        return _prepared(task, variant, seed, folder, interpreter, manifest)


def find_prepared(
    task: Task,
    variant: str | None = None,
    *,
    seed: int = 0,
    key: str | None = None,
    limit: int | None = None,
    python: str | None = None,
) -> Prepared | None:
    """The same, if everything is ready and untouched. Looks at sizes and times, not at contents."""
    variant = choose_variant(task, variant)
    interpreter = find_interpreter(task.definition.requirements_of(variant), python)
    if limit is None:
        limit = _ready_limit(task, variant, seed, key)
    folder = _data_folder(task, variant, seed, key, limit)
    manifest = _read_manifest(folder)
    if interpreter is None or manifest is None or _stale(task, variant, folder, manifest):
        return None
    return _prepared(task, variant, seed, folder, interpreter, manifest)


def remake(prepared: Prepared, folder: Path, *, key: str | None = None) -> str:
    """Make the same data again, in `folder`, and give back their digest, which ought to be the same."""
    task = prepared.task
    folder.mkdir(parents=True)
    with locked(folder.with_name(f"{folder.name}.lock"), f"the data of {task.id}") as lock:
        seed = _data_seed(prepared.seed, key)
        made = _read_manifest(prepared.folder)
        given = Path(made.given) if made is not None and made.given else None
        raw = _Raw(given, made.limit if made is not None else None)
        _make(task, prepared.variant, folder, seed, raw, prepared.interpreter, None, lock)
        return _finish(task, prepared.variant, prepared.seed, key, folder, raw).digest


def verify_prepared(prepared: Prepared) -> list[str]:
    """Read every file again; what is not as it was prepared, one phrase each."""
    manifest = _read_manifest(prepared.folder)
    if manifest is None:
        return [f"{prepared.folder / _MANIFEST} is missing or damaged"]
    told = differences(prepared.folder, manifest, _parts(prepared.task), rehash=True)
    if digest_of(manifest.files) != prepared.digest:
        told.append("the data were made again since")
    return told


def _parts(task: Task) -> tuple[str, ...]:
    return ("public", "private") if task.trusted else ("public", "private", "starter")


def _check_use(task: Task, variant: str, key: str | None, source: Path | None, limit: int | None) -> None:
    if limit and not (task.trusted and _takes_limit(task)):
        raise UsageError(f"{task.id} always takes all of its data; leave --limit out.")
    if source is not None and not task.definition.variant(variant).sources:
        raise UsageError(
            f"{task.id} makes its {variant} data itself; leave --from out, or give another --variant."
        )
    if key is not None and not task.trusted:
        raise UsageError(f"{task.id} is in the original's format, whose data no key enters; leave --key out.")
    if key == "":
        raise UsageError("An empty key keeps nothing secret; give --key a long string, or leave it out.")


def _takes_limit(task: Task) -> bool:
    """Whether its `prepare` has a parameter of that name. The script is read, not run."""
    try:
        module = ast.parse((task.folder / "prepare.py").read_bytes())
    except SyntaxError:
        return False
    return any(
        isinstance(each, ast.FunctionDef)
        and each.name == "prepare"
        and any(parameter.arg == "limit" for parameter in (*each.args.args, *each.args.kwonlyargs))
        for each in module.body
    )


def _data_folder(task: Task, variant: str, seed: int, key: str | None, limit: int | None) -> Path:
    # Two folders may hold tasks of one name, a copy under repair for instance; their data must not mix.
    where = "" if in_suite(task) else f"-{hashlib.sha256(os.fsencode(task.folder)).hexdigest()[:8]}"
    keyed = "" if key is None else f"-k{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    limited = "" if limit is None else f"-n{limit}"
    return cache_folder() / "data" / f"{task.id}{where}" / f"{file_name(variant)}-s{seed}{keyed}{limited}"


def _ready_limit(task: Task, variant: str, seed: int, key: str | None) -> int | None:
    """The largest limit that data were made with, where there are none without a limit: they are meant, then."""
    whole = _data_folder(task, variant, seed, key, None)
    if whole.exists():
        return None
    ready = (_read_manifest(folder) for folder in whole.parent.glob(f"{whole.name}-n*"))
    return max((each.limit for each in ready if each is not None and each.limit is not None), default=None)


def _data_seed(seed: int, key: str | None) -> int:
    """What `prepare.py` gets: the seed, or with a key 63 bits that nobody without it can guess."""
    if key is None:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:8]) >> 1


def _fingerprint(task: Task, variant: str) -> str:
    definition = task.definition
    sources = definition.variant(variant).sources
    if task.trusted:
        own = [each for each in task.folder.iterdir() if each.name not in _MAKES_NO_DATA]
        below = [file for each in own for file in (each.rglob("*") if each.is_dir() else (each,))]
        files = sorted(file for file in below if file.is_file() and "__pycache__" not in file.parts)
        shared = _shared_makers(files)
    else:
        shared = []
        files = sorted(file for part in ("env", "scripts") for file in (task.folder / part).rglob("*"))
    stamps = [[file.relative_to(task.folder).as_posix(), _content_stamp(task, file)] for file in files]
    stamps += [[file.name, _content_stamp(task, file)] for file in shared]
    identity = [
        stamps,
        sorted(definition.requirements_of(variant)),
        [source.model_dump(mode="json") for source in sources],
        [] if task.trusted else list(definition.read_only),
    ]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def _shared_makers(scripts: list[Path]) -> list[Path]:
    """The files of packages beside this module that scripts import, because they make data as well."""
    sources = [file.read_text(encoding="utf-8", errors="replace") for file in scripts if file.suffix == ".py"]
    names = {
        name for source in sources for name in re.findall(r"^from mlagentbench\.task\.(\w+)", source, re.M)
    }
    return sorted(file for name in names for file in (Path(__file__).parent / name).glob("*.py"))


def _content_stamp(task: Task, file: Path) -> str | list[int]:
    """Scripts by content; the files of an original folder, which may be large, by size and time."""
    if task.trusted:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    status = file.lstat()
    return [status.st_size, status.st_mtime_ns] if not file.is_dir() else []


def _read_manifest(folder: Path) -> Manifest | None:
    try:
        return Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def _stale(task: Task, variant: str, folder: Path, manifest: Manifest) -> str:
    """Why the data cannot be used as they are; empty where they can."""
    if manifest.fingerprint != _fingerprint(task, variant):
        return "what they are made from has changed"
    return "; ".join(differences(folder, manifest, _parts(task), rehash=False)[:5])


def _prepared(
    task: Task, variant: str, seed: int, folder: Path, interpreter: Interpreter, manifest: Manifest
) -> Prepared:
    starter = task.starter if task.trusted else folder / "starter"
    return Prepared(
        task, variant, seed, folder / "public", folder / "private", starter, interpreter, manifest.digest
    )


def _make(
    task: Task,
    variant: str,
    building: Path,
    seed: int,
    raw: _Raw,
    interpreter: Interpreter,
    progress: Progress | None,
    lock: int,
) -> None:
    for part in _parts(task):
        (building / part).mkdir()
    arguments: dict[str, str | int | Path | None] = {
        "variant": variant.partition("=")[0],
        "public": building / "public",
        "private": building / "private",
        "seed": seed,
    }
    if task.definition.variant(variant).sources:
        from mlagentbench.task.sources.advising import fetch_for

        arguments["source"] = building / "source"
        (building / "source").mkdir()
        fetch_for(task, variant, building / "source", raw.given, progress, raw.limit)
    if raw.limit is not None:
        arguments["limit"] = raw.limit
    worker.call(
        task.folder / "prepare.py", "prepare", arguments, interpreter,
        seconds=_LONGEST, failure=PreparationError, progress=progress, lock=lock,
    )  # fmt: skip
    shutil.rmtree(building / "source", ignore_errors=True)


def _finish(task: Task, variant: str, seed: int, key: str | None, building: Path, raw: _Raw) -> Manifest:
    if key is not None:
        if (building / "private" / "key").exists():
            raise PreparationError(
                f"prepare.py of {task.id} writes private/key, a name that is kept for --key."
            )
        write_durably(building / "private" / "key", key.encode(), mode=0o600)
    for part in _parts(task):
        for folder in (building / part, *(building / part).rglob("*")):
            if folder.is_dir() and not folder.is_symlink():  # what a link leads to is not ours to change
                folder.chmod(0o755)
    (building / "private").chmod(0o700)
    building.chmod(0o755)
    files = record(building, _parts(task))
    if task.trusted and not any(file.path.startswith("private/") for file in files):
        raise PreparationError(
            f"prepare.py of {task.id} wrote nothing into private/, so nothing could be graded."
        )
    manifest = Manifest(
        task=task.id,
        variant=variant,
        seed=seed,
        keyed=key is not None,
        limit=raw.limit,
        given=str(raw.given.expanduser().absolute()) if raw.given is not None else "",
        fingerprint=_fingerprint(task, variant),
        digest=digest_of(files),
        files=files,
    )
    write_durably(building / _MANIFEST, manifest.model_dump_json(indent=1).encode())
    return manifest


def _move_into_place(building: Path, folder: Path) -> None:
    if folder.exists():
        folder.rename(Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent)) / "old")
    building.rename(folder)
    sync_folder(folder.parent)
    _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed builds left beside `folder`. The caller holds the lock, so none is going on."""
    if folder.parent.is_dir():
        for left in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(left)
