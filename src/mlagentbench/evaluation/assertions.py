"""Which numbers in what an agent says are claims of a measured result, and of what.

The rules are stated in `docs/process.md`. A number is a claim if its sentence binds it to something that is measured
and says that it is so; settings, counts, targets, plans and guesses are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from mlagentbench.evaluation import vocabulary
from mlagentbench.evaluation.figures import DIGIT, Figure, Token, metric_of, parts, split_of, tokens
from mlagentbench.evaluation.vocabulary import Direction, Split

MOST_CLAIMS = 100
"""Of one statement."""
_LONGEST_SENTENCE = 1_000
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)(?<!approx\.)[\s*_`\"')\]]+|\n+|;\s")

Kind = Literal["value", "change", "bound"]
"""What something came to; by how much it changed; what it is above or below."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A number that is said to be a result."""

    figure: Figure
    metric: str
    split: Split
    kind: Kind
    start: int
    end: int
    """Its place in the statement."""
    sentence: tuple[int, int]
    about: bool = False
    """Said to be rough."""
    mean: bool = False
    named: bool = True
    """Whether its own sentence says what is measured."""
    direction: Direction = ""
    above: bool = False
    """Of a bound."""
    ends: tuple[Assertion, ...] = ()
    """Of a change: from what to what, where the same sentence says so."""
    ordered: bool = False
    """Whether it says which of the two came first."""


_UNIT_METRICS = {"s": "time", "B": "memory", "/s": "throughput"}


def assertions(text: str) -> list[Assertion]:
    """The claims of results in a statement, in its order."""
    found: list[Assertion] = []
    inherited = ""
    passed: list[str] = []
    for start, end in _sentences(text) if DIGIT.search(text) else ():
        sentence = text[start : min(end, start + _LONGEST_SENTENCE)]
        if not DIGIT.search(sentence):
            passed.append(sentence)
            continue
        inherited = _last_metric(passed) or inherited
        passed = []
        reader = _Sentence(list(tokens(sentence)), start, (start, end), inherited)
        found += reader.assertions()
        inherited = reader.metric or inherited
        if len(found) >= MOST_CLAIMS:
            break
    return found[:MOST_CLAIMS]


def _last_metric(passed: list[str]) -> str:
    """What the last of some sentences without a number that speaks of a metric speaks of."""
    read = (_Sentence(list(tokens(sentence)), 0, (0, 0), "") for sentence in reversed(passed))
    return next((sentence.metric for sentence in read if sentence.metric), "")


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if end.start() > start:
            yield start, end.start()
        start = end.end()
    if start < len(text):
        yield start, len(text)


