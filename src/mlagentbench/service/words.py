"""Words of a text, and a ranking of texts by them. Everything here is deterministic."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W_]+")
_SATURATION, _LENGTH = 1.2, 0.75
"""The two constants of BM25, as usual."""

_COMMON = """
    a about above after again against all also although am among an and any are as at be because been before being
    below between both but by can cannot could did do does doing done down during each either else etc ever every few
    for from further had has have having he her here hers him his how however i if in into is it its itself just let
    like many may me might more most much must my neither no nor not now of off often on once one only onto or other
    our ours out over own per rather same she should since so some such than that the their theirs them then there
    these they this those though through thus to too under until up upon us use used uses using very via was we well
    were what when where whether which while who whom whose why will with within without would yet you your
"""
STOP_WORDS = frozenset(_COMMON.split())


def words(text: str) -> list[str]:
    """The words of `text` in lower case, without accents, and without a plural's `s`.

    >>> words("Gaußian Splines for naïve classes")
    ['gaussian', 'spline', 'for', 'naive', 'classe']
    """
    plain = without_marks(unicodedata.normalize("NFKD", without_marks(text)).casefold())
    return [_singular(word) for word in _WORD.findall(plain)]


def without_marks(text: str) -> str:
    """The same without accents that are characters of their own. Sorting a long run of them, as normalising does, takes
    time that grows with its square."""
    return text if text.isascii() else "".join(each for each in text if not unicodedata.combining(each))


def content_words(text: str) -> list[str]:
    """The same, without words that stand in any text."""
    return [word for word in words(text) if word not in _STOPPED and len(word) > 1]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_STOPPED = frozenset(map(_singular, STOP_WORDS))


class Ranking:
    """BM25 over texts that are given as their words."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._counts = [Counter(text) for text in texts]
        self._lengths = [count.total() for count in self._counts]
        self._mean = max(sum(self._lengths) / max(len(self._lengths), 1), 1.0)
        self._holding: dict[str, list[int]] = {}
        for place, count in enumerate(self._counts):
            for word in count:
                self._holding.setdefault(word, []).append(place)

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """What each text that holds any of the words scores, by its place."""
        found: dict[int, float] = {}
        for word in dict.fromkeys(query):
            holding = self._holding.get(word, [])
            rarity = math.log(1 + (len(self._counts) - len(holding) + 0.5) / (len(holding) + 0.5))
            for place in holding:
                often = self._counts[place][word]
                long = 1 - _LENGTH + _LENGTH * self._lengths[place] / self._mean
                gain = rarity * often * (_SATURATION + 1) / (often + _SATURATION * long)
                found[place] = found.get(place, 0.0) + gain
        return found
