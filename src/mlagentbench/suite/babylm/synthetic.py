"""Made-up English-like text in ten registers, one for each source of the BabyLM corpus.

The little words are English; nouns, verbs, adjectives and names are made of syllables, drawn from the seed. What a
model can learn lies at several distances: endings and irregular forms within a word; which things a verb goes with; a
verb that agrees with its subject across a relative clause or a phrase in between; pronouns and reflexives that agree
with whom they stand for, sentences ago; topics that decide which words a passage uses; names and things that come
back; answers that take up the words of their question; speakers who take turns; and each register's own manner.
"""

from __future__ import annotations

import random
from itertools import accumulate


def _words(text: str) -> list[str]:
    return text.split()


SHARES = {
    "aochildes": 5,
    "bnc_spoken": 9,
    "cbt": 6,
    "children_stories": 4,
    "gutenberg": 10,
    "open_subtitles": 28,
    "qed": 10,
    "simple_wikipedia": 15,
    "switchboard": 2,
    "wikipedia": 11,
}
"""Of a hundred words, how many come from each source, about as published."""

TOPICS = 12
KINDS = ("person", "animal", "thing", "place")
PREPOSITIONS = _words("in on near behind under beside above over")
NUMBERS = _words("two three four five six seven")
PRONOUNS = {
    "he": ("he", "him", "his", "himself"),
    "she": ("she", "her", "her", "herself"),
    "it": ("it", "it", "its", "itself"),
    "they": ("they", "them", "their", "themselves"),
}
ONSETS = _words(
    "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sh sk sl sm sn sp st str t th tr tw v w"
)
VOWELS = _words("a e i o u ai ee oa oo ou")
CODAS = _words("b ck d ff g l ll m mp n nd ng nk nt p r rk rm rn sh sk st t th tch")
ENDINGS = _words("er le en ow y et ock in")


