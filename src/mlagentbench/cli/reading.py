"""Reading a run: as a person wants to see it, and as files."""

from __future__ import annotations

import io
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from mlagentbench import bounds
from mlagentbench.cli.annotating import tell_failure, tell_unsupported
from mlagentbench.cli.finding import find_run
from mlagentbench.cli.live import result_of
from mlagentbench.cli.screen import Part, PlainScreen, Screen, Style
from mlagentbench.cli.thoughts import Thoughts, thoughts_before
from mlagentbench.cli.words import arguments_of, call_in_words, changed_paths, head_of, shortened, tell_grade
from mlagentbench.environment.actions.thinking import DIFFERENCE
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.profile import read_profile
from mlagentbench.evaluation.verdicts import snapshot_at
from mlagentbench.record import RunFolder
from mlagentbench.record.events import (
    Denied,
    Event,
    LimitHit,
    ModelCalled,
    Note,
    Resumed,
    RunEnded,
    RunStarted,
    StepTaken,
)
from mlagentbench.record.summary import read_summary
from mlagentbench.units import format_duration, format_size
from mlagentbench.workspace import Change, Entry, Store, diff, materialise
from mlagentbench.workspace import read as read_snapshot
from mlagentbench.workspace.text_diff import text_diff

_LARGEST_DIFF = 1_000_000
_LONGEST_DIFF = 200
"""Lines of one file's diff, where not all is asked for."""
_PROBLEM_LINES = 8
_WRITTEN = frozenset(
    {
        ".py", ".pyi", ".ipynb", ".sh", ".r", ".jl", ".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".rs", ".go", ".java",
        ".js", ".ts", ".sql", ".tex", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".md", ".rst", ".html", ".css",
    }
)  # fmt: skip
_WRITTEN_NAMES = frozenset({"makefile", "dockerfile", "readme", "readme.txt", ".gitignore"})


def show(run: str | Path, step: int | None = None, *, folder: str | Path = "runs") -> str:
    """A run as text, or one step of it in full with the diff that it made.

    >>> import mlagentbench
    >>> print(mlagentbench.show("last", 1))                                                # doctest: +SKIP
    """
    text = io.StringIO()
    draw(PlainScreen(text), find_run(run, folder), step)
    return text.getvalue()


def checkout(
    run: str | Path, target: str | Path, step: int | None = None, *, folder: str | Path = "runs"
) -> Path:
    """Write the workspace of a run, as it was after a step (0: at the beginning; without one: at the end), into the
    new folder `target`. Read-only data are not part of it."""
    found = find_run(run, folder)
    place = Path(target)
    if place.exists():
        raise UsageError(f"{place} exists already; name a folder that does not.")
    snapshot = snapshot_at(found, step)
    place.mkdir(parents=True)
    materialise(found.store(), snapshot, place)
    return place


def draw(screen: Screen, folder: RunFolder, step: int | None = None, *, whole: bool = True) -> None:
    if step is None:
        draw_run(screen, folder)
    else:
        draw_step(screen, folder, step, whole=whole)


def draw_run(screen: Screen, folder: RunFolder) -> None:
    """What was asked, each step, how it ended, and the grade."""
    request = folder.request()
    head_of(screen, request)
    asked = time.strftime("%Y-%m-%d %H:%M", time.localtime(request.created))
    settings = ", ".join(f"{name}={value}" for name, value in request.settings.items())
    screen.line(("asked   ", "label"), asked, f", settings {settings}" if settings else "")
    history = folder.history()
    thoughts = thoughts_before(history.events)
    for event in history.events:
        _draw_event(screen, event, thoughts)
    if history.dropped:
        screen.line(
            (f"A torn last line of {history.dropped} bytes was left by a kill; resuming drops it.", "warn")
        )
    summary = read_summary(folder)
    if not summary.ended:
        place = shlex.quote(str(folder.path))
        if folder.is_written():
            screen.line(("running ", "label"), "this is its record so far")
        else:
            screen.line(("stopped; go on with: ", "warn"), f"mlagentbench resume {place}")
    elif request.own is None:
        tell_grade(screen, summary.grade)
        profile = read_profile(folder)
        tell_failure(screen, profile.failure)
        tell_unsupported(screen, profile.claims)
    screen.line(("run     ", "label"), str(folder.path))


def _draw_event(screen: Screen, event: Event, thoughts: Mapping[int, Thoughts]) -> None:
    match event:
        case RunStarted():
            lines = event.problem.strip().splitlines()
            more = f"\n… {len(lines) - _PROBLEM_LINES} more lines" if len(lines) > _PROBLEM_LINES else ""
            screen.line()
            screen.line(("\n".join(f"  {line}" for line in lines[:_PROBLEM_LINES]), "dim"), (more, "dim"))
            screen.line()
        case StepTaken():
            _draw_short_step(screen, event, thoughts.get(event.index))
        case ModelCalled():
            screen.line((f"      {call_in_words(event)}", "dim"))
        case Denied():
            screen.line("      ", ("denied: ", "warn"), event.text)
        case LimitHit():
            unit = {"time": " seconds"}.get(event.name, "")
            screen.line(("limit   ", "label"), (f"{event.name}: {event.value:g}{unit} reached", "warn"))
        case Note():
            screen.line(("note    ", "label"), event.text)
        case Resumed():
            screen.line(("resumed ", "label"), f"after step {event.step}")
        case RunEnded():
            detail = f": {event.detail}" if event.detail else ""
            after = f" after {format_duration(event.elapsed)}"
            style: Style = "bad" if event.reason == "error" else ""
            screen.line()
            screen.line(("ended   ", "label"), (event.reason + detail, style), after)


