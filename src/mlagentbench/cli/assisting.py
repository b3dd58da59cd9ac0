"""What `assist` and `apply` do: a run with a person, the difference that it made, and what of it they take over."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from mlagentbench.cli.live import resumable
from mlagentbench.cli.machine import plain, print_json
from mlagentbench.cli.options import find_own_agents, warn_of_gaps
from mlagentbench.cli.person import PersonAtTerminal, TalkativeWatch
from mlagentbench.cli.reading import change_lines, code_first, coloured, described, is_code
from mlagentbench.cli.screen import Screen, open_screen, visible_line
from mlagentbench.cli.terminal import Terminal
from mlagentbench.environment.consent import Agreeable, EndedByPersonError, Person
from mlagentbench.errors import UsageError
from mlagentbench.launch.applying import Offer, apply, offer
from mlagentbench.launch.assisting import assist
from mlagentbench.launch.run import Run, resume
from mlagentbench.record import RunFolder
from mlagentbench.record.request import OwnProblem
from mlagentbench.units import format_duration, format_size
from mlagentbench.workspace import Change
from mlagentbench.workspace.surveying import Survey

_MOST_LINES = 400
"""Lines of one file's difference that are shown."""
_MOST_OF_DATA = 12
"""The same, of a file that nobody writes by hand."""
_MOST_IN_FULL = 50
"""Files whose difference is shown; of more, the names."""
_MOST_LISTED = 12

Going = Callable[[Person, TalkativeWatch], Run]


def begin(folder: str, wish: str, *, yes: bool, as_json: bool, agent: str, **wanted: Any) -> bool:
    """Work on a folder. False if the agent crashed."""
    screen = open_screen(json=as_json, lasting=True)
    warn_of_gaps(wanted["sandbox"], wanted["network"])
    find_own_agents(agent)

    def going(person: Person, watch: TalkativeWatch) -> Run:
        def told(own: OwnProblem, found: Survey, python: str) -> None:
            _tell_folder(screen, own, found, python)

        return assist(folder, wish, agent, person=person, watch=watch, told=told, **wanted)

    return _accompany(going, screen, yes=yes, as_json=as_json, again="--yes")


def go_on(
    folder: RunFolder,
    *,
    yes: bool,
    as_json: bool,
    sandbox: str | None,
    limits: dict[str, Any],
    calls: dict[str, Any],
) -> bool:
    """Go on with such a run."""
    screen = open_screen(json=as_json, lasting=True)
    request = folder.request()
    warn_of_gaps(sandbox or request.sandbox, request.network)
    find_own_agents(request.agent)

    def going(person: Person, watch: TalkativeWatch) -> Run:
        return resume(folder.path, sandbox=sandbox, limits=limits, calls=calls, watch=watch, person=person)

    again = f"`mlagentbench assist --resume {shlex.quote(str(folder.path))} --yes`"
    return _accompany(going, screen, yes=yes, as_json=as_json, again=again)


def _accompany(going: Going, screen: Screen, *, yes: bool, as_json: bool, again: str) -> bool:
    watch = TalkativeWatch(screen)
    terminal = Terminal(json=as_json) if Terminal.is_there(json=as_json) else None
    if terminal is None and not yes:
        raise UsageError(
            "You would be asked before something is changed or run, and there is no terminal to ask you at. Say "
            f"{again} to allow everything in the copy; your folder stays as it is until you apply what came of it."
        )
    with ExitStack() as stack:
        stack.enter_context(resumable(watch))
        person: Person = Agreeable()
        if terminal is not None:
            person = at_terminal = PersonAtTerminal(terminal, screen, yes=yes)
            stack.enter_context(terminal.interruptible(at_terminal.paused))
        try:
            run = going(person, watch)
        except EndedByPersonError:
            raise KeyboardInterrupt from None  # before the run began, or while it ended
    _tell_end(screen, run)
    applied = settle(RunFolder.open(run.folder), screen, terminal)
    if as_json:
        offered = offer(RunFolder.open(run.folder))
        print_json({"folder": run.folder, "summary": plain(run.summary), **_for_machines(offered, applied)})
    return run.summary.ended != "error"


def settle(folder: RunFolder, screen: Screen, terminal: Terminal | None) -> tuple[str, ...]:
    """Show what a run changed and, where somebody can be asked, apply what they want; what was applied."""
    offered = offer(folder)
    tell_offer(screen, folder, offered)
    later = f"mlagentbench apply {shlex.quote(str(folder.path))}"
    if not offered.changes:
        return ()
    if terminal is None:
        screen.line(("next    ", "label"), f"{later} --all")
        return ()
    try:
        chosen = _choose(offered, folder, screen, terminal)
        if not chosen:
            screen.line("Nothing was applied. Later: ", later)
            return ()
        return carry_over(folder, screen, chosen)
    except KeyboardInterrupt:
        terminal.say(f"\nStopped. Each file is as it was, or applied. Later:\n  {later}")
        raise


def carry_over(folder: RunFolder, screen: Screen, paths: Sequence[str] | None) -> tuple[str, ...]:
    """Apply, and tell what was done."""
    done = apply(folder.path, paths)
    for path in done.changed:
        screen.line(("applied ", "good"), visible_line(path))
    if done.already:
        screen.line((f"{len(done.already)} of them were there already.", "dim"))
    return done.changed


