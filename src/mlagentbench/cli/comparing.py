"""Comparisons on the screen: two sides against each other, and runs by kind of task or by date of its data."""

from __future__ import annotations

from collections.abc import Sequence

from mlagentbench.cli.screen import Part, Screen
from mlagentbench.cli.words import estimate
from mlagentbench.evaluation.breakdown import ByCategory, ByDate, Slice
from mlagentbench.evaluation.comparison import Paired, TaskPair
from mlagentbench.evaluation.statistics import Estimate


def tell_forked(screen: Screen, forked: int) -> None:
    """How many of the runs are not all their agent's own work."""
    if forked == 1:
        screen.line(("1 of these runs was forked from another: it began with that one's steps.", "warn"))
    elif forked:
        screen.line(
            (f"{forked} of these runs were forked from others: they began with those ones' steps.", "warn")
        )


def tell_paired(screen: Screen, found: Paired) -> None:
    """By how much the first side is better than the second, how sure that is, and what it means."""
    screen.line()
    screen.line((found.first, "name"), " against ", (found.second, "name"))
    rows: list[list[Part]] = []
    for name, difference in (("improvement", found.improvement), ("success", found.success)):
        if difference is not None:
            signed = name == "improvement"
            rows.append(
                [
                    name,
                    estimate(difference.first, rate=not signed, signed=signed),
                    estimate(difference.second, rate=not signed, signed=signed),
                    estimate(difference.effect, signed=True),
                ]
            )
    if rows:
        screen.table(["mean over tasks", f">{found.first}", f">{found.second}", ">difference"], rows)
    if found.probability is not None:
        screen.line(
            f"A run of {found.first} gains more than one of {found.second} with a probability of ",
            (estimate(found.probability, rate=True), "title"),
            ".",
        )
    screen.line(_pairing(found.tasks))
    decided = {"Improvement": found.improvement, "Success": found.success}
    for sentence in found.words:
        difference = decided.get(sentence.partition(":")[0])
        screen.line((sentence, "good" if difference is not None and difference.decided else "warn"))


def _pairing(tasks: Sequence[TaskPair]) -> Part:
    """How runs were set against each other."""
    paired = sum(each.paired for each in tasks)
    runs = sum(each.first_runs for each in tasks), sum(each.second_runs for each in tasks)
    if not tasks:
        return ""
    differ = (
        "their seeds differ" if all(each.seeds_known for each in tasks) else "imported runs have no seeds"
    )
    how = "paired by seed" if paired == len(tasks) else f"not paired: {differ}"
    if 0 < paired < len(tasks):
        how = f"paired by seed on {paired} of them, all with all on the others"
    return (f"{runs[0]} runs against {runs[1]} over {len(tasks)} task{'s'[: len(tasks) > 1]}, {how}.", "dim")


def category_table(screen: Screen, found: Sequence[ByCategory]) -> None:
    rows: list[list[Part]] = [
        [each.category, (each.who, "name"), *_numbers(each.result)]
        for each in sorted(found, key=lambda each: (each.who,))
    ]
    screen.line()
    screen.table(["category", "agent", ">tasks", ">runs", ">success", ">improvement"], rows)


def date_table(screen: Screen, found: Sequence[ByDate]) -> None:
    """One block an agent: data that its model can have seen, and others."""
    screen.line()
    if not found:
        screen.line(("None of these runs had a language model.", "warn"))
        return
    rows: list[list[Part]] = []
    for each in found:
        until = each.cutoff or "an unknown month"
        rows += [
            [(each.who, "name"), f"public by {until}", *_numbers(each.before)],
            [(each.who, "name"), f"public after {until}", *_numbers(each.after)],
        ]
        if each.undated.runs:
            rows.append([(each.who, "name"), "cannot be told", *_numbers(each.undated)])
    screen.table(["agent", "data", ">tasks", ">runs", ">success", ">improvement"], rows)
    for each in found:
        screen.line(*_difference(each))
    if any(each.made_up for each in found):
        screen.line(
            (
                "Data of mini variants were made for this benchmark: only the problem can have been seen.",
                "dim",
            )
        )


def _difference(found: ByDate) -> list[Part]:
    if found.cutoff is None:
        return [(f"{found.who}: nobody states until when it was trained; say so with --cutoff.", "warn")]
    if not (found.before.runs and found.after.runs):
        return [(f"{found.who}: there are runs on one side of {found.cutoff} only.", "warn")]
    over_tasks = found.difference_over_tasks
    general = (
        f"with tasks as the sample {_ends(over_tasks)}"
        if over_tasks.low is not None
        else "too few tasks, or tasks too much alike, to say anything of tasks in general"
    )
    return [
        f"{found.who}: success on what came later, minus success on what came before: ",
        (estimate(found.difference, signed=True), "title"),
        f" on these tasks; {general}.",
    ]


def _ends(value: Estimate) -> str:
    return estimate(value, signed=True).partition(" % ")[2]


def _numbers(found: Slice) -> list[Part]:
    return [
        str(found.tasks),
        str(found.runs),
        estimate(found.success, rate=True),
        estimate(found.improvement, signed=True),
    ]