class _Sentence:
    """One sentence, read word by word."""

    def __init__(self, read: list[Token], offset: int, place: tuple[int, int], inherited: str) -> None:
        self.read = read
        self.offset = offset
        self.place = place
        self.inherited = inherited
        self.metrics = [
            (index, found)
            for index, token in enumerate(read)
            if token.word and (found := metric_of(token.text, self._word_before(index)))
        ]
        self.metric = self.metrics[-1][1] if self.metrics else ""
        self.words = {token.text for token in read}

    def _word_before(self, index: int) -> str:
        before = index - 1
        if before >= 0 and self.read[before].text == "-":
            before -= 1
        return self.read[before].text if before >= 0 else ""

    def assertions(self) -> Iterator[Assertion]:
        if not any(token.figure for token in self.read) or self._unsure():
            return
        in_order = self._in_order()
        made: list[Assertion] = []
        for index, token in enumerate(self.read):
            if token.figure is not None:
                claim = self._assertion(index, token.figure, in_order.get(index, ""))
                if claim is not None:
                    made.append(claim)
        for each in made:
            ends = tuple(other for other in made if other.kind == "value" and other.metric == each.metric)
            if each.kind == "change" and len(ends) == 2:
                yield replace(each, ends=ends, ordered={"from", "to"} <= self.words)
            else:
                yield each

    def _unsure(self) -> bool:
        """A guess that is called one, a question, or something that is said not to be known."""
        texts = [token.text for token in self.read]
        if texts and texts[-1] == "?":
            return True
        if self.words & vocabulary.UNSURE:
            return True
        return any(
            first == "not" and second in vocabulary.UNSURE_AFTER_NOT for first, second in pairwise(texts)
        )

    def _in_order(self) -> dict[int, str]:
        """`RMSE and R2 are 3.4 and 0.88`: names first, then as many numbers."""
        order: dict[int, str] = {}
        names: list[str] = []
        numbers: list[int] = []
        metrics = dict(self.metrics)
        for index, token in enumerate(self.read):
            if index in metrics:
                if numbers:
                    names, numbers = [], []
                names.append(metrics[index])
            elif token.figure is not None:
                numbers.append(index)
                if len(names) == len(numbers) >= 2:
                    order |= dict(zip(numbers, names, strict=True))
            elif token.text not in vocabulary.BETWEEN:
                names, numbers = [], []
        return order

    def _assertion(self, index: int, figure: Figure, given: str) -> Assertion | None:
        direction = self._change(index, figure)
        if direction is None and self._is_setting(index, figure):
            return None
        if self._is_target(index):
            return None
        metric, named = (
            (given, True) if given else self._bound_metric(index, figure, change=direction is not None)
        )
        if not metric:
            return None
        token = self.read[index]
        bound = self._bound(index)
        before = self._before(index, 4)
        return Assertion(
            figure=figure,
            metric=metric,
            split=self._split(index),
            kind="change" if direction is not None else "bound" if bound else "value",
            start=self.offset + token.start,
            end=self.offset + token.end,
            sentence=self.place,
            about=bool(vocabulary.ROUGH & set(before)),
            mean=self._is_mean(index),
            named=named,
            direction=direction or "",
            above=bound == ">",
        )

    def _before(self, index: int, count: int) -> list[str]:
        return [token.text for token in self.read[max(index - count, 0) : index]]

    def _after(self, index: int, count: int) -> list[str]:
        return [token.text for token in self.read[index + 1 : index + 1 + count]]

    def _clause(self, index: int) -> list[str]:
        """The words before the number in its own part of the sentence."""
        words: list[str] = []
        for token in reversed(self.read[:index]):
            if token.text in vocabulary.CLAUSE_ENDS:
                break
            words.append(token.text)
        return words[::-1]

    def _is_setting(self, index: int, figure: Figure) -> bool:
        before, after = self._before(index, 8), self._after(index, 3)
        if index == 0 and after[:1] in (["."], [")"]):
            return True
        if "/" in (before[-1:] + after[:1]) and figure.unit != "/s":
            return True
        if after[:1] == ["-"] and len(after) > 1 and after[1].isalpha() and figure.unit == "":
            return True
        if figure.whole and figure.unit == "" and after and _is_counted(after):
            return True
        if figure.unit == "%" and after[:1] and after[0] in vocabulary.SHARES:
            return not self.metrics or after[0] != "of" or "data" in self.words
        for word in reversed(before):
            if word in vocabulary.LINKS:
                continue
            name = parts(word)[-1]
            if metric_of(word):
                return False
            if word in vocabulary.PLACES:
                return before[-1] in (word, "#", "=")
            return (
                word in vocabulary.SETTINGS
                or name in vocabulary.SETTINGS
                or ("_" in word and not split_of(word))
            )
        return False

    def _is_target(self, index: int) -> bool:
        """Wished for, expected, supposed or still to be done, and not said to be so."""
        clause = self._clause(index)
        if vocabulary.TARGETS & set(clause) or vocabulary.TARGETS_AFTER & set(self._after(index, 3)):
            return True
        for place, word in enumerate(clause):
            if word in vocabulary.MODALS:
                rest = set(clause[place + 1 :])
                if not rest & vocabulary.FACTS:
                    return True
            if word == "to" and vocabulary.INFINITIVES & set(clause[place + 1 : place + 2]):
                able = vocabulary.ABLE & set(clause[max(place - 2, 0) : place])
                if not able:
                    return True
        return False

    def _bound_metric(self, index: int, figure: Figure, *, change: bool) -> tuple[str, bool]:
        """What the number is a measurement of, and whether this sentence says so."""
        if figure.unit in _UNIT_METRICS:
            return _UNIT_METRICS[figure.unit], True
        left = [(place, name) for place, name in self.metrics if place < index]
        right = [(place, name) for place, name in self.metrics if place > index]
        near_left = bool(left) and index - left[-1][0] <= 3
        if right and not near_left and self._only_modifiers(index, right[0][0]):
            return right[0][1], True
        if left:
            if figure.whole and figure.unit == "" and abs(figure.value) < 1000 and not change:
                close = index - left[-1][0] <= 5 or vocabulary.RESULTS & set(self._before(index, 4))
                return (left[-1][1], True) if close else ("", False)
            return left[-1][1], True
        if (
            right
            and right[0][0] - index <= 7
            and not any(t.figure for t in self.read[index + 1 : right[0][0]])
        ):
            return right[0][1], True
        if change:
            return self.inherited or "score", False
        telling = self.words & vocabulary.RESULTS
        if telling and (not figure.whole or figure.unit == "%" or figure.digits >= 4):
            return self.inherited or "score", False
        return "", False

    def _only_modifiers(self, index: int, end: int) -> bool:
        return all(token.text in vocabulary.MODIFIERS for token in self.read[index + 1 : end])

    def _change(self, index: int, figure: Figure) -> Direction | None:
        """Which way something changed by this number; None if the number is no change."""
        clause, after = self._clause(index), self._after(index, 3)
        words = [word for word in clause if word in vocabulary.CHANGES]
        if figure.unit == "x" and (words or vocabulary.CHANGES_AFTER & set(after)):
            return self._way(words, after)
        before = [
            word
            for word in self._before(index, 3)
            if word not in vocabulary.ROUGH and word not in ("*", "a", "an")
        ]
        if before[-1:] == ["by"] and (
            said := [token.text for token in self.read[:index] if token.text in vocabulary.CHANGES]
        ):
            return self._way(said, after)
        if (
            before[-1:] in (["of"], [":"], ["is"], ["was"])
            and before[-2:-1]
            and before[-2] in vocabulary.NAMED_CHANGES
        ):
            return self._way(words, after)
        if after[:1] and after[0] in vocabulary.CHANGES_AFTER and figure.unit in ("%", "x", "s", ""):
            clear = figure.unit != "" or after[0] in vocabulary.NAMED_CHANGES or after[1:2] == ["than"]
            return self._way(words, after) if clear else None
        return None

    def _way(self, words: list[str], after: list[str]) -> Direction:
        for word in [*(w for w in after[:1] if w in vocabulary.CHANGES), *reversed(words)]:
            if vocabulary.CHANGES[word]:
                return vocabulary.CHANGES[word]
        return ""

    def _bound(self, index: int) -> str:
        before = [word for word in self._before(index, 3) if word not in ("a", "an", "the", "*", "=")]
        if before[-1:] == ["than"] and before[-2:-1]:
            if before[-2] in vocabulary.MORE:
                return ">"
            if before[-2] in vocabulary.LESS:
                return "<"
        if before[-2:] == ["at", "least"]:
            return ">"
        if before[-2:] == ["at", "most"]:
            return "<"
        if before[-1:] and before[-1] in vocabulary.ABOVE:
            return ">"
        if before[-1:] and before[-1] in vocabulary.BELOW:
            return "<"
        return ""

    def _split(self, index: int) -> Split:
        """The part of the data in the name of what is measured, or in `on the test set` around it."""
        names = [place for place, _ in self.metrics if place < index] or [place for place, _ in self.metrics]
        for place in reversed(names[-1:] if names and names[-1] < index else names[:1]):
            for token in self.read[max(place - 3, 0) : place + 1][::-1]:
                if found := split_of(token.text):
                    return found
                if not token.word or token.text in vocabulary.LINKS:
                    break
        for place in range(max(index - 6, 0), min(index + 6, len(self.read) - 1)):
            after = {token.text for token in self.read[place + 1 : place + 3]}
            if after & vocabulary.DATA_WORDS and (found := split_of(self.read[place].text)):
                return found
        return ""

    def _is_mean(self, index: int) -> bool:
        texts = [token.text for token in self.read[:index]]
        if {"average", "averaged", "mean"} & set(self._after(index, 3)):
            return True
        return (
            "average" in texts
            or "averaged" in texts
            or any(
                word == "mean" and after not in ("absolute", "squared", "square")
                for word, after in pairwise([*texts, ""])
            )
        )


def _is_counted(after: list[str]) -> bool:
    word = after[0]
    if word in vocabulary.MEASURED_IN:
        return False
    if word in vocabulary.COUNTED:
        return True
    if len(after) > 1 and after[1] in vocabulary.COUNTED and word.isalpha() and not metric_of(word):
        return True
    return (
        len(word) > 3
        and word.endswith("s")
        and word.isalpha()
        and word not in vocabulary.VERBS
        and not metric_of(word)
    )
