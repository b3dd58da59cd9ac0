"""What models were asked and what they answered, out of the logs of the agent and of the actions.

A prompt or a reply can hold what parts one call from the next. The logs say nothing of lengths, so such a call is read
wrongly; nothing that is graded depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
_ORDER: dict[Kind, int] = {"act": 0, "tool": 1, "fast": 2}
"""In one step: what decided on it, what it asked, what summed it up."""


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
    turns = _Turns(names)
    placed = turns.place(_logged(folder, _AGENT, names, "act"))
    if not placed:
        placed = turns.place_in_order(_said(folder, bool(names)))
    placed += turns.place(_logged(folder, _AGENT, names, "fast"))
    placed += [(call.step, 0, call) for call in _logged(folder, _TOOLS, folder.names(_TOOLS), "tool")]
    placed.sort(key=lambda each: (each[0], _ORDER[each[2].kind], each[1]))
    return [call for _, _, call in placed]


_Placed = tuple[int, int, OldCall]
"""The step of the environment that a call belongs to, the turn of the agent, and the call."""


class _Turns:
    """The turns of the agent, by the names of the states that it wrote after each: after which step of the environment,
    and the number that it gave the turn. A turn whose input was no JSON took no step, and when the next input was
    JSON again, the agent forgot it and counted from where it had been: a number can come several times."""

    def __init__(self, names: list[str]) -> None:
        pairs = (_STATE.fullmatch(name) for name in names)
        self._turns = sorted((int(pair[1]), int(pair[2])) for pair in pairs if pair)
        """In the order of time: steps of the environment only grow, and between them numbers do."""

    def place(self, calls: Iterable[OldCall]) -> list[_Placed]:
        """Calls of logs that are named by the number of the turn and grow when it comes again."""
        numbered: dict[int, list[OldCall]] = {}
        for call in calls:
            numbered.setdefault(call.step, []).append(call)
        placed: list[_Placed] = []
        for number, of_number in numbered.items():
            turns = [turn for turn, (_, given) in enumerate(self._turns) if given == number]
            for nth, tries in enumerate(_decisions(of_number)):
                turn = turns[nth] if nth < len(turns) else self._beyond(number)
                placed += [self._placed(turn, call, number) for call in tries]
        return placed

    def place_in_order(self, calls: list[OldCall]) -> list[_Placed]:
        """Calls in the order of turns, one of each."""
        if len(calls) != len(self._turns):
            return self.place(calls)
        return [self._placed(turn, call, call.step) for turn, call in enumerate(calls)]

    def _beyond(self, number: int) -> int:
        """The turn of a call that no state followed: the one after the last, or where there are no states, its own."""
        return len(self._turns) if self._turns else number

    def _placed(self, turn: int, call: OldCall, number: int) -> _Placed:
        step = number
        if self._turns:
            step = self._turns[turn - 1][0] + 1 if turn else 0
        return step, turn, replace(call, step=step)


def _decisions(calls: list[OldCall]) -> Iterator[list[OldCall]]:
    """Calls of one number, by decision: a reply that could not be used is asked for again with the same prompt, or with
    more after it. What a fast model was asked has a decision of its own each time."""
    tries: list[OldCall] = []
    for call in calls:
        again = tries and call.kind == "act" and _stem(call.prompt).startswith(_stem(tries[-1].prompt))
        if tries and not again:
            yield tries
            tries = []
        tries.append(call)
    if tries:
        yield tries


def _stem(prompt: str) -> str:
    """A prompt without the words at its end that let the model begin."""
    return prompt.strip().removesuffix("Assistant:").rstrip()


def gave_up_after(calls: Sequence[OldCall]) -> int:
    """How many replies the last decision took."""
    last = [call for call in calls if call.kind == "act"]
    *_, tries = _decisions([call for call in last if call.step == last[-1].step]) if last else [[]]
    return len(tries)


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
