"""Telling what is said of a run's process, and asking a person whether it is right."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

import click

from mlagentbench.cli.screen import Part, Screen, Style, cleaned
from mlagentbench.cli.words import shortened
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.annotating import Annotated
from mlagentbench.evaluation.claims import Claim, Claims
from mlagentbench.evaluation.failures import Failure
from mlagentbench.record.annotations import MODES, FailureMode, mode_of

_FEW = 5


class Answers(TypedDict, total=False):
    """What `annotate` is then called with."""

    failure: FailureMode
    claims: dict[int, bool]
    note: str


def tell(screen: Screen, place: Path, said: Annotated) -> None:
    """The failure mode and every claim with its number."""
    screen.line(("run     ", "label"), str(place))
    tell_failure(screen, said.profile.failure)
    if not said.claims:
        screen.line(("claims  ", "label"), "none: the agent said nothing in numbers that was measured")
    for number, claim in enumerate(said.claims, start=1):
        mark: Part = ("+", "good") if claim.supported else ("–", "bad")
        screen.line((f"{number:>6}  ", "label"), mark, " ", *_claim(claim))


def tell_failure(screen: Screen, failure: Failure | None) -> None:
    if failure is None:
        return
    style: Style = "good" if failure.mode == "none" else "warn"
    by = " (corrected by a person)" if failure.by == "person" else ""
    screen.line(("failure ", "label"), (failure.mode + by, style), f": {shortened(failure.evidence, 300)}")


def tell_unsupported(screen: Screen, claims: Claims) -> None:
    """The first few claims that nothing shows."""
    if not claims.checked:
        return
    corrected = f", {claims.corrected} corrected by a person" if claims.corrected else ""
    screen.line(
        ("claims  ", "label"),
        f"{claims.supported} of {claims.checked} are supported by what was observed before{corrected}",
    )
    for claim in claims.unsupported[:_FEW]:
        screen.line("      ", ("–", "bad"), " ", *_claim(claim))
    if claims.unsupported_count > _FEW:
        screen.line(
            (f"        … and {claims.unsupported_count - _FEW} more; mlagentbench annotate lists all", "dim")
        )


def _claim(claim: Claim) -> list[Part]:
    parts: list[Part] = [f"step {claim.step}, {claim.where}: {shortened(claim.text, 140)}"]
    if not claim.supported:
        parts.append((f"  {written(claim.value, claim.unit)} was not observed", "warn"))
        if claim.nearest is not None:
            near = written(claim.nearest, claim.unit)
            parts.append((f"; nearest is {near} at step {claim.nearest_step}", "dim"))
    if claim.times > 1:
        parts.append((f"  said {claim.times} times", "dim"))
    if claim.corrected:
        parts.append(("  corrected by a person", "dim"))
    return parts


def written(value: float, unit: str) -> str:
    """A value in the unit in which it was claimed."""
    match unit:
        case "%":
            return f"{100 * value:.4g} %"
        case "B":
            return f"{value / 1e6:.4g} MB"
        case "":
            return f"{value:.6g}"
        case _:
            return f"{value:.5g} {unit}"


def ask(said: Annotated) -> Answers:
    """What the person at the terminal says; nothing where all is right."""
    answers: Answers = {}
    failure = said.profile.failure
    now = failure.mode if failure else "none"
    click.echo(f"Failure modes: {', '.join(MODES)}.")
    while "failure" not in answers:
        text = click.prompt("Failure mode", default=now)
        if str(text) == now:
            break
        try:
            answers["failure"] = mode_of(str(text))
        except UsageError as error:
            click.echo(cleaned(str(error)))
    wrong = _numbers(len(said.claims)) if said.claims else []
    if wrong:
        answers["claims"] = {number: not said.claims[number - 1].supported for number in wrong}
    if answers:
        answers["note"] = str(click.prompt("Why", default="", show_default=False))
    return answers


def _numbers(count: int) -> list[int]:
    """The claims on which the person says otherwise."""
    while True:
        text = str(click.prompt("Numbers of claims that are marked wrongly", default="", show_default=False))
        words = text.replace(",", " ").split()
        if all(word.isdecimal() and 1 <= int(word) <= count for word in words):
            return sorted({int(word) for word in words})
        click.echo(f"Give numbers from 1 to {count}, or nothing.")
