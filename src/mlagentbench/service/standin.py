"""A stand-in for a language model: a small instruction follower made of rules, without any model.

It reads the last message from the user and nothing else, at most its first 100,000 characters. In it, it tells apart:

- *items*: lines that begin with a number, as `1. …`, `1) …` or `[1] …`, each with the lines up to the next item or
  blank line;
- *the question*: the rest of a line that begins with `Question:`, `Topic:`, `Query:` or `Paragraph:`;
- *the instruction*: the first paragraph, or what stands before the first colon if there is only one paragraph;
- *the text*: everything else, or the whole message where nothing else is left.

Then the first of these rules is followed whose keywords, as the beginning of a word and in any case, stand in the
instruction:

1. `rank`, and there are items: the numbers of all items, best first, as `3, 1, 2`.
2. `relevant`, `choose`, `select`, `pick` or `which`, and there are items: the numbers of those that hold at least a
   third of the question's words, best first; `none` where no item does.
3. `yes` or `whether`: `yes` if the text holds at least a third of the question's words, else `no`.
4. `summar` or `tl;dr`: the sentences of the text with the most central words, in their order; two, or as many as the
   instruction says (`in 3 sentences`).
5. `keyword`, `key term`, `quer` or `search`: the text's most prominent phrases of up to three words, one a line; five,
   or as many as the instruction says.
6. `relevant`: as rule 3.
7. Anything else: the two sentences of the text that hold most of the question's words; without a question, as in a
   summary.

Words are compared in lower case, without accents and a plural's `s`; words that stand in any text (*the*, *paper*,
*propose*) do not count. Items are ordered by the words of the question that they hold, each counted by how few items
hold it, and by their numbers among equals. A number in the instruction of rules 1 and 2 (`the 3 most relevant`) is the
most that are given. If the instruction says `JSON`, the answer is a JSON value: a list of numbers, `true` or `false`, a
list of texts, or a text. The same message always gets the same answer.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mlagentbench.model.spec import Completion, Message, Sampling, Usage
from mlagentbench.service.words import STOP_WORDS, content_words, words

NAME = "stand-in"
LONGEST = 100_000
_MOST_ITEMS = 500
_MOST_SENTENCES = 2_000
_THIRD = 1 / 3
_ITEM = re.compile(r"^\s*(?:\[(\d{1,4})\]|(\d{1,4})[.)])\s+(.*)$")
_QUESTION = re.compile(r"^\s*(?:question|topic|query|paragraph)\s*:\s*(.*)$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_NUMBER = re.compile(r"\b(\d{1,3})\b")
_SPELT = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_FILLER = frozenset(
    words(
        """abstract approach article author demonstrate describe existing experiment find following give improve
        introduce method new novel paper present problem propose proposed provide recent related report result review
        section several show shows showing significant significantly state study table task technique title topic work
        question query paragraph please"""
    )
)
_BREAKS = re.compile(r"[^\w\s'-]+|\n")


@dataclass(frozen=True)
class Parts:
    """A message, taken apart."""

    instruction: str
    question: str
    items: dict[int, str]
    text: str


class StandIn:
    """Answers as the module's text says. It is an `Answerer`, and what a run without a model has."""

    def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        last = next((message.content for message in reversed(messages) if message.role == "user"), "")
        text = answer_to(last)
        for stop in sampling.stop:
            text = text.partition(stop)[0]
        pieces = list(_TOKEN.finditer(text))
        cut = len(pieces) > sampling.max_tokens
        if cut:
            text = text[: pieces[sampling.max_tokens - 1].end()]
        asked = sum(count_tokens(message.content) for message in messages)
        return Completion(
            text=text,
            usage=Usage(input=asked, output=min(len(pieces), sampling.max_tokens)),
            stop_reason="length" if cut else "stop",
            model=NAME,
            latency=0.0,
        )


def count_tokens(text: str) -> int:
    """Words and signs; what the stand-in counts as usage."""
    return sum(1 for _ in _TOKEN.finditer(text))


def answer_to(message: str) -> str:
    """What the stand-in says to a message.

    >>> answer_to("Which papers are relevant?\\nTopic: sea ice\\n1. Deserts of stone\\n2. Ice on a warm sea")
    '2'
    """
    parts = take_apart(message[:LONGEST])
    order = parts.instruction.lower()
    as_json = bool(re.search(r"\bjson\b", order))

    def said(*keys: str) -> bool:
        return any(re.search(rf"(?<!\w){re.escape(key)}", order) for key in keys)

    if parts.items and said("rank"):
        return _numbers(_ranked(parts)[: _wanted(order, len(parts.items))], as_json)
    if parts.items and said("relevant", "choose", "select", "pick", "which"):
        asked = set(_terms(parts.question))
        chosen = [number for number in _ranked(parts) if _share(asked, parts.items[number]) >= _THIRD]
        return _numbers(chosen[: _wanted(order, len(chosen))], as_json)
    if said("yes", "whether"):
        return _verdict(parts, as_json)
    if said("summar", "tl;dr"):
        return _spoken(_central(parts.text, _wanted(order, 2)), as_json)
    if said("keyword", "key term", "quer", "search"):
        found = _phrases(parts.text, _wanted(order, 5))
        return json.dumps(found, ensure_ascii=False) if as_json else "\n".join(found)
    if said("relevant"):
        return _verdict(parts, as_json)
    return _spoken(_answering(parts), as_json)


