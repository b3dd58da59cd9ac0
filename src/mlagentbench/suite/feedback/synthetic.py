"""Made-up essays: sentences of a small grammar, into which writers of graded skill put errors of six kinds.

Behind each essay stand six skills that share a common part. Each skill drives what can be seen of it in the text, and
the scores are the skills as seen by a rater who is not quite sure. Topics, their words and rare words are drawn from
the seed.
"""

# mypy: ignore-errors
from __future__ import annotations

import math
import random

TARGETS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
MEANS = [3.13, 3.03, 3.24, 3.12, 3.03, 3.08]
SPREADS = [0.66, 0.64, 0.60, 0.66, 0.70, 0.67]
TOPICS = 14


def essays(entropy: int, n: int, words: dict) -> list[dict[str, str]]:
    """`n` essays with their scores; `words` is the content of words.py."""
    rng = random.Random(entropy)
    world = World(rng, words)
    return [_essay(rng, world) for _ in range(n)]


class World:
    """What all essays share: topics with their words, and which words go together."""

    def __init__(self, rng: random.Random, words: dict) -> None:
        words = {
            name: words[name].split() if isinstance(words[name], str) else words[name]
            for name in words
            if name.isupper()
        }
        self.words = words
        bases = [prefix + root for prefix in words["PREFIXES"] for root in words["ROOTS"]]
        rng.shuffle(bases)

        def rare(count: int, endings: list[str]) -> list[str]:
            return [bases.pop() + rng.choice(endings) for _ in range(count)]

        nouns, verbs, adjectives = (
            rare(700, words["NOUN_ENDINGS"]),
            rare(220, words["VERB_ENDINGS"]),
            rare(260, words["ADJECTIVE_ENDINGS"]),
        )
        self.topics = [
            {
                "noun": rng.sample(words["NOUNS"], 45),
                "verb": rng.sample(words["VERBS"], 35),
                "rare noun": rng.sample(nouns, 110),
                "rare verb": rng.sample(verbs, 45),
                "rare adjective": rng.sample(adjectives, 55),
                "length": rng.uniform(130, 210),
                "severity": rng.gauss(0, 0.12),
            }
            for _ in range(TOPICS)
        ]
        self.verbs_with = [(verb, p) for p, verbs in words["VERBS_WITH"].items() for verb in verbs.split()]
        self.adjectives_with = [
            (adjective, p) for p, group in words["ADJECTIVES_WITH"].items() for adjective in group.split()
        ]
        self.phrases = [
            (verb, rest) for verb, group in words["PHRASES"].items() for rest in group.split(", ")
        ]
        self.joining = {kind: group.split("; ") for kind, group in words["JOINING"].items()}


def _essay(rng: random.Random, world: World) -> dict[str, str]:
    topic = rng.randrange(TOPICS)
    ability, sympathy = rng.gauss(0, 1), rng.gauss(0, 1)
    skills, scores = {}, {}
    for target, mean, spread in zip(TARGETS, MEANS, SPREADS, strict=True):
        own = rng.gauss(0, 1)
        skills[target] = 0.8 * ability + 0.6 * own
        level = 0.70 * ability + 0.50 * own + 0.40 * sympathy + 0.30 * rng.gauss(0, 1)
        score = mean + spread * (level + world.topics[topic]["severity"])
        scores[target] = f"{min(5.0, max(1.0, round(2 * score) / 2)):.1f}"
    length = world.topics[topic]["length"] * math.exp(0.12 * ability + rng.gauss(0, 0.28))
    return {"full_text": Writer(rng, world, topic, skills).essay(length), **scores}


