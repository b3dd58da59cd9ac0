"""Words of a field that does not exist: coined ones, which nobody can know, and the plain ones around them."""

from __future__ import annotations

from random import Random

_ONSETS = (
    "b", "br", "d", "dr", "f", "fl", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "pl", "qu", "r", "s", "sk", "st",
    "t", "tr", "v", "w", "z",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ei", "ou")
_CODAS = ("b", "k", "l", "lm", "m", "n", "nd", "nt", "r", "rk", "rn", "s", "sk", "t", "th", "x")

PROCESSES = ("folding", "sorting", "tracking", "matching", "routing", "recovery", "alignment", "forecasting")
OTHER_PROCESSES = (
    "settling",
    "ordering",
    "pursuit",
    "pairing",
    "steering",
    "repair",
    "registration",
    "outlook",
)
"""What the same processes are called by others, in the same order."""

TECHNIQUES = tuple(
    f"{how} {what}"
    for how, what in (
        ("staged", "pruning"), ("mirrored", "sampling"), ("layered", "voting"), ("delayed", "averaging"),
        ("sparse", "relaxation"), ("nested", "clipping"), ("local", "rescaling"), ("masked", "smoothing"),
        ("paired", "hashing"), ("adaptive", "bracketing"), ("cyclic", "reweighting"), ("guided", "splitting"),
        ("shared", "whitening"), ("tied", "projection"), ("soft", "truncation"), ("deep", "interleaving"),
        ("gated", "pooling"), ("robust", "centring"), ("iterated", "merging"), ("bounded", "annealing"),
    )
)  # fmt: skip
MEASURES = (
    "slip error", "drift rate", "gap score", "loss of order", "miss rate", "shear error", "lag", "stray share",
    "residual spread", "overlap error",
)  # fmt: skip


class Coiner:
    """Makes words up; no word twice, and none that begins like another."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._taken: set[str] = set()

    def stem(self) -> str:
        while True:
            rng = self._rng
            beginning = rng.choice(_ONSETS) + rng.choice(_VOWELS)
            word = beginning + rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
            if 5 <= len(word) <= 9 and word[:5] not in self._taken:
                self._taken.add(word[:5])
                return word

    def name(self) -> str:
        return self.stem().capitalize()
