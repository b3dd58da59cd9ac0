"""Made-up film reviews, whose sentiment lies in how words are put together as much as in the words.

A writer has made up their mind. Most clauses agree with it, some do not; strong wording is more to be relied on than
faint wording, what comes after a "but" more than what was granted before it, and the verdict more than the rest. What
others said and what had been hoped for points the other way, and the story's own adjectives nowhere. Many clauses deny
the opposite instead of saying the thing. Which of the rarer adjectives praise and which blame is drawn from the seed.
Nothing else, neither length nor names nor layout, depends on the verdict.
"""

# mypy: ignore-errors
from __future__ import annotations

import random
import re

RARE = 600
NAMES = 120
DENIED = 0.14
"""Share of clauses that say a thing by denying its opposite."""
# How often a clause sides with the writer's mind, by what kind of clause it is and how strongly it is worded.
PLAIN, MAIN, GRANTED, FOREIGN, VERDICT = 0.75, 0.80, 0.40, 0.36, 0.85
STRONG, FAINT = 0.14, -0.12


def reviews(entropy: int, n: int, words: dict[str, str]) -> list[tuple[str, int]]:
    """`n` reviews, each with 1 for praise and 0 for blame; `words` is the content of words.py."""
    writer = Writer(random.Random(entropy), words)
    labels = [place % 2 for place in range(n)]
    writer.rng.shuffle(labels)
    return [(writer.review(1 if label else -1), label) for label in labels]


class Writer:
    def __init__(self, rng: random.Random, words: dict[str, str]) -> None:
        self.rng = rng
        self.lists = {
            name: [part.strip() for part in text.split(";")] if ";" in text else text.split()
            for name, text in words.items()
            if name.isupper()
        }
        bases = [prefix + root for prefix in self.lists["PREFIXES"] for root in self.lists["ROOTS"]]
        rare = [base + rng.choice(self.lists["ENDINGS"]) for base in rng.sample(bases, RARE)]
        self.adjectives = {
            1: self._ranked(self.lists["GOOD"], rare[: RARE // 2]),
            -1: self._ranked(self.lists["BAD"], rare[RARE // 2 :]),
        }
        syllables = self.lists["NAMES"]
        self.names = [
            " ".join(
                "".join(rng.choice(syllables) for _ in range(rng.randint(2, 3))).capitalize() for _ in "ab"
            )
            for _ in range(NAMES)
        ]

    def _ranked(self, common: list[str], rare: list[str]) -> tuple[list[str], list[float]]:
        """Adjectives with cumulative weights: few are frequent, and both sides have the same shape."""
        common = self.rng.sample(common, len(common))
        weights, total = [], 0.0
        for place in range(len(common) + len(rare)):
            total += 1 / (place + 8)
            weights.append(total)
        return common + rare, weights

    def pick(self, name: str) -> str:
        items = self.lists[name]
        return items[int(self.rng.random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def adjective(self, side: int) -> str:
        words, weights = self.adjectives[side]
        return self.rng.choices(words, cum_weights=weights)[0]

    def filled(self, template: str, side: int, degree: str = "") -> str:
        """`template` with an adjective of this side, and whatever else it asks for."""
        word = self.adjective(side)
        return template.format(
            w=f"{self.pick(degree)} {word}" if degree else word,
            v=self.adjective(side),
            a=self.pick("ASPECTS"),
            n=self.rng.choice(self.names),
            p=self.pick("PEOPLE"),
            q=self.pick("PEOPLE"),
            d=self.pick("DEEDS"),
            l=self.pick("PLACES"),
        )

    def clause(self, mind: int, agreeing: float) -> str:
        """A judgement that is the writer's own with probability `agreeing`, more surely so where it is strong."""
        draw = self.rng.random()
        degree = "STRONG" if draw < 0.22 else "FAINT" if draw < 0.44 else ""
        shift = {"STRONG": STRONG, "FAINT": FAINT, "": 0.0}[degree]
        agreeing += shift if agreeing > 0.5 else -shift
        meant = mind if self.chance(agreeing) else -mind
        if self.chance(DENIED):
            return self.filled(self.pick("DENYING"), -meant, degree)
        return self.filled(self.pick("SAYING"), meant, degree)

    def sentence(self, mind: int) -> str:
        draw = self.rng.random()
        if draw < 0.46:
            return self.clause(mind, PLAIN)
        if draw < 0.70:
            granted, main = self.clause(mind, GRANTED), self.clause(mind, MAIN)
            return self.pick("CONTRASTS").format(x=granted, y=main)
        if draw < 0.78:
            return self.filled(self.pick("FOREIGN"), mind if self.chance(FOREIGN) else -mind)
        if draw < 0.88:
            return self.filled(self.pick("PLOTS"), 1 if self.chance(0.5) else -1)
        return self.filled(self.pick("FILLERS"), 1)

    def review(self, mind: int) -> str:
        sentences = [self.sentence(mind) for _ in range(int(self.rng.triangular(3, 10, 6)))]
        if self.chance(0.6):
            verdict = self.pick("VERDICTS").format(y=self.clause(mind, VERDICT))
            sentences.insert(0 if self.chance(0.2) else len(sentences), verdict)
        text = ""
        for sentence in sentences:
            mark = "!" if self.chance(0.08) else "."
            text += sentence[0].upper() + sentence[1:] + mark
            text += "<br /><br />" if self.chance(0.12) else " "
        text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
        return text.removesuffix("<br /><br />").strip()
