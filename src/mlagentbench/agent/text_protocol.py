"""The published way to reply: entries in order, each at the start of a line, the last one JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlagentbench.agent.prompting import action_list, entry_list, prompt
from mlagentbench.agent.protocol import (
    ACTION,
    ACTION_INPUT,
    Decision,
    FormatError,
    Past,
    Vocabulary,
    unknown_action,
)
from mlagentbench.agent.strict_json import read_object
from mlagentbench.environment.actions.registry import unreadable
from mlagentbench.environment.desk import STOP
from mlagentbench.model.spec import Completion, Message, Sampling, Tool
from mlagentbench.record import Action

_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)")
_INPUT_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*(?:json)?(?=\s|\{)\s*", re.IGNORECASE)

_BEGUN_FENCE = re.compile(r"\s*(?:`+|~+)[ \t]*(?:j|js|jso|json)?\s*", re.IGNORECASE)


def parse(text: str, entries: Sequence[str], *, cut_off: bool = False) -> Decision | FormatError:
    """The decision that `text` holds, exactly as it was written, or why it holds none.

    `entries` are the names in order; the last two are Action and Action Input. What stands before the first entry,
    and after the JSON of the last, is passed over, as is everything from an `Observation:` on: only the environment
    observes. A name of an entry inside of a code fence or of the JSON is no entry, unless the fence is never closed or
    holds the whole reply. Of a reply that was `cut_off`, an open fence holds all that follows it.

    An input that is not a JSON object is a decision all the same: as published, its observation states the reason.

    >>> parse('Action: List Files\\nAction Input: {"dir_path": "."}', ["Action", "Action Input"]).action
    Action(name='List Files', args={'dir_path': '.'})
    """
    headers = _until_input(_headers(text, entries, open_fences=cut_off))
    found = [header for header in headers if not header.fenced]
    if not found and not cut_off:
        found = [replace(header, fenced=False) for header in headers]
    if [header.name for header in found] != list(entries):
        return FormatError(_wrong_entries(entries, found, headers))
    *before, last = found
    ends = [header.start for header in found[1:]]
    contents = {header.name: text[header.end : end].strip() for header, end in zip(before, ends, strict=True)}
    name = contents.pop(ACTION)
    read = _read_input(text, last.end)
    if isinstance(read, FormatError):
        written = text[last.end :].partition(STOP)[0].strip()
        return Decision(contents, Action(name, unreadable(written, read.sentence)), written=written)
    args, end = read
    after = text[end:].partition(STOP)[0]
    if again := next(iter(_headers(after, entries)), None):
        return FormatError(
            f"After the JSON of {ACTION_INPUT!r} stands another {again.name!r}. Write each entry once; "
            f"only one action can be taken at a time."
        )
    return Decision(contents, Action(name, args))


def _read_input(text: str, start: int) -> tuple[dict[str, Any], int] | FormatError:
    if _BEGUN_FENCE.fullmatch(text, start):
        return FormatError(f"The reply ends where the JSON of {ACTION_INPUT!r} should begin: it was cut off.")
    fence = _INPUT_FENCE.match(text, start)
    return read_object(text, fence.end() if fence else start + _blank(text, start), triple_quotes=True)


def render(decision: Decision) -> str:
    """A decision as a reply; `parse` reads it back."""
    lines = [f"{name}: {text}" for name, text in decision.entries.items()]
    lines += [f"{ACTION}: {decision.action.name}"]
    written = decision.written
    if written is None:
        written = json.dumps(decision.action.args, ensure_ascii=False)
    lines += [f"{ACTION_INPUT}: {written}"]
    return "\n".join(lines)


def entries_beside(text: str, entries: Sequence[str]) -> dict[str, str]:
    """Those of the entries that `text` holds; all of it is the last one if it holds none. For text beside a tool call,
    where nothing depends on it."""
    if not entries:
        return {}
    found = [header for header in _headers(text, entries) if not header.fenced]
    if not found:
        return {entries[-1]: text.strip()} if text.strip() else {}
    ends = [*(header.start for header in found[1:]), len(text)]
    read = {header.name: text[header.end : end].strip() for header, end in zip(found, ends, strict=True)}
    return {name: read[name] for name in entries if name in read}


@dataclass(frozen=True)
class _Header:
    name: str
    start: int
    end: int
    """Where its content begins."""
    fenced: bool


def _until_input(headers: Iterable[_Header]) -> list[_Header]:
    """Up to the input of the action, which is the last."""
    read = []
    for header in headers:
        read.append(header)
        if header.name == ACTION_INPUT and not header.fenced:
            break
    return read


def _headers(text: str, entries: Sequence[str], *, open_fences: bool = False) -> list[_Header]:
    """Every line that begins with the name of an entry. A fence that is never closed is none, unless `open_fences`."""
    names = re.compile(f"({'|'.join(map(re.escape, entries))}):")
    headers: list[_Header] = []
    fence, opened_at = "", 0
    start = 0
    for line in text.split("\n"):
        header = names.match(line)
        if header:
            headers.append(_Header(header[1], start, start + header.end(), bool(fence)))
        content = line[header.end() :].lstrip() if header and not fence else line
        if opened := _FENCE.fullmatch(content.rstrip()):
            mark: str = opened[1] or opened[2]
            if not fence:
                fence, opened_at = mark, start
            elif mark[0] == fence[0] and len(mark) >= len(fence) and line.strip() == mark:
                fence = ""
        start += len(line) + 1
    if fence and not open_fences:
        headers = [replace(each, fenced=each.fenced and each.start < opened_at) for each in headers]
    return headers


def _blank(text: str, start: int) -> int:
    return len(text) - start - len(text[start:].lstrip())


def _wrong_entries(entries: Sequence[str], found: list[_Header], headers: list[_Header]) -> str:
    names = [header.name for header in found]
    order = ", ".join(entries)
    if twice := next((name for name in names if names.count(name) > 1), None):
        return (
            f"The entry {twice!r} stands there twice. Write each of these once, in this order: {order}. "
            f"What merely looks like one belongs inside of a code fence."
        )
    if missing := next((name for name in entries if name not in names), None):
        fenced = any(header.name == missing for header in headers)
        if names and names == list(entries[: len(names)]):
            return (
                f"The reply ends before the entry {missing!r}: it was cut off or left unfinished"
                f"{', or the entry stands inside of a code fence' if fenced else ''}. "
                f"Write all entries, outside of fences and each at the start of a line: {order}."
            )
        if fenced:
            return f"The entry {missing!r} stands inside of a code fence. Write entries outside of fences."
        return f"The entry {missing!r} is missing. Write all, each at the start of a line, in this order: {order}."
    return f"The entries are in the order {', '.join(names)}; write them in this one: {order}."


class TextSpeech:
    tools: tuple[Tool, ...] = ()

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._entries = (*vocabulary.entries, ACTION, ACTION_INPUT)

    def instructions(self) -> str:
        words = self._vocabulary
        return prompt(
            "format_text", actions=action_list(words.shown), entries=entry_list(self._entries, words.short)
        )

    def sampling(self, sampling: Sampling) -> Sampling:
        return sampling.model_copy(update={"stop": (STOP,)})

    def show(self, past: Past) -> list[Message]:
        return [
            Message(role="assistant", content=render(past.decision)),
            Message(role="user", content=prompt("observation", observation=past.observation)),
        ]

    def read(self, completion: Completion) -> Decision | FormatError:
        cut_off = completion.stop_reason == "length"
        decision = parse(completion.text, self._entries, cut_off=cut_off)
        if isinstance(decision, FormatError):
            return decision
        if cut_off and decision.written is not None:
            reason = f"The reply reached the limit of output tokens. {decision.action.args['reason']}"
            action = Action(decision.action.name, unreadable(decision.written, reason))
            decision = replace(decision, action=action)
        return unknown_action(decision.action.name, self._vocabulary) or decision

    def refuse(self, completion: Completion, told: str) -> list[Message]:
        return [
            Message(role="assistant", content=completion.text.strip() or "(nothing)"),
            Message(role="user", content=told),
        ]