def _choose(offered: Offer, folder: RunFolder, screen: Screen, terminal: Terminal) -> list[str]:
    """The paths that the person wants to be applied."""
    prompt = f"Apply this to {offered.folder}? a: all · f: file by file · n: not now > "
    while (said := terminal.ask(prompt).lower()) not in ("a", "all", "f", "n", "no", "q"):
        screen.line(("Answer a, f or n.", "dim"))
    if said in ("a", "all"):
        return [change.path for change in offered.changes]
    if said != "f":
        return []
    chosen = []
    for change in code_first(offered.changes):
        _tell_change(screen, folder, offered, change)
        prompt = f"Apply {visible_line(change.path)}? y: yes · n: no · q: none of the rest > "
        while (said := terminal.ask(prompt).lower()) not in ("y", "yes", "n", "no", "q"):
            pass
        if said == "q":
            break
        if said in ("y", "yes"):
            chosen.append(change.path)
    return chosen


def tell_offer(screen: Screen, folder: RunFolder, offered: Offer) -> None:
    """The difference, file by file, and what of it cannot be applied."""
    count = len(offered.changes)
    if not count:
        screen.line(("changes ", "label"), f"nothing that could be applied to {offered.folder}")
    else:
        screen.line(("changes ", "label"), f"{count} to {offered.folder}")
    for number, change in enumerate(code_first(offered.changes)):
        if number < _MOST_IN_FULL:
            _tell_change(screen, folder, offered, change)
        else:
            screen.line(visible_line(f"{change.kind}: {described(change)}"))
    for path, reason in list(offered.withheld.items())[:_MOST_LISTED]:
        screen.line(("not applied: ", "dim"), visible_line(f"{path} {reason}"))


def _tell_change(screen: Screen, folder: RunFolder, offered: Offer, change: Change) -> None:
    if change.after is None:
        screen.line((visible_line(f"removed: {described(change)}"), "bad"))
        return
    lines = list(change_lines(folder.store(), offered.before, offered.after, change))
    most = _MOST_LINES if is_code(change.path) else _MOST_OF_DATA
    for line in lines[:most]:
        screen.line(coloured(visible_line(line)))
    if len(lines) > most:
        screen.line((f"… {len(lines) - most:,} more lines of {visible_line(change.path)}", "dim"))


def _tell_folder(screen: Screen, own: OwnProblem, found: Survey, python: str) -> None:
    screen.line(
        ("folder  ", "label"), own.folder, f" (copied: {found.files:,} files, {format_size(found.size)})"
    )
    for place, size in list(found.shown.items())[:_MOST_LISTED]:
        screen.line(
            ("shown   ", "label"), visible_line(place), f" ({format_size(size)}), read-only and not copied"
        )
    left = [f"{place} ({reason})" for place, reason in found.left_out.items()]
    if left:
        more = f", and {len(left) - _MOST_LISTED} more" if len(left) > _MOST_LISTED else ""
        screen.line(("left out", "label"), " ", visible_line(", ".join(left[:_MOST_LISTED])), more)
    for place, target in list(found.outward.items())[:_MOST_LISTED]:
        screen.line(
            ("link    ", "label"), visible_line(f"{place} leads out of the folder, to {target}: not followed")
        )
    screen.line(("python  ", "label"), python)


def _tell_end(screen: Screen, run: Run) -> None:
    summary = run.summary
    why = f": {summary.detail}" if summary.detail else ""
    screen.line()
    screen.line(
        ("ended   ", "label"),
        (f"{summary.ended}{why}", "bad" if summary.ended == "error" else ""),
        f" after {summary.steps} steps and {format_duration(summary.elapsed)}",
    )
    screen.line(("run     ", "label"), str(run.folder))


def _for_machines(offered: Offer, applied: Sequence[str]) -> dict[str, Any]:
    return {
        "original": str(offered.folder),
        "changes": [{"path": visible_line(change.path), "kind": change.kind} for change in offered.changes],
        "withheld": {visible_line(path): visible_line(reason) for path, reason in offered.withheld.items()},
        "applied": [visible_line(path) for path in applied],
    }


def apply_run(folder: RunFolder, files: tuple[str, ...], *, everything: bool, as_json: bool) -> None:
    """What the command `apply` does."""
    screen = open_screen(json=as_json)
    terminal = Terminal(json=as_json) if Terminal.is_there(json=as_json) else None
    if files or everything:
        applied = carry_over(folder, screen, list(files) if files else None)
    elif terminal is None:
        tell_offer(screen, folder, offer(folder))
        raise UsageError("Say what to apply: --all, or the names of files.")
    else:
        applied = settle(folder, screen, terminal)
    if as_json:
        print_json({"folder": folder.path, **_for_machines(offer(folder), applied)})


def found_in(name: str, folder: Path | None) -> RunFolder:
    """A run on somebody's own problem, by its path or by its id in the folder of such runs."""
    from mlagentbench.cli.finding import find_run
    from mlagentbench.launch.assisting import runs_folder

    found = find_run(name, runs_folder(folder))
    if found.request().own is None:
        raise click.UsageError(f"{found.path} is a run on a task; `mlagentbench resume` goes on with it.")
    return found
