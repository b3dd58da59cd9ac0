"""Under which conditions the runs were made, and what is not in the numbers."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable

from mlagentbench.reporting.lacking import of_imported
from mlagentbench.reporting.model import Row, Section, Table, columns
from mlagentbench.reporting.reading import Gathered, Seen, limits_in_words
from mlagentbench.reporting.texts import line_of
from mlagentbench.reporting.wording import count, counted
from mlagentbench.units import format_size


def setting(found: Gathered) -> list[Section]:
    return [_conditions(found), _left_out(found)]


def span_of(runs: Iterable[Seen]) -> str:
    """The days on which runs were begun."""
    times = [run.profile.subject.created for run in runs]
    days = [time.strftime("%Y-%m-%d", time.gmtime(each)) for each in (min(times), max(times))]
    return days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"


def _conditions(found: Gathered) -> Section:
    runs = found.runs
    rows: list[Row] = []

    def tell(what: str, said: Iterable[str]) -> None:
        for text, number in Counter(said).most_common():
            rows.append((what, line_of(text, 300), count(number)))

    tell("variant", (run.summary.variant for run in runs))
    tell("network", ("on" if run.summary.network else "off" for run in runs))
    tell("sandbox", ("none: made elsewhere" if run.summary.imported else run.summary.sandbox for run in runs))
    for host, number in found.conditions.hosts.values():
        said = (
            f"{host.system}, {host.machine}, {host.cores} cores, {format_size(host.memory)} memory, Python "
            f"{host.python}"
        )
        rows.append(("hardware", line_of(said, 300), count(number)))
    if elsewhere := sum(map(_imported, runs)):
        rows.append(("hardware", "not known: made elsewhere", count(elsewhere)))
    tell(
        "version of mlagentbench",
        ("none: made elsewhere" if _imported(run) else run.profile.subject.version for run in runs),
    )
    tell("task", (run.summary.task for run in runs))
    tell("graded at every step", ("yes" if run.profile.every_step else "no" for run in runs))
    for what, here in (("forked from another run", _forked), ("imported", _imported)):
        if number := sum(here(run) for run in runs):
            rows.append((what, "yes", count(number)))
    asked = [
        (
            request.called,
            request.model or ("not known" if request.imported and request.agent != "starter" else "none"),
            line_of(json.dumps(request.settings, sort_keys=True, default=str), 300)
            if request.settings
            else "not known"
            if request.imported
            else "as they are",
            limits_in_words(request),
            count(number),
        )
        for request, number in found.conditions.asked.values()
    ]
    text = [f"{counted(len(runs), 'run')}, begun {span_of(runs)}.", *_differing(runs)]
    return Section(
        "conditions",
        "Conditions",
        tuple(text),
        (
            Table("conditions", "What runs were made with", columns("what", "which", ">runs"), tuple(rows)),
            Table(
                "settings",
                "Settings and limits",
                columns("agent", "model", "settings", "limits", ">runs"),
                tuple(asked),
                folded=len(asked) > 12,
            ),
        ),
    )


def _differing(runs: Iterable[Seen]) -> Iterable[str]:
    """Where runs that stand in one row were not of the same data, as far as that is known."""
    data: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        if run.profile.subject.data:
            data.setdefault((run.summary.task, run.summary.variant), set()).add(run.profile.subject.data)
    for (task, variant), digests in sorted(data.items()):
        if len(digests) > 1:
            yield (
                f"{task} ({variant}): the runs are of {len(digests)} different sets of data, made with other "
                "keys, seeds or versions."
            )


def _left_out(found: Gathered) -> Section:
    damaged = [run for run in found.runs if run.damage]
    text = []
    if found.left_out:
        text.append(f"{counted(len(found.left_out), 'entry')} could not be counted:")
        text += found.left_out
    elif any(map(_imported, found.runs)):
        text.append("No run was left out, but not everything is known of those that were imported.")
    else:
        text.append("Nothing was left out: every run that was found is in every number.")
    if damaged:
        text.append(
            f"{counted(len(damaged), 'run')} {'has' if len(damaged) == 1 else 'have'} a damaged record. They "
            "stay in the numbers as runs without a grade:"
        )
        text += [
            f"{run.summary.run} ({run.who}, {run.summary.task}): {line_of(run.damage, 300)}"
            for run in damaged
        ]
    unfinished = sum(run.unfinished for run in found.runs)
    if unfinished:
        text.append(f"{counted(unfinished, 'run')} had not ended; they count as not successful so far.")
    ungraded = sum(
        bool(run.summary.ended) and run.summary.grade is None and not run.damage and not run.untold
        for run in found.runs
    )
    if ungraded:
        text.append(f"{counted(ungraded, 'run')} ended without a grade; they count as not successful.")
    text += of_imported(found.runs)
    return Section("left-out", "What was left out", tuple(text))


def _forked(run: Seen) -> bool:
    return run.profile.subject.forked


def _imported(run: Seen) -> bool:
    return run.summary.imported