def _draw_short_step(screen: Screen, step: StepTaken, thoughts: Thoughts | None) -> None:
    screen.line(
        (f"{step.index:>4}  ", "label"),
        (step.action.name, "name"),
        "  ",
        arguments_of(step.action),
        (f"  {format_duration(step.seconds)}" if step.seconds else "", "dim"),
    )
    if thoughts is not None:
        thoughts.draw_short(screen)
    if step.observation.execution:
        for line in step.observation.output_lines[-3:]:
            screen.line((f"        {shortened(line, 110)}", "dim"))
    screen.line("      ", *result_of(step))
    if step.changes:
        screen.line((f"      changed: {changed_paths(change.path for change in step.changes)}", "dim"))


def draw_step(screen: Screen, folder: RunFolder, index: int, *, whole: bool = True) -> None:
    """One step in full: what was thought, arguments, output, and the diff; `whole`, however long that of a file is."""
    before, step = step_at(folder, index)
    if thoughts := thoughts_before(folder.history().events).get(index):
        thoughts.draw_whole(screen)
        screen.line()
    screen.line((f"step {step.index}  ", "label"), (step.action.name, "name"))
    for name, value in step.action.args.items():
        text = str(value)
        screen.line((f"{name}:", "label"), "\n" if "\n" in text else " ", text.rstrip("\n"))
    screen.line()
    if step.observation.output:
        _draw_output(screen, folder, step.observation.output)
    else:
        screen.line(step.observation.text)
    shown_already = {edit.saved for edit in step.edits} if DIFFERENCE in step.observation.text else set()
    took = f"  {format_duration(step.seconds)} in all" if step.seconds else ""
    screen.line(*result_of(step), (took, "dim"))
    store = folder.store()
    for change in diff(store, before, step.snapshot):
        if change.path in shown_already:
            continue
        lines = list(change_lines(store, before, step.snapshot, change))
        shown = lines if whole else lines[:_LONGEST_DIFF]
        for line in shown:
            screen.line(coloured(line))
        if more := len(lines) - len(shown):
            told = f"… {more:,} more lines of the diff of {change.path}; --all shows them"
            screen.line((told, "warn"))


def _draw_output(screen: Screen, folder: RunFolder, name: str) -> None:
    """The whole output of a step, up to what anybody could read."""
    most = bounds.OUTPUT.value()
    try:
        with folder.open_output(name) as stream:
            text = stream.read(most).decode("utf-8", "replace")
            more = bool(stream.read(1))
    except FileNotFoundError:
        screen.line((f"outputs/{name} is missing.", "bad"))
        return
    screen.line(text)
    if more:
        screen.line((f"… {bounds.OUTPUT.sentence(most)}", "warn"))


def step_at(folder: RunFolder, index: int) -> tuple[str, StepTaken]:
    """The step, and the snapshot before it."""
    steps = [event for event in folder.history().events if isinstance(event, StepTaken)]
    if not 1 <= index <= len(steps):
        raise UsageError(f"{folder.path} has the steps 1 to {len(steps)}; there is no step {index}.")
    return snapshot_at(folder, index - 1), steps[index - 1]


def diff_lines(store: Store, before: str, after: str) -> Iterator[str]:
    """What changed between two snapshots, as a unified diff; what is no text is told in a sentence."""
    for change in code_first(diff(store, before, after)):
        yield from change_lines(store, before, after, change)


def is_code(path: str) -> bool:
    """Whether a file is one that people write, as far as its name tells, and not data, logs or results."""
    name = path.rpartition("/")[2].lower()
    return PurePosixPath(name).suffix in _WRITTEN or name in _WRITTEN_NAMES or name.startswith("requirements")


def code_first(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: not is_code(change.path))


def change_lines(store: Store, before: str, after: str, change: Change) -> Iterator[str]:
    """One of these changes."""
    old, new = _text(store, before, change.before), _text(store, after, change.after)
    if old is None or new is None:
        yield f"{change.kind}: {described(change)}"
        return
    names = (
        f"a/{change.path}" if change.before else "/dev/null",
        f"b/{change.path}" if change.after else "/dev/null",
    )
    yield from text_diff(old, new, names)
    if change.before and change.after and change.before.mode != change.after.mode:
        yield f"mode of {change.path}: {change.before.mode:o} becomes {change.after.mode:o}"


def _text(store: Store, snapshot: str, entry: Entry | None) -> str | None:
    if entry is None:
        return ""
    if entry.kind != "file" or entry.size > _LARGEST_DIFF:
        return None
    data = read_snapshot(store, snapshot, entry.path, _LARGEST_DIFF)
    return None if b"\0" in data else data.decode("utf-8", "replace")


def described(change: Change) -> str:
    entry = change.after or change.before
    assert entry is not None
    size = f", {format_size(entry.size)}" if entry.kind == "file" else ""
    target = f" -> {entry.target}" if entry.target else ""
    return f"{change.path}{target} ({entry.kind}{size})"


def coloured(line: str) -> Part:
    if line.startswith(("---", "+++", "@@")):
        return (line, "name")
    return (line, "good" if line.startswith("+") else "bad" if line.startswith("-") else "")
