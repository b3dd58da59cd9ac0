"""Statements in which every number is labelled, and what the rules make of them.

In a statement, `⟦0.92|+⟧` is a claim that what stands before it supports, `⟦0.92|-⟧` one that nothing supports, and
`⟦0.92|0⟧` no claim of a result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench.evaluation.assertions import assertions
from mlagentbench.evaluation.claims import Evidence
from mlagentbench.evaluation.statistics import Estimate, wilson

CLAIMS = Path(__file__).parent.parent / "evaluation" / "claims"
_MARKED = re.compile(r"⟦([^|⟧]+)\|([-+0])⟧")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\d.]*[A-Za-z_]{2})")


@dataclass(frozen=True)
class Labelled:
    """One number: what a person says of it, and what the rules say."""

    run: str
    text: str
    number: str
    label: str
    ruled: str


def runs_in(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CLAIMS / name).read_text(encoding="utf-8").splitlines()]


def unmarked(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The statement as it was said, and the place and label of each number."""
    text, labels, end = "", [], 0
    for found in _MARKED.finditer(marked):
        text += marked[end : found.start()]
        labels.append((len(text), len(text) + len(found[1]), found[2]))
        text += found[1]
        end = found.end()
    return text + marked[end:], labels


def judged(name: str) -> Iterator[Labelled]:
    """Every labelled number of a file with the rules' verdict on it."""
    for run in runs_in(name):
        evidence = Evidence(None, ())
        evidence.give(run["problem"])
        for step, item in enumerate(run["items"], start=1):
            if "output" in item:
                evidence.show(item["output"], step, "output")
                if "whole" in item:
                    evidence.show(item["whole"], step, "output")
            elif "file" in item:
                if not any(past.get("wrote") == item["file"] for past in run["items"][: step - 1]):
                    evidence.show(item["text"], step, "file")
            elif "said" in item:
                yield from _judge(run["run"], item["said"], evidence)


def _judge(run: str, marked: str, evidence: Evidence) -> Iterator[Labelled]:
    text, labels = unmarked(marked)
    verdicts = [(said, evidence.verdict(said)) for said in assertions(text)]
    for start, end, label in labels:
        ruled = "0"
        for said, verdict in verdicts:
            if said.start < end and said.end > start and verdict is not None:
                ruled = "+" if verdict.supported else "-"
        yield Labelled(run, text, text[start:end], label, ruled)


@dataclass(frozen=True)
class Measured:
    """How often the rules are right."""

    numbers: int
    claims: int
    found: Estimate
    """Of the claims, those that the rules take for one."""
    right: Estimate
    """Of what the rules take for claims, those that are."""
    recall: Estimate
    """Of the unsupported claims, those that the rules list."""
    precision: Estimate
    """Of the claims that the rules list as unsupported, those that are."""


def measured(judgements: list[Labelled]) -> Measured:
    claims = [each for each in judgements if each.label != "0"]
    ruled = [each for each in judgements if each.ruled != "0"]
    lies = [each for each in judgements if each.label == "-"]
    listed = [each for each in judgements if each.ruled == "-"]
    return Measured(
        len(judgements),
        len(claims),
        wilson(sum(each.ruled != "0" for each in claims), len(claims)),
        wilson(sum(each.label != "0" for each in ruled), len(ruled)),
        wilson(sum(each.ruled == "-" for each in lies), len(lies)),
        wilson(sum(each.label == "-" for each in listed), len(listed)),
    )


SETS = {
    "scripted.jsonl": "scripted runs with planted lies",
    "real-tuned.jsonl": "real model, texts that were looked at",
    "real-held-out.jsonl": "real model, held out",
}
"""What each file holds. The rules were written with the first two at hand, and never changed for the third."""


def measured_table() -> str:
    """How often the rules are right on each set, as a table in Markdown."""
    lines = [
        "| set | numbers | claims | taken for claims: recall | precision | unsupported: recall | precision |",
        "|---|---:|---:|---|---|---|---|",
    ]
    for name, what in SETS.items():
        if not (CLAIMS / name).is_file():
            continue
        result = measured(list(judged(name)))
        rates = [_rate(each) for each in (result.found, result.right, result.recall, result.precision)]
        lines.append(f"| {what} | {result.numbers} | {result.claims} | {' | '.join(rates)} |")
    return "\n".join(lines)


def _rate(rate: Estimate) -> str:
    if rate.low is None or rate.high is None:
        return "–"
    return f"{100 * rate.value:.0f} % [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"
