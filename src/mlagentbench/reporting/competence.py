"""How well agents did: by agent, category and task, against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlagentbench.evaluation.breakdown import by_date
from mlagentbench.evaluation.pairing import Difference
from mlagentbench.evaluation.statistics import Estimate, stratified_mean
from mlagentbench.reporting import charts
from mlagentbench.reporting.drawing import drawn, span, told_of_drawn, whole
from mlagentbench.reporting.model import Cell, Figure, Row, Section, Table, columns
from mlagentbench.reporting.scene import Picture
from mlagentbench.reporting.tally import Field, Tally
from mlagentbench.reporting.wording import NOTHING, count, gain, points, rate, scored, share


def competence(field: Field) -> list[Section]:
    found = [_agents(field)]
    if len(field.agents) > 1:
        found.append(_pairs(field))
    return [*found, _categories(field), _tasks(field), *_dates(field)]


def _agents(field: Field) -> Section:
    names = (
        "agent",
        ">tasks",
        ">runs",
        ">success",
        ">decided",
        ">over plain",
        ">improvement",
        ">middle half",
        ">position",
        ">valid",
        ">ended",
    )
    rows = [
        (
            each.who,
            count(len(each.tasks)),
            count(len(each.runs)),
            rate(each.success),
            rate(each.rate(lambda profile: profile.decided)),
            rate(each.over_plain),
            gain(each.improvement),
            gain(each.middle),
            scored(each.position),
            share(sum(_valid(run.summary.grade) for run in each.runs), len(each.runs)),
            share(sum(bool(run.summary.ended) for run in each.runs), len(each.runs)),
        )
        for each in field.agents
    ]
    notes = (
        "Every run counts: one that did not end, or left nothing valid, is no success and no gain. Every task weighs "
        "the same.",
        "Success is more than 10 % better than the starter, as published; decided success is also beyond twice the "
        "starter's measured spread; over plain is more than 10 % better than a plain, competent model. Middle half is "
        "the interquartile mean of the improvement. Position is 0 at the starter and 1 at the oracle.",
        *([field.told_of_untold] if field.told_of_untold else []),
    )
    return Section(
        "agents",
        "Agents",
        (),
        (
            Figure(
                "success-by-agent",
                "Success by agent",
                f"The share of runs that succeed, with 95 % intervals.{told_of_drawn(field)}",
                _by_agent(field, lambda each: each.success, "Success rate by agent", rate, (0.0, 1.0), whole),
            ),
            Figure(
                "improvement-by-agent",
                "Improvement by agent",
                f"Mean improvement over the starter, with 95 % intervals.{told_of_drawn(field)}",
                _by_agent(
                    field, lambda each: each.improvement, "Mean improvement by agent", gain, None, whole
                ),
            ),
            Table("agents", "Results by agent", columns(*names), tuple(rows), notes),
            _thresholds(field),
        ),
    )


def _thresholds(field: Field) -> Table:
    """Success by other rules than the published one."""
    fewest = min(len(runs) for each in field.agents for runs in each.tasks.values())
    tries = [k for k in (2, 3, 5, 8) if k <= fewest]
    names = (
        "agent",
        ">at 5 %",
        ">at 10 %",
        ">at 20 %",
        ">at 30 %",
        *(f">one of {k}" for k in tries),
        ">lost since best",
    )
    rows: list[Row] = [
        (
            each.who,
            *(rate(each.success_at(at)) for at in ("5%", "10%", "20%", "30%")),
            *(rate(each.any_of(k)) for k in tries),
            gain(each.lost_since_best),
        )
        for each in field.agents
    ]
    notes = (
        "One of k is the chance that at least one of k runs succeeds. Lost since best is by how much the best "
        "workspace of a run was better than its last, where every step was graded.",
    )
    return Table(
        "thresholds", "Success at other thresholds", columns(*names), tuple(rows), notes, folded=True
    )


def _by_agent(
    field: Field,
    value: Callable[[Tally], Estimate],
    label: str,
    words: Callable[[Estimate], Cell],
    axis: tuple[float, float] | None,
    tick: charts.Words,
) -> Callable[[int], Picture]:
    def draw(width: int) -> Picture:
        rows = [(each.who, [(series, value(each), words(value(each)).text)]) for series, each in drawn(field)]
        limits = axis or span([value(each) for _, each in drawn(field)])
        return charts.intervals(width, f"{label} ({field.variant})", rows, limits, tick)

    return draw


def _grouped(
    field: Field, groups: Sequence[tuple[str, Sequence[Tally]]], label: str
) -> Callable[[int], Picture]:
    of = {each.who: series for series, each in drawn(field)}

    def draw(width: int) -> Picture:
        rows = [
            (
                name,
                [(of[each.who], each.success, rate(each.success).text) for each in tallies if each.who in of],
            )
            for name, tallies in groups
        ]
        return charts.intervals(width, f"{label} ({field.variant})", rows, (0.0, 1.0), whole)

    return draw


def _pairs(field: Field) -> Section:
    names = (
        "agent",
        "against",
        ">tasks",
        ">success",
        "success decided",
        ">improvement",
        "improvement decided",
        ">gains more",
        ">runs needed",
    )
    rows = []
    for pair in field.pairs:
        needed = [
            each.runs_needed
            for each in (pair.success, pair.improvement)
            if each is not None and each.runs_needed
        ]
        rows.append(
            (
                pair.first,
                pair.second,
                count(len(pair.tasks)),
                points(pair.success.effect) if pair.success else NOTHING,
                _decision(pair.success),
                points(pair.improvement.effect) if pair.improvement else NOTHING,
                _decision(pair.improvement),
                rate(pair.probability) if pair.probability else NOTHING,
                count(min(needed)) if needed else NOTHING,
            )
        )
    notes = (
        "Differences are the first agent's number minus the second's, as the mean over the tasks that both have runs "
        "of, in percentage points (pp); decided are those whose interval is without zero. Runs are paired "
        "by seed where both have the same seeds. Gains more is the "
        "chance that a run of the first gains more than a run of the second on the same task. Runs needed, of each on "
        "each task, would decide a difference as large as the one that was seen four times out of five.",
    )
    left_out = sorted({name for pair in field.pairs for name in pair.left_out})
    text = (
        (
            f"Tasks that only one of two agents has runs of do not count in their comparison: {', '.join(left_out)}.",
        )
        if left_out
        else ()
    )
    return Section(
        "comparison",
        "Against each other",
        text,
        (Table("comparison", "Agents against each other", columns(*names), tuple(rows), notes),),
    )


def _decision(found: Difference | None) -> str:
    if found is None:
        return "–"
    return "yes" if found.better else "no"


def _categories(field: Field) -> Section:
    groups = field.categories()
    rows = [
        (
            category,
            each.who,
            count(len(each.tasks)),
            count(len(each.runs)),
            rate(each.success),
            gain(each.improvement),
        )
        for category, tallies in groups
        for each in tallies
    ]
    return Section(
        "categories",
        "Categories of tasks",
        (),
        (
            Figure(
                "success-by-category",
                "Success by category",
                f"The share of runs that succeed in each kind of task, with 95 % intervals.{told_of_drawn(field)}",
                _grouped(field, groups, "Success rate by category and agent"),
            ),
            Table(
                "categories",
                "Results by category",
                columns("category", "agent", ">tasks", ">runs", ">success", ">improvement"),
                tuple(rows),
            ),
        ),
    )


def _tasks(field: Field) -> Section:
    groups = [(task, field.on(task)) for task in field.tasks]
    rows = []
    for task, tallies in groups:
        for each in tallies:
            scores = [
                run.summary.grade.score
                for run in each.runs
                if run.summary.grade and run.summary.grade.valid and run.summary.grade.score is not None
            ]
            baseline = next(
                (
                    run.summary.grade.baseline
                    for run in each.runs
                    if run.summary.grade and run.summary.grade.baseline
                ),
                None,
            )
            rows.append(
                (
                    task,
                    each.who,
                    count(len(each.runs)),
                    rate(each.success),
                    rate(each.rate(lambda profile: profile.decided)),
                    scored(stratified_mean([scores])),
                    Cell(f"{baseline.mean:.4g} ± {baseline.spread:.2g}", baseline.mean)
                    if baseline
                    else NOTHING,
                    gain(each.improvement),
                    share(len(scores), len(each.runs)),
                )
            )
    names = (
        "task",
        "agent",
        ">runs",
        ">success",
        ">decided",
        ">score",
        ">baseline",
        ">improvement",
        ">valid",
    )
    notes = (
        "Scores are those of the valid runs, in the unit of the task's metric; baselines are the starter's, "
        "measured, with their spread.",
    )
    return Section(
        "tasks",
        "Tasks",
        (),
        (
            Figure(
                "success-by-task",
                "Success by task",
                f"The share of runs that succeed on each task, with 95 % intervals.{told_of_drawn(field)}",
                _grouped(field, groups, "Success rate by task and agent"),
            ),
            Table("tasks", "Results by task", columns(*names), tuple(rows), notes),
        ),
    )


def _dates(field: Field) -> list[Section]:
    """Only where somebody states until when a model was trained."""
    found = [each for each in by_date(run.profile for run in field.runs) if each.cutoff]
    if not found:
        return []
    rows = [
        (
            each.who,
            each.cutoff or "",
            rate(each.before.success),
            count(each.before.runs),
            rate(each.after.success),
            count(each.after.runs),
            points(each.difference),
            count(each.undated.runs),
        )
        for each in found
    ]
    names = (
        "agent",
        "trained until",
        ">success before",
        ">runs before",
        ">success after",
        ">runs after",
        ">difference",
        ">runs undated",
    )
    note = "Before and after: whether a task's data were public when the model was trained."
    if any(each.made_up for each in found):
        note += " Data of mini variants were made for this benchmark: only the problem can have been seen."
    return [
        Section(
            "dates",
            "Data before and after the model's training",
            (),
            (Table("dates", "Success by date of the data", columns(*names), tuple(rows), (note,)),),
        )
    ]


def _valid(grade: object) -> bool:
    return bool(getattr(grade, "valid", False))
