"""A card for each run: how it ended, its steps, its score, and why it failed."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from mlagentbench.reporting.html import Markup, join, tag
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.scene import Paint
from mlagentbench.reporting.steps import LETTERS
from mlagentbench.reporting.tally import cost_of, seconds_of, tokens_of
from mlagentbench.reporting.texts import for_html, line_of
from mlagentbench.reporting.wording import dollars, duration, number, percent, tokens

ON_PAGE = 300
"""Cards that the page itself shows; of more runs, examples of all that happened."""
A_PAGE = 500
"""Cards of a further page."""
KINDS: dict[str, tuple[str, Paint]] = {
    "look": ("looks", "sky"),
    "edit": ("edits", "orange"),
    "execute": ("runs a program", "blue"),
    "think": ("thinks", "purple"),
    "submit": ("submits", "green"),
    "lost": ("no action", "vermilion"),
    "other": ("other", "grey"),
}
_OF_LETTER = {letter: kind for kind, letter in LETTERS.items()}
_FAR = 4
"""Folders up, beyond which a run does not lie near the page."""
_HIGH, _WIDE = 16, 7


def examples(runs: Sequence[Seen], most: int) -> list[Seen]:
    """All runs, or so many that each task, agent and outcome is there before any is there twice."""
    if len(runs) <= most:
        return list(runs)
    kinds: dict[tuple[str, ...], deque[int]] = {}
    for index, run in enumerate(runs):
        kinds.setdefault((run.summary.task, run.summary.variant, run.who, run.outcome), deque()).append(index)
    chosen: list[int] = []
    while len(chosen) < most:
        for waiting in kinds.values():
            if waiting and len(chosen) < most:
                chosen.append(waiting.popleft())
    return [runs[index] for index in sorted(chosen)]


def card(run: Seen, beside: Path) -> Markup:
    """`beside` is the folder that the page is written to."""
    summary, profile = run.summary, run.profile
    badge = {"success": "good", "unfinished": "open", "not graded": "open"}.get(run.outcome, "bad")
    origin = "imported" if run.imported else f"seed {summary.seed}"
    head = tag(
        "header",
        tag("strong", run.who),
        " ",
        tag(
            "span",
            run.outcome if badge != "bad" else "no success",
            class_=f"badge {badge}",
        ),
        tag("p", f"{summary.task} ({summary.variant}), {origin}", class_="faint"),
    )
    lines: list[Markup] = [_fact("score", _score(run)), _fact("ended", _ended(run))]
    if run.strip:
        lines.append(tag("div", _strip(run.strip), class_="strip"))
    used = f"{tokens(tokens_of(run)).text} tokens, {dollars(cost_of(run)).text}, {duration(seconds_of(run)).text}"
    lines.append(_fact("used", used))
    failure = profile.failure
    if run.damage:
        lines.append(_fact("damaged", line_of(run.damage)))
    elif failure is not None and run.outcome == "not graded":
        lines.append(_fact("why", line_of(failure.evidence, 500)))
    elif failure is not None and not profile.success and not run.unfinished:
        by = f" (a person; the rules: {failure.ruled})" if failure.by == "person" else ""
        lines.append(_fact("why", f"{failure.mode}{by}. {line_of(failure.evidence, 500)}"))
    if run.imported and run.imported.damaged:
        lines.append(_fact("folder damaged", line_of(" ".join(run.imported.damaged), 300)))
    claims = profile.claims
    if claims.unsupported_count:
        said = [
            tag("li", f"step {claim.step}, {claim.where}: {line_of(claim.text, 200)}")
            for claim in claims.unsupported
        ]
        lines.append(
            tag(
                "details",
                tag("summary", f"{claims.unsupported_count} of {claims.checked} claims unsupported"),
                tag("ul", *said),
            )
        )
    grade = summary.grade
    if grade is not None and grade.notes:
        lines.append(_fact("notes", line_of(" ".join(grade.notes), 300)))
    near = nearness(run.folder, beside)
    name: Markup | str = tag("a", summary.run, href=f"{quote(near)}/") if near else summary.run
    lines.append(tag("p", name, class_="faint id"))
    return tag("article", head, *lines, class_=f"card {badge}")


def legend() -> Markup:
    """What the colours of strips mean."""
    return tag(
        "p",
        "Steps: ",
        *(
            join(
                tag(
                    "span",
                    Markup(
                        f'<svg class="key" viewBox="0 0 10 10"><rect width="10" height="10" class="f-{paint}"/></svg>'
                    ),
                    f" {words} ",
                ),
                "",
            )
            for words, paint in KINDS.values()
        ),
        tag("span", "short: failed"),
        class_="legend",
    )


def nearness(folder: Path, beside: Path) -> str:
    """The way from the page to a run, where both lie close to each other; else nothing."""
    way = os.path.relpath(folder.absolute(), beside.absolute())
    ups = Path(way).parts.count("..")
    return Path(way).as_posix() if ups <= _FAR and len(beside.absolute().parts) - ups > 2 else ""


def _fact(name: str, said: str) -> Markup:
    return tag("p", tag("span", name, class_="label"), " ", said)


def _score(run: Seen) -> str:
    grade = run.summary.grade
    if grade is None:
        return "no grade"
    if not grade.valid:
        return f"not valid: {line_of(grade.reason, 200)}"
    baseline = f", baseline {number(grade.baseline.mean).text}" if grade.baseline else ""
    gained = f", improvement {percent(grade.improvement).text}" if grade.improvement is not None else ""
    held = f"; withheld: {line_of(grade.withheld, 200)}" if grade.withheld else ""
    noise = ", within the starter's noise" if grade.success and not grade.decided else ""
    return f"{number(grade.score).text}{baseline}{gained}{noise}{held}"


def _ended(run: Seen) -> str:
    summary = run.summary
    if run.unfinished:
        return f"not yet, after {summary.steps} steps"
    detail = f": {line_of(summary.detail.strip().splitlines()[-1], 160)}" if summary.detail.strip() else ""
    return f"{summary.ended} after {summary.steps} steps{detail}"


def _strip(strip: str) -> Markup:
    """A box a step; a failed one is half as high, so that no colour is needed to see it."""
    paths: dict[str, list[str]] = {}
    for index, letter in enumerate(strip):
        kind = _OF_LETTER[letter.lower()]
        high = _HIGH if letter.islower() else _HIGH // 2
        paths.setdefault(kind, []).append(f"M{index * _WIDE} {_HIGH - high}h{_WIDE - 1}v{high}h-{_WIDE - 1}z")
    counts = Counter(letter.lower() for letter in strip)
    failed = sum(letter.isupper() for letter in strip)
    told = ", ".join(f"{KINDS[_OF_LETTER[letter]][0]} {n}" for letter, n in counts.most_common())
    label = for_html(f"{len(strip)} steps, {failed} failed: {told}")
    drawn = "".join(
        f'<path class="f-{KINDS[kind][1]}" d="{"".join(boxes)}"/>' for kind, boxes in paths.items()
    )
    size = "few" if len(strip) <= 50 else "many"
    head = f'<svg viewBox="0 0 {len(strip) * _WIDE} {_HIGH}" class="{size}" role="img" aria-label="{label}"'
    return Markup(f'{head} preserveAspectRatio="xMinYMid"><title>{label}</title>{drawn}</svg>')