def take_apart(message: str) -> Parts:
    """The instruction, the question, the items and the text of a message."""
    lines_of: dict[int, list[str]] = {}
    question: list[str] = []
    rest: list[str] = []
    current: int | None = None
    for line in message.splitlines():
        if (item := _ITEM.match(line)) and len(lines_of) < _MOST_ITEMS:
            current = int(item[1] or item[2])
            lines_of.setdefault(current, []).append(item[3])
        elif asked := _QUESTION.match(line):
            current = None
            question.append(asked[1])
        elif current is not None and line.strip():
            lines_of[current].append(line.strip())
        else:
            current = None
            rest.append(line)
    items = {number: " ".join(lines) for number, lines in lines_of.items()}
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", "\n".join(rest)) if part.strip()]
    instruction, others = (paragraphs[0], paragraphs[1:]) if paragraphs else ("", [])
    if not others and ":" in instruction:
        instruction, _, after = instruction.partition(":")
        others = [after.strip()] if after.strip() else []
    text = "\n\n".join(others) or "\n".join(items.values()) or " ".join(question) or instruction
    asked_for = " ".join(question) or _question_in(instruction)
    return Parts(instruction, asked_for, items, text)


def _question_in(instruction: str) -> str:
    return " ".join(sentence for sentence in _sentences(instruction) if sentence.endswith("?")) or instruction


def _terms(text: str) -> list[str]:
    return [word for word in content_words(text) if word not in _FILLER]


def _share(asked: set[str], text: str) -> float:
    """The part of the words that were asked for which the text holds."""
    if not asked:
        return 0.0
    return len({word for word in _terms(text) if word in asked}) / len(asked)


def _ranked(parts: Parts) -> list[int]:
    asked = set(_terms(parts.question))
    held = {number: {word for word in _terms(text) if word in asked} for number, text in parts.items.items()}
    often = Counter(word for found in held.values() for word in found)
    score = {
        number: sum(math.log(1 + len(held) / often[word]) for word in sorted(found))
        for number, found in held.items()
    }
    return sorted(score, key=lambda number: (-score[number], number))


def _wanted(instruction: str, default: int) -> int:
    """The first number in the instruction, at most 100."""
    if found := _NUMBER.search(instruction):
        return max(1, min(int(found[1]), 100))
    return next((value for word, value in _SPELT.items() if re.search(rf"\b{word}\b", instruction)), default)


def _verdict(parts: Parts, as_json: bool) -> str:
    holds = _share(set(_terms(parts.question)), parts.text) >= _THIRD
    return json.dumps(holds) if as_json else "yes" if holds else "no"


def _numbers(numbers: list[int], as_json: bool) -> str:
    return json.dumps(numbers) if as_json else ", ".join(map(str, numbers)) or "none"


def _spoken(sentences: list[str], as_json: bool) -> str:
    text = " ".join(sentences)
    return json.dumps(text, ensure_ascii=False) if as_json else text


def _sentences(text: str) -> list[str]:
    whole = " ".join(text.split())
    return [part.strip() for part in _SENTENCE.split(whole)[:_MOST_SENTENCES] if part.strip()]


def _central(text: str, most: int) -> list[str]:
    """The sentences whose words are the most frequent ones of the text, a sentence's length set off; in their order."""
    sentences = _sentences(text)
    often = Counter(_terms(text))

    def weight(place: int) -> float:
        terms = set(_terms(sentences[place]))
        return sum(often[word] for word in terms) / (len(terms) + 3)

    best = sorted(range(len(sentences)), key=lambda place: (-weight(place), place))[:most]
    return [sentences[place] for place in sorted(best)]


def _answering(parts: Parts) -> list[str]:
    sentences = _sentences(parts.text)
    if parts.question == parts.instruction or not sentences:
        return _central(parts.text, 2)
    asked = set(_terms(parts.question))
    share = [_share(asked, sentence) for sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda place: (-share[place], place))[:2]
    return [sentences[place] for place in sorted(best)]


def _phrases(text: str, most: int) -> list[str]:
    """Runs of words that are no stop words, cut to three; the ones whose words are frequent come first."""
    often = Counter(_terms(text))
    weight: dict[str, tuple[float, int]] = {}
    shown: dict[str, str] = {}
    for piece in _BREAKS.split(text):
        run: list[str] = []
        for word in [*piece.split(), "the"]:
            bare = word.strip("'-")
            terms = _terms(bare)
            if terms and bare.lower() not in STOP_WORDS:
                run.append(bare)
                continue
            for start in range(0, len(run), 3):
                phrase = " ".join(run[start : start + 3])
                key = " ".join(_terms(phrase))
                shown.setdefault(key, phrase.lower())
                weight.setdefault(key, (sum(often[term] for term in key.split()), len(weight)))
            run = []
    best = sorted(weight, key=lambda key: (-weight[key][0], weight[key][1]))
    return [shown[key] for key in best[:most]]