def corpus(entropy: int, words: dict[str, int]) -> dict[str, dict[str, str]]:
    """For each source and each of the parts that `words` names a text of about that share of so many words."""
    world = World(random.Random(entropy))
    made: dict[str, dict[str, str]] = {}
    for source, share in SHARES.items():
        made[source] = {}
        for part, total in words.items():
            writer = Writer(world, source)
            made[source][part] = writer.text(total * share // sum(SHARES.values()))
    return made


class World:
    """The words that there are, and what goes with what."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.used: set[str] = set()
        self.nouns: dict[str, tuple[str, str, str]] = {}
        """By its singular: plural, kind, and the pronoun that stands for one of them."""
        self.verbs: dict[str, tuple[str, str, str, str]] = {}
        """By its plain form: third person, past, continuous, and the kind of thing that it is done to."""
        self.pairs: dict[str, Ranked] = {}
        """Adjectives, with those that come after them."""
        common = self._vocabulary(24, 26, 24)
        self.topics = [self._topic(common) for _ in range(TOPICS)]
        self.people = [(self._word(2).capitalize(), rng.choice(("he", "she"))) for _ in range(90)]
        self.towns = [self._word(2).capitalize() for _ in range(50)]

    def _word(self, syllables: int) -> str:
        rng = self.rng
        while True:
            word = "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables - 1))
            word += rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS)
            if rng.random() < 0.25:
                word += rng.choice(ENDINGS)
            if word not in self.used and len(word) < 12:
                self.used.add(word)
                return word

    def _noun(self, kind: str) -> str:
        rng = self.rng
        noun = self._word(rng.choice((1, 1, 1, 2)))
        plural = noun + ("es" if noun.endswith(("sh", "ch", "st")) else "s")
        if rng.random() < 0.06:
            plural = rng.choice((noun, noun + "en"))
        pronoun = rng.choice(("he", "she")) if kind == "person" else "it"
        self.nouns[noun] = (plural, kind, pronoun)
        return noun

    def _verb(self) -> str:
        rng = self.rng
        verb = self._word(1)
        past = verb + "ed"
        if rng.random() < 0.15:
            past = self._word(1)
        self.verbs[verb] = (
            verb + ("es" if verb.endswith(("sh", "ch")) else "s"),
            past,
            verb + "ing",
            rng.choice(("none", *KINDS, "thing", "thing")),
        )
        return verb

    def _vocabulary(self, nouns: int, verbs: int, adjectives: int) -> dict[str, list[str]]:
        made = {kind: [self._noun(kind) for _ in range(nouns // 4)] for kind in KINDS}
        made["verb"] = [self._verb() for _ in range(verbs)]
        made["adjective"] = [self._word(self.rng.choice((1, 2))) for _ in range(adjectives)]
        return made

    def _topic(self, common: dict[str, list[str]]) -> dict[str, Ranked]:
        """Words of its own, a few frequent and many rare ones, and common ones that it uses as often as it likes."""
        own = self._vocabulary(36, 18, 14)
        topic = {}
        for sort, words in own.items():
            shared = self.rng.sample(common[sort], len(common[sort]) // 2)
            mixed = self.rng.sample(words + shared, len(words) + len(shared))
            topic[sort] = Ranked(mixed)
        for adjective in own["adjective"]:
            self.pairs[adjective] = Ranked(self.rng.sample(own["adjective"], 4))
        return topic


class Ranked:
    """Words of which the first are much more frequent than the last."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.weights = list(accumulate(1 / (rank + 1.5) for rank in range(len(words))))

    def draw(self, rng: random.Random) -> str:
        return rng.choices(self.words, cum_weights=self.weights)[0]


class Writer:
    """Writes passages in one register."""

    def __init__(self, world: World, source: str) -> None:
        self.world = world
        self.rng = world.rng
        self.passage = getattr(self, f"_{source}")
        self.topic: dict[str, Ranked] = {}
        self.cast: list[tuple[str, str]] = []
        self.things: list[str] = []
        """What the passage is about: people with their pronouns, and nouns that come back."""

    def text(self, words: int) -> str:
        lines: list[str] = []
        count = 0
        while count < words:
            self.topic = self.rng.choice(self.world.topics)
            self.cast = self.rng.sample(self.world.people, 3)
            self.things = [self.topic[self.rng.choice(KINDS)].draw(self.rng) for _ in range(3)]
            passage = self.passage()
            count += sum(len(line.split()) for line in passage)
            lines += passage
        return "".join(f"{line}\n" for line in lines)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *words: str) -> str:
        return words[int(self.rng.random() * len(words))]

    def noun(self, *kinds: str) -> str:
        fitting = [thing for thing in self.things if not kinds or self.world.nouns[thing][1] in kinds]
        if fitting and self.chance(0.5):
            return self.rng.choice(fitting)
        noun = self.topic[self.pick(*(kinds or KINDS))].draw(self.rng)
        if self.chance(0.3):
            self.things[self.rng.randrange(3)] = noun
        return noun

    def described(self, noun: str, many: bool, plain: bool = False) -> str:
        """A noun with what stands before it."""
        world = self.world
        head = world.nouns[noun][0] if many else noun
        adjective = "" if plain or self.chance(0.6) else self.adjective() + " "
        if many:
            before = self.pick("the", "the", "the", "some", "many", "all the", self.pick(*NUMBERS))
        else:
            before = self.pick("the", "the", "the", "a", "this", "that", "every")
        if before == "a" and (adjective or head)[0] in "aeiou":
            before = "an"
        return f"{before} {adjective}{head}"

    def adjective(self) -> str:
        first = self.topic["adjective"].draw(self.rng)
        if self.chance(0.12) and first in self.world.pairs:
            return f"{first}, {self.world.pairs[first].draw(self.rng)}"
        return first

    def subject(self, long: float = 0.45) -> tuple[str, bool, str]:
        """Who does it, whether they are many, and the pronoun that stands for them."""
        if self.cast and self.chance(0.35):
            if self.chance(0.15):
                (one, _), (other, _) = self.rng.sample(self.cast, 2)
                return f"{one} and {other}", True, "they"
            name, pronoun = self.rng.choice(self.cast)
            return name, False, pronoun
        noun, many = self.noun("person", "animal", "thing"), self.chance(0.4)
        phrase = self.described(noun, many)
        if self.chance(long):
            phrase += self.between()
        return phrase, many, "they" if many else self.world.nouns[noun][2]

    def between(self) -> str:
        """What stands between a subject and its verb, of another number as often as not."""
        other = self.described(self.noun(), self.chance(0.5), plain=True)
        if self.chance(0.5):
            return f" {self.pick(*PREPOSITIONS)} {other}"
        verb = self.transitive()
        if self.chance(0.5):
            name = self.rng.choice(self.cast)[0]
            return f" that {name} {self.world.verbs[verb][self.pick_tense()]}"
        return f" with {other}"

    def pick_tense(self) -> int:
        return 1 if self.chance(0.7) else 0

    def transitive(self) -> str:
        while True:
            verb = self.topic["verb"].draw(self.rng)
            if self.world.verbs[verb][3] != "none":
                return verb

    def clause(
        self, past: bool, long: float = 0.45, subject: tuple[str, bool, str] | None = None
    ) -> tuple[str, str]:
        """A clause, and the pronoun of its subject."""
        who, many, pronoun = subject or self.subject(long)
        return f"{who} {self.predicate(past, many, pronoun)}", pronoun

    def predicate(self, past: bool, many: bool, pronoun: str) -> str:
        be = ("were" if many else "was") if past else ("are" if many else "is")
        have = "had" if past else ("have" if many else "has")
        kind = self.rng.random()
        if kind < 0.2:
            return f"{be} {self.pick('', 'very ', 'not ', 'so ')}{self.adjective()}"
        if kind < 0.28:
            return f"{be} {self.pick(*PREPOSITIONS)} {self.described(self.noun('place', 'thing'), False)}"
        if kind < 0.36:
            return f"{have} {self.described(self.noun('thing', 'animal'), self.chance(0.4))}"
        verb = self.topic["verb"].draw(self.rng)
        third, before, going, object_kind = self.world.verbs[verb]
        if kind < 0.5:
            form = f"{be} {going}"
        elif kind < 0.58:
            form = f"{self.pick('will', 'can', 'must', 'would') if not past else self.pick('could', 'did not')} {verb}"
        else:
            form = before if past else (verb if many else third)
        if object_kind == "none":
            tail = f" {self.pick(*PREPOSITIONS)} {self.described(self.noun('place'), False, True)}"
            return form + (tail if self.chance(0.4) else "")
        if object_kind == "person" and self.chance(0.5):
            goal = PRONOUNS[pronoun][3] if self.chance(0.4) else self.rng.choice(self.cast)[0]
        elif self.chance(0.2):
            goal = f"{PRONOUNS[pronoun][2]} {self.noun(object_kind)}"
        else:
            goal = self.described(self.noun(object_kind), self.chance(0.35))
        return f"{form} {goal}"

    def following(self, past: bool, pronoun: str) -> str:
        """A clause about whom the one before was about."""
        who = PRONOUNS[pronoun][0]
        return f"{who} {self.predicate(past, pronoun == 'they', pronoun)}"

    def sentence(self, past: bool, long: float = 0.45) -> list[str]:
        first, pronoun = self.clause(past, long)
        if self.chance(0.35):
            link = self.pick("and", "but", "because", "so", "when", "while")
            first += f"{',' if link in ('but', 'so') else ''} {link} {self.following(past, pronoun)}"
        said = [capital(first) + "."]
        while self.chance(0.45):
            said.append(capital(self.following(past, pronoun)) + ".")
        return said

    def question(self) -> tuple[str, str]:
        """A question, and an answer that takes up its words."""
        noun, many = self.noun(), self.chance(0.3)
        phrase = self.described(noun, many, plain=True)
        if phrase.split()[0] not in ("the", "this", "that", "all"):
            phrase = "the " + phrase.split(" ", 1)[1]
        be, pronoun = ("are", "they") if many else ("is", self.world.nouns[noun][2])
        verb = self.transitive()
        _, before, going, _ = self.world.verbs[verb]
        kind = self.rng.random()
        place = f"{self.pick(*PREPOSITIONS)} the {self.noun('place')}"
        if kind < 0.25:
            return f"Where {be} {phrase}?", f"{capital(pronoun)} {be} {place}."
        if kind < 0.45:
            name, own = self.rng.choice(self.cast)
            return f"Did {name} {verb} {phrase}?", self.pick(
                f"Yes, {own} {before} {phrase}.", f"No, {own} did not {verb} {PRONOUNS[pronoun][1]}."
            )
        if kind < 0.65:
            adjective = self.topic["adjective"].draw(self.rng)
            return f"{capital(be)} {phrase} {adjective}?", self.pick(
                f"Yes, {pronoun} {be} very {adjective}.", f"No, {pronoun} {be} not {adjective} at all."
            )
        if kind < 0.8:
            return f"Do you want to {verb} {phrase}?", self.pick(
                f"I want to {verb} {PRONOUNS[pronoun][1]}.", f"I don't want to {verb} {phrase}."
            )
        return f"What {be} {phrase} doing?", f"{capital(pronoun)} {be} {going} {place}."

    def _aochildes(self) -> list[str]:
        noun = self.things[0]
        pronoun = self.world.nouns[noun][2]
        verb = self.topic["verb"].draw(self.rng)
        going = self.world.verbs[verb][2]
        adjective = self.topic["adjective"].draw(self.rng)
        name = self.cast[0][0]
        lines = [
            f"look at the {noun} .", f"where's the {noun} ?", f"do you see the {noun} ?", f"there {pronoun} is .",
            f"what a {adjective} {noun} !", f"is {pronoun} {adjective} ?", f"yes {pronoun} is {adjective} .",
            f"what's the {noun} doing ?", f"{pronoun}'s {going} .", f"can you {verb} {name} ?",
            f"{name} can {verb} .", f"the {noun} is {going} {self.pick(*PREPOSITIONS)} the {self.noun('place')} .",
            f"that's {name}'s {noun} .", f"one {noun} two {self.world.nouns[noun][0]} .",
            f"oh the {adjective} {noun} !",
        ]  # fmt: skip
        start = self.rng.randrange(4)
        return [line for line in lines[start:] if self.chance(0.6)]

    def _talk(self, turns: int, marks: tuple[str, ...]) -> list[str]:
        """Two who take turns; `marks` say what stands before their lines."""
        lines = []
        for turn in range(turns):
            one, other = marks[turn % len(marks)], marks[(turn + 1) % len(marks)]
            if self.chance(0.5):
                question, answer = self.question()
                if self.chance(0.25):
                    question = f"{self.rng.choice(self.cast)[0]}, {question[0].lower()}{question[1:]}"
                lines += [one + question, other + answer]
            elif self.chance(0.5):
                lines.append(one + " ".join(self.sentence(self.chance(0.4), 0.3)))
            else:
                lines.append(
                    one + self.pick("I know.", "All right.", "Oh, no!", "Come on.", "Thank you.", "Well...")
                )
        return lines

    def _open_subtitles(self) -> list[str]:
        return self._talk(8, ("",) if self.chance(0.5) else ("- ", "- "))

    def _bnc_spoken(self) -> list[str]:
        return [self._hesitant(line) for line in self._talk(6, ("",))]

    def _switchboard(self) -> list[str]:
        return [line[:3] + self._hesitant(line[3:]) for line in self._talk(6, ("A:\t", "B:\t"))]

    def _hesitant(self, line: str) -> str:
        words = line.split(" ")
        if len(words) > 3 and self.chance(0.6):
            words.insert(
                self.rng.randrange(1, len(words)), self.pick("er", "erm,", "you know,", "I mean", "uh,")
            )
        return " ".join(words)

    def _qed(self) -> list[str]:
        noun, verb = self.things[0], self.transitive()
        plural = self.world.nouns[noun][0]
        third, _, going, _ = self.world.verbs[verb]
        lines = [f"So today we're going to talk about {plural}.", f"What is {self._a(noun)}?"]
        for _ in range(5):
            lines.append(
                self.pick(
                    f"First, you {verb} the {noun}.", f"Now, if you {verb} the {noun}, then",
                    f"Remember that every {noun} has {self._a(self.noun('thing'))}.",
                    f"And that's why {plural} are {self.adjective()}.",
                    f"You can see that the {noun} {third} {self.described(self.noun(), False)}.",
                    " ".join(self.sentence(False)),
                )
            )  # fmt: skip
        return [*lines, f"And that's how {going} {self._a(noun)} works."]

    def _a(self, noun: str) -> str:
        return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"

    def _story(self, sentences: int, long: float) -> list[str]:
        lines = []
        for _ in range(sentences):
            if self.chance(0.25):
                name, pronoun = self.rng.choice(self.cast)
                question, answer = self.question()
                verb = self.pick("said", "asked", "cried")
                lines.append(
                    f'"{question}" {verb} {name}.' if self.chance(0.6) else f'"{answer}" said {name}.'
                )
                if self.chance(0.5):
                    lines.append(capital(self.following(True, pronoun)) + ".")
            else:
                lines.append(" ".join(self.sentence(True, long)))
        return lines

    def _cbt(self) -> list[str]:
        return [spaced(line) for line in self._story(8, 0.5)]

    def _children_stories(self) -> list[str]:
        person = self.topic["person"].draw(self.rng)
        pronoun = self.world.nouns[person][2]
        name = self.cast[0][0]
        self.cast[0] = (name, pronoun)
        start = f"Once upon a time there was {self._a(person)} who was called {name}."
        return [
            start,
            *self._story(7, 0.2),
            f"And {name} was {self.topic['adjective'].draw(self.rng)} ever after.",
            "",
        ]

    def _gutenberg(self) -> list[str]:
        return [" ".join(self._story(3, 0.6)), "", " ".join(self._story(3, 0.6)), ""]

    def _simple_wikipedia(self) -> list[str]:
        title = self.rng.choice(self.world.towns)
        place, adjective = self.topic["place"].draw(self.rng), self.topic["adjective"].draw(self.rng)
        near = self.rng.choice(self.world.towns)
        lines = [f"{title} is {self._a(adjective)} {place} near {near}."]
        lines.append(f"It is known for its {self.world.nouns[self.things[0]][0]}.")
        for _ in range(3):
            lines.append(
                self.pick(
                    f"There are {self.pick(*NUMBERS)} {self.world.nouns[self.noun('thing', 'animal')][0]} in {title}.",
                    f"The {self.noun('person')} of {title} is {self.rng.choice(self.cast)[0]}.",
                    f"In {self.rng.randint(1800, 1999)}, {self.clause(True)[0]}.",
                    " ".join(self.sentence(False)),
                )
            )
        return [title, " ".join(lines), ""]

    def _wikipedia(self) -> list[str]:
        name, pronoun = self.cast[0]
        second = self.rng.choice(self.world.people)[0]
        person, town = self.topic["person"].draw(self.rng), self.rng.choice(self.world.towns)
        born = self.rng.randint(1800, 1960)
        first = f"{name} {second} ( born {born} in {town} ) was {self._a(person)} ."
        lines = [first, f"{capital(pronoun)} was the first {person} of {self.rng.choice(self.world.towns)} ."]
        if self.chance(0.6):
            verb = self.transitive()
            lines.append(
                f"In {born + self.rng.randint(20, 50)} {second} {self.world.verbs[verb][1]} "
                f"{self.described(self.noun(), False)} in {town} , where {self.following(True, pronoun)} ."
            )
        self.cast = [(second, pronoun), *self.cast[1:]]
        body = " ".join(spaced(line) for line in self._long(3))
        return [
            f" = {name} {second} = ",
            "",
            " ".join(lines),
            f" = = {self.pick('Life', 'Work', 'History')} = = ",
            body,
            "",
        ]

    def _long(self, sentences: int) -> list[str]:
        return [" ".join(self.sentence(True, 0.6)) for _ in range(sentences)]


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def spaced(line: str) -> str:
    """With spaces around marks, as some sources have them."""
    for mark in ".,?":
        line = line.replace(mark, f" {mark}")
    return line.replace('"', " '' ").strip()
