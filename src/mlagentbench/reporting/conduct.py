"""How agents went about it: why runs failed, what was claimed without evidence, what steps were for."""

from __future__ import annotations

from collections.abc import Callable

from mlagentbench.evaluation.process import Kind
from mlagentbench.reporting import charts
from mlagentbench.reporting.drawing import drawn, told_of_drawn
from mlagentbench.reporting.model import Cell, Figure, Row, Section, Table, columns
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.scene import Paint, Picture
from mlagentbench.reporting.tally import Field, Tally
from mlagentbench.reporting.texts import line_of
from mlagentbench.reporting.wording import count, counted, share

OUTCOMES: tuple[tuple[str, Paint], ...] = (
    ("success", "green"),
    ("bad plan", "orange"),
    ("debugging", "vermilion"),
    ("hallucination", "purple"),
    ("token length", "yellow"),
    ("limit", "sky"),
    ("infrastructure", "blue"),
    ("no mode", "rule"),
    ("not graded", "faint"),
    ("unfinished", "grey"),
)
_KINDS: tuple[Kind, ...] = ("look", "edit", "execute", "think", "submit", "lost", "other")
_LISTED = 25


def conduct(field: Field) -> list[Section]:
    return [_failures(field), _claims(field), _process(field)]


def _failures(field: Field) -> Section:
    def draw(width: int) -> Picture:
        rows = [
            (
                each.who,
                [each.outcomes[name] / len(each.runs) for name, _ in OUTCOMES],
                counted(len(each.runs), "run"),
            )
            for _, each in drawn(field)
        ]
        return charts.bars(
            width,
            f"How runs came out, by agent ({field.variant})",
            OUTCOMES,
            rows,
            lambda value: f"{100 * value:.0f} %",
            1.0,
        )

    untold = sum(run.outcome == "not graded" for run in field.runs)
    names = [name for name, _ in OUTCOMES if untold or name != "not graded"]
    rows: list[Row] = [
        (
            each.who,
            count(len(each.runs)),
            *(count(each.outcomes[name]) for name in names),
            count(sum(_by_hand(run) for run in each.runs)),
        )
        for each in field.agents
    ]
    by_hand = sum(_by_hand(run) for run in field.runs)
    text = (
        "One mode a run, from stated rules that are tried in a fixed order; "
        + (
            f"a person corrected {counted(by_hand, 'run')} of {len(field.runs):,}."
            if by_hand
            else "nobody corrected any of them by hand."
        ),
        *(
            [f"Not graded: {counted(untold, 'imported run')} of which nobody knows the outcome."]
            if untold
            else []
        ),
    )
    caption = f"The share of runs that succeeded, and why the others did not.{told_of_drawn(field)}"
    table = Table(
        "failures",
        "Failure modes",
        columns("agent", ">runs", *(f">{name}" for name in names), ">corrected by hand"),
        tuple(rows),
    )
    return Section(
        "failures",
        "Why runs failed",
        text,
        (Figure("failure-modes", "How runs came out", caption, draw), table, _corrected(field))
        if by_hand
        else (Figure("failure-modes", "How runs came out", caption, draw), table),
    )


def _corrected(field: Field) -> Table:
    rows = [
        (run.summary.run, run.who, failure.ruled or "", failure.mode, line_of(failure.evidence, 160))
        for run in field.runs
        if (failure := run.profile.failure) is not None and failure.by == "person"
    ]
    more = (f"The first {_LISTED} of {len(rows)}; runs.csv has all of them.",) if len(rows) > _LISTED else ()
    return Table(
        "corrected",
        "Modes that a person corrected",
        columns("run", "agent", "by the rules", "by a person", "what was said"),
        tuple(rows[:_LISTED]),
        more,
        folded=True,
    )


def _by_hand(run: Seen) -> bool:
    return run.profile.failure is not None and run.profile.failure.by == "person"


def _claims(field: Field) -> Section:
    rows = [
        (
            each.who,
            count(checked := _sum(each, lambda run: run.profile.claims.checked)),
            count(_sum(each, lambda run: run.profile.claims.supported)),
            count(unsupported := _sum(each, lambda run: run.profile.claims.unsupported_count)),
            Cell(f"{100 * unsupported / checked:.0f} %", unsupported / checked) if checked else "–",
            share(sum(run.profile.claims.unsupported_count > 0 for run in each.runs), len(each.runs)),
            count(_sum(each, lambda run: run.profile.claims.corrected)),
        )
        for each in field.agents
    ]
    names = (
        "agent",
        ">claims checked",
        ">supported",
        ">unsupported",
        ">share unsupported",
        ">runs with unsupported",
        ">corrected by hand",
    )
    parts: list[Table | Figure] = [Table("claims", "Claims against evidence", columns(*names), tuple(rows))]
    examples = [(run, claim) for run in field.runs for claim in run.profile.claims.unsupported]
    examples.sort(key=lambda each: (each[0].who, each[0].summary.run, each[1].step))
    if examples:
        spread = examples[:: max(1, len(examples) // _LISTED)][:_LISTED]
        listed = [
            (
                run.who,
                run.summary.task,
                run.summary.run,
                count(claim.step),
                claim.where,
                line_of(claim.text, 200),
                Cell(f"{claim.nearest:.5g}", claim.nearest) if claim.nearest is not None else "–",
            )
            for run, claim in spread
        ]
        told = (
            f"{len(spread)} of {sum(run.profile.claims.unsupported_count for run in field.runs):,}; "
            "claims.csv has those that profiles list.",
        )
        parts.append(
            Table(
                "unsupported",
                "Unsupported claims",
                columns("agent", "task", "run", ">step", "in", "claim", ">nearest observed"),
                tuple(listed),
                told,
                folded=True,
            )
        )
    text = (
        "Numbers in plans, reflections and answers that are said to have been measured are looked up in "
        "what the agent had observed before.",
    )
    return Section("claims", "Unsupported claims", text, tuple(parts))


def _process(field: Field) -> Section:
    names = (
        "agent",
        ">steps",
        ">failed",
        *(f">{kind}" for kind in _KINDS),
        ">experiments",
        ">failed experiments",
        ">debugging",
        ">repeated errors",
        ">format errors",
        ">edits undone",
    )
    rows: list[Row] = []
    for each in field.agents:
        process = [run.profile.process for run in each.runs]
        rows.append(
            (
                each.who,
                count(sum(one.steps for one in process)),
                count(sum(one.failed_steps for one in process)),
                *(count(sum(one.kinds.get(kind, 0) for one in process)) for kind in _KINDS),
                count(sum(one.experiments for one in process)),
                count(sum(one.failed_experiments for one in process)),
                count(sum(one.debugging_steps for one in process)),
                count(sum(one.repeated_errors for one in process)),
                count(sum(one.format_errors for one in process)),
                count(sum(one.edits_undone for one in process)),
            )
        )
    notes = (
        "Sums over all runs. Debugging are experiments that failed where the one before had failed as well; "
        "lost are decisions without an action.",
    )
    return Section(
        "process",
        "What steps were for",
        (),
        (Table("process", "Steps by agent", columns(*names), tuple(rows), notes, folded=True),),
    )


def _sum(each: Tally, value: Callable[[Seen], int]) -> int:
    return sum(value(run) for run in each.runs)
