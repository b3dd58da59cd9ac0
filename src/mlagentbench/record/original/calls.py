"""What models were asked and what they answered, out of the logs of the agent and of the actions.

A prompt or a reply can hold what parts one call from the next. The logs say nothing of lengths, so such a call is read
wrongly; nothing that is graded depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mlagentbench.record.original.folder import OldFolder, clean

MAIN_LOG = "agent_log/main_log"
_AGENT, _TOOLS = "agent_log", "env_log/tool_logs"
_LARGEST = 64 * 2**20
_PROMPT = re.compile(r"^=+prompt=+\n", re.MULTILINE)
_REPLY = re.compile(r"^=+(\S[^\n=]*) response \((\d{1,9})\)=+\n", re.MULTILINE)
_TOKENS = re.compile(r"^=+tokens=+\n", re.MULTILINE)
_COUNTS = re.compile(r"prompt tokens: (\d{1,12})\s+Number of sampled tokens: (\d{1,12})")
_SAID = re.compile(r"^Step (\d{1,6}):\n\s*Assistant:\n", re.MULTILINE)
_SAID_END = "\nObservation:\n"
_FILES = {
    "act": re.compile(r"step_(\d{1,6})_log\.log"),
    "fast": re.compile(r"step_(\d{1,6})_(?:summary|summarize_observation)_log\.log(?:_\d{1,6})?"),
    "tool": re.compile(r"step_(\d{1,6})_tool_log\.log(?:_\d{1,6})?"),
}
_STATE = re.compile(r"agent_(\d{1,6})_(\d{1,6})\.json")

Kind = Literal["act", "fast", "tool"]


@dataclass(frozen=True)
class OldCall:
    """One completion. `step` is the step that it led to, or, of an action's, that it was made in; from 0."""

    kind: Kind
    step: int
    reply: str
    prompt: str = ""
    model: str = ""
    budget: int = 0
    tokens: tuple[int, int] | None = None
    """In and out, as the original counted them; None where it did not."""


def read_calls(folder: OldFolder) -> list[OldCall]:
    """Every call that a log tells of, in the order of steps."""
    names = folder.names(_AGENT)
    if not names:
        folder.findings.missing.append("There is no agent_log, so what the agent thought is not known.")
    places = _places(names)
    found = [*_logged(folder, _AGENT, names, "act"), *_logged(folder, _AGENT, names, "fast")]
    if not any(call.kind == "act" for call in found):
        found += _said(folder, bool(names))
    found = [
        OldCall(
            call.kind, places.get(call.step - 1, call.step - 1) + 1, call.reply, call.prompt, call.model,
            call.budget, call.tokens,
        )
        for call in found
    ]  # fmt: skip
    found += _logged(folder, _TOOLS, folder.names(_TOOLS), "tool")
    return sorted(found, key=lambda call: call.step)


def _places(names: list[str]) -> dict[int, int]:
    """After which step of the environment each step of the agent was over, by the names of its states."""
    pairs = (_STATE.fullmatch(name) for name in names)
    return {int(pair[2]): int(pair[1]) for pair in pairs if pair}


def _logged(folder: OldFolder, place: str, names: list[str], kind: Kind) -> Iterator[OldCall]:
    for name in names:
        match = _FILES[kind].fullmatch(name)
        text = folder.text(f"{place}/{name}", _LARGEST) if match else None
        if match is None or text is None:
            continue
        unread = 0
        for part in _PROMPT.split(text)[1:]:
            call = _call(kind, int(match[1]), part)
            if call is None:
                unread += 1
            else:
                yield call
        if unread or not _PROMPT.search(text):
            folder.findings.damaged.append(f"{place}/{name}: {unread or 'all'} of its calls cannot be read.")


def _call(kind: Kind, step: int, text: str) -> OldCall | None:
    head = _REPLY.search(text)
    if head is None:
        return None
    rest = text[head.end() :]
    ends = list(_TOKENS.finditer(rest))
    counts = _COUNTS.search(rest, ends[-1].end()) if ends else None
    return OldCall(
        kind=kind,
        step=step,
        reply=clean(rest[: ends[-1].start()].removesuffix("\n") if ends else rest),
        prompt=clean(text[: head.start()].removesuffix("\n")),
        model=clean(head[1]),
        budget=int(head[2]),
        tokens=(int(counts[1]), int(counts[2])) if counts else None,
    )


def _said(folder: OldFolder, has_logs: bool) -> list[OldCall]:
    """What the agent said at each step, out of the one log that is meant for people."""
    text = folder.text(MAIN_LOG, _LARGEST)
    if text is None:
        if has_logs:
            folder.findings.missing.append(f"There is no {MAIN_LOG}, nor a log of the agent's calls.")
        return []
    found: list[OldCall] = []
    place = 0
    while (said := _SAID.search(text, place)) and (place := text.find(_SAID_END, said.end())) >= 0:
        found.append(OldCall("act", int(said[1]), clean(text[said.end() : place])))
    folder.findings.missing.append(
        "There is no log of the agent's calls: what its model was asked, and how many tokens it used, is not known."
        + (f" What it said is from {MAIN_LOG}." if found else "")
    )
    return found