class Writer:
    """Writes one essay. Each `self.slips(kind)` is a chance to go wrong, the rarer the greater the skill."""

    def __init__(self, rng: random.Random, world: World, topic: int, skills: dict[str, float]) -> None:
        self.rng, self.world, self.skills = rng, world, skills
        self.rates = {
            kind: min(0.85, usual * math.exp(-0.75 * skills[skill] + rng.gauss(0, 0.25)))
            for kind, (skill, usual) in {
                "agreement": ("grammar", 0.13), "tense": ("grammar", 0.05), "article": ("grammar", 0.09),
                "number": ("grammar", 0.09), "preposition": ("phraseology", 0.17),
                "phrase": ("phraseology", 0.22), "calque": ("phraseology", 0.03), "order": ("syntax", 0.09),
                "fragment": ("syntax", 0.07), "run-on": ("syntax", 0.11), "drift": ("cohesion", 0.22),
                "wrong joint": ("cohesion", 0.30), "spelling": ("conventions", 0.028),
                "capital": ("conventions", 0.09), "stop": ("conventions", 0.06), "comma": ("conventions", 0.25),
            }.items()
        }  # fmt: skip
        self.complexity = _logistic(-0.5 + 0.7 * skills["syntax"] + rng.gauss(0, 0.3))
        self.linking = _logistic(-0.2 + 0.7 * skills["cohesion"] + rng.gauss(0, 0.3))
        self.rarity = _logistic(-2.1 + 0.75 * skills["vocabulary"] + rng.gauss(0, 0.25))
        self.opinionated = rng.random() * 0.25
        self.excited = rng.random() ** 3 * 0.2
        self.past = rng.random() < 0.3
        self.home, self.topics = topic, world.topics
        # A writer knows only some of a topic's words; who knows few repeats them.
        known = max(6, int(17 * math.exp(0.4 * skills["vocabulary"] + rng.gauss(0, 0.2))))
        self.known = {kind: self._some(self.topics[topic][kind], known) for kind in ("noun", "verb")}
        for kind in ("GOOD", "BAD", "PLAIN"):
            self.known[kind] = self._some(world.words[kind], max(3, known // 2))
        self.known["joint"] = {
            kind: self._some(group, max(2, known // 5)) for kind, group in world.joining.items()
        }
        self.misspelt: dict[str, str] = {}

    def slips(self, kind: str) -> bool:
        return self.rng.random() < self.rates[kind]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, items):
        return items[int(self.rng.random() * len(items))]

    def _some(self, items, count):
        return self.rng.sample(items, min(count, len(items)))

    def essay(self, length: float) -> str:
        paragraphs: list[list[str]] = [[]]
        written, focus, stance = 0, None, 1
        while written < length:
            turned = self.chance(0.35)
            stance = -stance if turned else stance
            # Good writers stay with what they have just spoken of, and say how sentences hang together.
            topic = self.rng.randrange(TOPICS) if self.slips("drift") else self.home
            focus = focus if focus and self.chance(0.7 * self.linking) else None
            words, focus = self.sentence(topic, stance, focus)
            if written and self.chance(0.75 * self.linking + 0.1):
                words = self.joint(turned) + words
            elif self.chance(self.opinionated):
                words = [*self.pick(self.world.words["OPENINGS"]).split(), *words]
            if paragraphs[-1] and self.chance(0.05 + 0.14 * self.linking * (len(paragraphs[-1]) > 3)):
                paragraphs.append([])
            paragraphs[-1].append(self.surface(words))
            written += len(words)
        return "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)

    def joint(self, turned: bool) -> list[str]:
        if self.slips("wrong joint"):
            right = self.pick(["same", "turn", "cause", "order"])
            if self.chance(0.5):
                return self.pick(self.world.words["SIMPLE_JOINING"]).split()
        else:
            right = "turn" if turned else self.pick(["same", "same", "cause", "order"])
        return [*self.pick(self.known["joint"][right]).split(), ","]

    def sentence(self, topic: int, stance: int, focus: str | None) -> tuple[list[str], str | None]:
        clause, noun = self.clause(topic, stance, focus)
        if self.chance(0.25 + 0.5 * self.complexity):
            other, second = self.clause(topic, stance, noun if self.chance(0.5) else None)
            if self.slips("run-on"):
                return [*clause, *([","] if self.chance(0.5) else []), *other], second
            kind = self.rng.random()
            if kind < 1 - self.complexity:
                return [
                    *clause,
                    *([","] if not self.slips("comma") else []),
                    self.pick(["and", "so"]),
                    *other,
                ], second
            if kind < 1 - 0.5 * self.complexity:
                return [
                    *clause,
                    self.pick(["because", "when", "if", "since", "while", "unless"]),
                    *other,
                ], second
            comma = [] if self.slips("comma") else [","]
            return [
                self.pick(["when", "if", "since", "although", "while", "after"]),
                *other,
                *comma,
                *clause,
            ], noun
        if self.slips("fragment"):
            return (
                [self.pick(["because", "when", "which", "for"]), *clause]
                if self.chance(0.5)
                else clause[: max(2, len(clause) // 2)]
            ), noun
        return clause, noun

    def clause(self, topic: int, stance: int, focus: str | None) -> tuple[list[str], str | None]:
        subject, plural, noun = self.noun_phrase(topic, focus, subject=True)
        if noun and self.chance(0.3 * self.complexity):
            link = self.pick(["that", "which", "who"])
            subject = [*subject, link, *self.verb_phrase(topic, stance, plural)]
        words = [*subject, *self.verb_phrase(topic, stance, plural)]
        if self.slips("order") and len(words) > 3:
            place = self.rng.randrange(len(words) - 1)
            words[place], words[place + 1] = words[place + 1], words[place]
        return words, noun

    def word(self, kind: str, topic: int) -> str:
        if self.chance(self.rarity):
            return self.pick(self.topics[topic]["rare " + kind])
        if topic != self.home:
            return self.pick(self.topics[topic][kind])
        return self.pick(self.known[kind])

    def adjective(self, topic: int, stance: int) -> str:
        if self.chance(self.rarity):
            return self.pick(self.topics[topic]["rare adjective"])
        return self.pick(self.known["GOOD" if stance > 0 else "BAD"])

    def noun_phrase(self, topic: int, focus: str | None = None, subject: bool = False, deep: bool = False):
        if subject and not focus and self.chance(0.25):
            word, plural = self.pick(
                [
                    ("they", True),
                    ("it", False),
                    ("he", False),
                    ("she", False),
                    ("we", True),
                    ("you", True),
                    ("I", True),
                ]
            )
            return [word], plural, None
        noun = focus or self.word("noun", topic)
        plural = self.chance(0.45)
        written = _plural(noun) if plural != self.slips("number") else noun
        phrase = [written]
        if self.chance(0.2 + 0.2 * self.complexity):
            phrase = [self.pick(self.known["PLAIN"]), *phrase]
        if plural:
            determiner = self.pick(["the", "many", "these", "some", "their", "our", "most", ""])
        else:
            determiner = self.pick(["the", "the", "a", "a", "this", "every", "my", "their"])
        if determiner == "a":
            vowel = (phrase[0][0] in "aeiou") != (self.slips("article") and self.chance(0.5))
            determiner = "an" if vowel else "a"
        if self.slips("article") and determiner in ("the", "a", "an"):
            determiner = ""
        phrase = [determiner, *phrase] if determiner else phrase
        if not deep and self.chance(0.12 + 0.2 * self.complexity):
            # What stands between a noun and its verb hides the noun's number.
            inner, _, _ = self.noun_phrase(topic, deep=True)
            phrase = [*phrase, self.pick(["of", "in", "with", "for"]), *inner]
        return phrase, plural, noun

    def verb_phrase(self, topic: int, stance: int, plural: bool) -> list[str]:
        kind = self.rng.random()
        shown_plural = plural != self.slips("agreement")
        past = self.past != self.slips("tense")
        negated = ["not"] if self.chance(0.06) else []
        if kind < 0.34:
            be = ("were" if shown_plural else "was") if past else ("are" if shown_plural else "is")
            if kind < 0.12:
                adjective, preposition = self.pick(self.world.adjectives_with)
                return [be, *negated, adjective, self.preposition(preposition), *self.noun_phrase(topic)[0]]
            very = [self.pick(["very", "really", "so", "quite"])] if self.chance(0.25) else []
            return [be, *negated, *very, self.adjective(topic, stance)]
        if kind < 0.52:
            verb, preposition = self.pick(self.world.verbs_with)
            rest = [self.preposition(preposition), *self.noun_phrase(topic)[0]]
        elif kind < 0.66:
            verb, collocate = self.pick(self.world.phrases)
            if self.slips("phrase"):
                verb = self.pick(list(self.world.words["PHRASES"]))
            rest = collocate.split()
        else:
            verb, rest = self.word("verb", topic), self.noun_phrase(topic)[0]
            if self.slips("calque"):
                rest = [self.pick(self.world.words["PREPOSITIONS"]), *rest]
        if self.chance(0.3):
            helper = self.pick(["can", "should", "will", "must", "would", "might", "don't", "can't"])
            return [helper, verb if not self.slips("agreement") or plural else _third(verb), *rest]
        return [_past(verb) if past else verb if shown_plural else _third(verb), *rest]

    def preposition(self, right: str) -> str:
        return self.pick(self.world.words["PREPOSITIONS"]) if self.slips("preposition") else right

    def surface(self, words: list[str]) -> str:
        """The sentence as written: spelling, capitals and stops."""
        shown = []
        for word in words:
            if word == ",":
                if shown:
                    shown[-1] += ","
                continue
            spelt = self.spell(word) if self.slips("spelling") or word in self.misspelt else word
            if "'" in spelt and self.slips("stop"):
                spelt = spelt.replace("'", "")
            if spelt == "I" and self.slips("capital"):
                spelt = "i"
            shown.append(spelt)
        if not self.slips("capital"):
            shown[0] = shown[0][0].upper() + shown[0][1:]
        end = "!" if self.chance(self.excited) else "."
        return " ".join(shown) + ("" if self.slips("stop") else end)

    def spell(self, word: str) -> str:
        """A misspelling; most writers make the same mistake again."""
        if word in self.misspelt and self.chance(0.6):
            return self.misspelt[word]
        spelt = _misspelt(self.rng, word, self.world.words["CONFUSED"])
        if self.chance(0.5) and spelt != word:
            self.misspelt[word] = spelt
        return spelt


def _misspelt(rng: random.Random, word: str, confused: dict[str, str]) -> str:
    if word in confused:
        return confused[word]
    if len(word) < 4:
        return word
    place = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    kind = rng.random()
    if kind < 0.25:
        return before + after
    if kind < 0.45:
        return before + letter * 2 + after
    if kind < 0.65:
        return before + after[0] + letter + after[1:]
    vowels = [i for i in range(1, len(word)) if word[i] in "aeiou"]
    if not vowels:
        return before + after
    place = rng.choice(vowels)
    return word[:place] + rng.choice([v for v in "aeiou" if v != word[place]]) + word[place + 1 :]


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _plural(noun: str) -> str:
    irregular = {"child": "children", "knife": "knives", "hero": "heroes"}
    if noun in irregular:
        return irregular[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _third(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "o")) else "s")


IRREGULAR = {
    "teach": "taught", "find": "found", "make": "made", "take": "took", "give": "gave", "keep": "kept",
    "lose": "lost", "build": "built", "break": "broke", "choose": "chose", "show": "showed", "tell": "told",
    "meet": "met", "leave": "left", "read": "read", "write": "wrote", "sing": "sang", "win": "won", "buy": "bought",
    "sell": "sold", "spend": "spent", "forget": "forgot", "have": "had", "do": "did", "pay": "paid", "lead": "led",
    "think": "thought", "plan": "planned", "stop": "stopped", "prefer": "preferred", "refer": "referred",
    "control": "controlled",
}  # fmt: skip


def _past(verb: str) -> str:
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")
