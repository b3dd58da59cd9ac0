"""The questions that a report is opened for, answered in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from mlagentbench.evaluation.comparison import Paired
from mlagentbench.reporting.model import Answer
from mlagentbench.reporting.tally import Field, Tally, seconds_of, tokens_of
from mlagentbench.reporting.wording import counted, dollars, duration, gain, listed, points, rate, tokens

_SHOWN = 6
"""Agents that a sentence is written for; the tables have all of them."""


def answers(field: Field) -> tuple[Answer, ...]:
    return (
        Answer("Which agent is better?", tuple(_which(field))),
        Answer("By how much?", tuple(_how_much(field))),
        Answer("How sure is that?", tuple(_how_sure(field))),
        Answer("At what cost?", tuple(_cost(field))),
        Answer("Why did runs fail?", tuple(_why(field))),
    )


def _which(field: Field) -> Iterator[str]:
    if field.told_of_untold:
        yield field.told_of_untold
    first = field.agents[0]
    succeeded = f"in {rate(first.success).text} of its runs"
    where = f"over {counted(len(first.tasks), 'task')} and {counted(len(first.runs), 'run')}"
    if len(field.agents) == 1:
        yield f"There is only one agent here, so nothing is compared: {first.who} succeeded {succeeded}, {where}."
        return
    if not any(run.profile.success for run in field.runs):
        yield f"No agent succeeded in any run. {first.who} has the largest improvement, {where}."
    elif _as_often(first, field.agents[1]):
        yield f"Nobody succeeds more often than {first.who}, and it gains most: {succeeded}, {where}."
    else:
        yield f"{first.who} succeeds most often: {succeeded}, {where}."
    if not field.common:
        yield "No task has runs of all agents, so that this order means little."
    elif len(field.common) < len(field.tasks):
        yield f"The order is that over the {counted(len(field.common), 'task')} that all agents have runs of."
    verdicts: dict[str, list[str]] = {}
    for pair in _of_first(field):
        verdicts.setdefault(_verdict(pair), []).append(pair.second)
    for verdict, others in verdicts.items():
        yield verdict.format(listed(others))


def _as_often(first: Tally, second: Tally) -> bool:
    """Whether both succeed as often on the tasks that both have runs of, if there are any."""
    both = first.tasks.keys() & second.tasks.keys()
    sides = (first.on(both), second.on(both)) if both else (first, second)
    return sides[0].success.value == sides[1].success.value


def _verdict(pair: Paired) -> str:
    """What is decided between the first agent and another."""
    if not pair.tasks:
        return "With {} it has no task in common."
    measures = {"success": pair.success, "improvement": pair.improvement}
    won = [name for name, found in measures.items() if found is not None and found.better == "first"]
    lost = [name for name, found in measures.items() if found is not None and found.better == "second"]
    still = [name for name, found in measures.items() if found is not None and not found.better]
    if won and lost:
        return f"Against {{}}, it is better in {won[0]} and worse in {lost[0]}: both are decided."
    if won or lost:
        what = f"Decided: it is {'better' if won else 'worse'} than {{}} in {listed(won or lost)}"
        return f"{what}; {still[0]} is not decided." if still else f"{what}."
    return "Not decided by these runs: whether it is better than {}."


def _of_first(field: Field) -> list[Paired]:
    """The first agent against each other one."""
    return field.pairs[: len(field.agents) - 1]


def _how_much(field: Field) -> Iterator[str]:
    against = [pair for pair in _of_first(field) if pair.tasks]
    if not against:
        first = field.agents[0]
        yield f"{first.who} improved the code that tasks begin with by {gain(first.improvement).text} on average."
        return
    for pair in against[:_SHOWN]:
        said = []
        if pair.success is not None:
            said.append(f"success {points(pair.success.effect).text}")
        if pair.improvement is not None:
            said.append(f"improvement {points(pair.improvement.effect).text}")
        chance = (
            f"; a run of the first gains more with a probability of {rate(pair.probability).text}"
            if pair.probability is not None
            else ""
        )
        over = counted(len(pair.tasks), "task")
        yield f"{pair.first} against {pair.second}, over {over}: {', '.join(said)}{chance}."
    if len(against) > _SHOWN:
        yield f"{counted(len(against) - _SHOWN, 'more comparison')} can be found in the table below."
    yield "Improvement is over the code that a task begins with; pp are percentage points."


def _how_sure(field: Field) -> Iterator[str]:
    cells = [len(runs) for each in field.agents for runs in each.tasks.values()]
    few, many = min(cells), max(cells)
    each = counted(many, "run") if few == many else f"{few:,} to {counted(many, 'run')}"
    yield (
        f"Numbers in brackets are intervals of 95 % confidence, from {each} of each agent on each task. They say how "
        "far the results on these tasks would differ if the runs were made again; other tasks may differ by more."
    )
    still = [pair for pair in _of_first(field) if "ot decided" in _verdict(pair)]
    for pair in still[:_SHOWN]:
        for measure, found in (("success", pair.success), ("improvement", pair.improvement)):
            if found is not None and found.runs_needed:
                yield (
                    f"{pair.first} against {pair.second}: if the difference in {measure} is as large as it "
                    "looks, about "
                    f"{found.runs_needed:,} runs of each on each task would decide it, four times out of five."
                )
    if len(field.pairs) > 1:
        yield (
            f"There are {len(field.pairs)} comparisons, each with 95 % of its own: where nothing differs, about one in "
            "twenty seems decided by chance."
        )


def _cost(field: Field) -> Iterator[str]:
    for each in field.agents[:_SHOWN]:
        yield f"{each.who}: {_used(each)} a run on average."
    if len(field.agents) > _SHOWN:
        yield f"{counted(len(field.agents) - _SHOWN, 'more agent')} can be found in the tables below."
    if len(field.agents) > 1 and any(each.success.value for each in field.agents):
        front = field.front(lambda each: each.cost)
        if front and any(each.cost for each in field.agents):
            yield (
                "Nobody whose cost is known succeeds as often for less money than "
                f"{listed([each.who for each in front])}."
            )
        quick = field.front(lambda each: each.mean(seconds_of))
        if quick:
            all_timed = all(each.mean(seconds_of) is not None for each in field.agents)
            nobody = "Nobody" if all_timed else "Nobody whose time is known"
            yield f"{nobody} succeeds as often in less time than {listed([each.who for each in quick])}."


def _used(each: Tally) -> str:
    money = "cost not known" if each.cost is None else dollars(each.cost).text
    read, took = each.mean(tokens_of), each.mean(seconds_of)
    words = "tokens not known" if read is None else f"{tokens(read).text} tokens"
    return f"{money}, {words}, {'time not known' if took is None else duration(took).text}"


def _why(field: Field) -> Iterator[str]:
    untold = sum(run.outcome == "not graded" for run in field.runs)
    failed = sum(not run.profile.success for run in field.runs) - untold
    if not failed and not untold:
        yield f"None did: all {counted(len(field.runs), 'run')} succeeded."
        return
    if failed:
        yield from _modes(field, failed)
    if untold:
        yield (
            f"Of {counted(untold, 'run')} that {'was' if untold == 1 else 'were'} imported and not graded here, nobody "
            "knows the outcome."
        )
    unsupported = sum(run.profile.claims.unsupported_count for run in field.runs)
    checked = sum(run.profile.claims.checked for run in field.runs)
    if checked:
        yield (
            f"Of {counted(checked, 'number')} that agents claimed to have measured, {unsupported:,} "
            f"{'is' if unsupported == 1 else 'are'} not supported by anything that they had observed."
        )


def _modes(field: Field, failed: int) -> Iterator[str]:
    yield f"{failed:,} of {counted(len(field.runs), 'run')} did not succeed."
    for each in field.agents[:_SHOWN]:
        modes = [
            (mode, n) for mode, n in each.outcomes.most_common() if mode not in ("success", "not graded")
        ]
        if modes:
            said = ", ".join(f"{mode} {n:,}" for mode, n in modes)
            yield f"{each.who}: {sum(n for _, n in modes):,} of {len(each.runs):,} ({said})."
    by_hand = sum(
        run.profile.failure is not None and run.profile.failure.by == "person" for run in field.runs
    )
    corrected = f"a person corrected {counted(by_hand, 'run')}" if by_hand else "nobody corrected any by hand"
    yield f"These modes come from stated rules; {corrected}."
