"""What is not known of imported runs, in sentences with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.texts import line_of
from mlagentbench.reporting.wording import counted, listed

_UNKNOWN = {
    "execution": "where their time went and what their programs used",
    "cost": "what they cost",
    "tokens": "how often models were asked and how many tokens that took",
    "time": "how long they took",
}
_LISTED = 25


def of_imported(runs: Iterable[Seen]) -> Iterator[str]:
    """What they lack, which of them came from damaged folders, and how many have no grade."""
    imported = [(run, run.imported) for run in runs if run.imported is not None]
    if not imported:
        return
    unknown = Counter(what for run, _ in imported for what in run.summary.unknown)
    lacking = [f"{said} (of {unknown[what]:,})" for what, said in _UNKNOWN.items() if unknown[what]]
    yield (
        f"{counted(len(imported), 'run')} {_was(len(imported))} imported from the original benchmark, which kept "
        f"neither seed nor machine. Not known, and in no figure, is {listed(lacking)}."
    )
    missing = Counter(sentence for _, origin in imported for sentence in origin.missing)
    if missing:
        lack = sum(bool(origin.missing) for _, origin in imported)
        yield f"Of {counted(lack, 'imported run')} more is missing:"
        yield from _some([f"of {n:,}: {line_of(said, 300)}" for said, n in missing.most_common()])
    damaged = [(run, origin.damaged) for run, origin in imported if origin.damaged]
    if damaged:
        yield (
            f"{counted(len(damaged), 'imported run')} {_was(len(damaged))} read from a damaged folder; what could be "
            "read is in the numbers:"
        )
        yield from _some([f"{_name(run)}: {_first(sentences)}" for run, sentences in damaged])
    if untold := sum(run.untold for run, _ in imported):
        yield (
            f"{counted(untold, 'imported run')} {'is' if untold == 1 else 'are'} not graded here. In rates that "
            "counts as not successful, though nobody knows; `mlagentbench grade` grades a run whose data are here."
        )


def _name(run: Seen) -> str:
    return f"{run.summary.run} ({run.who}, {run.summary.task})"


def _first(sentences: tuple[str, ...]) -> str:
    more = f" And {len(sentences) - 1:,} more." if len(sentences) > 1 else ""
    return f"{line_of(sentences[0], 300)}{more}"


def _some(lines: list[str]) -> Iterator[str]:
    yield from lines[:_LISTED]
    if len(lines) > _LISTED:
        yield f"And {len(lines) - _LISTED:,} more; the run.json of each has them."


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
