"""How papers of a field that does not exist are worded."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Told:
    """What a paper says."""

    name: str
    """What it calls its topic."""
    hidden: bool
    """Whether it does not name its topic at all."""
    names: tuple[str, str, str]
    method: str
    techniques: tuple[str, ...]
    collection: str
    releases: bool
    claim: tuple[str, str, str] | None
    rivals: tuple[str, ...]
    """Methods of papers that it cites."""
    unused: tuple[str, ...]
    """Collections of its topic that it does not measure on."""
    elsewhere: tuple[str, str]
    """Topics that it is not about: one of its group, one of another."""


@dataclass(frozen=True)
class Written:
    title: str
    abstract: str
    own: tuple[str, ...]
    others: tuple[str, ...]


_TITLES = (
    "{method}: {technique} for {name}",
    "{Technique} for {name}",
    "{Technique} meets {other} in {name}",
    "Towards better {name} with {technique}",
    "Rethinking {name} from the side of {technique}",
    "A simple view of {name}, with {other}",
)
_UNNAMED_TITLES = (
    "How much {technique} is enough?",
    "{method}, or why {technique} works",
    "{method}: {technique} and {other} in one",
    "{Technique} and {other} revisited",
    "On the limits of {technique}",
)
_OPENINGS = (
    "{Name} matters wherever records are long and incomplete.",
    "Progress in {name} has slowed, although more data are at hand than before.",
    "{Name} is costly when labels are rare.",
    "Much of what is known about {name} comes from small studies.",
    "In {name}, small faults add up over time.",
    "Errors in {name} are seldom independent of each other.",
)
_UNNAMED_OPENINGS = (
    "Long and incomplete records are hard to deal with.",
    "Small faults add up over time.",
    "More data do not always help.",
)
_BRIDGES = (
    "{Name}, which others call {synonym}, is far from solved.",
    "The terms {name} and {synonym} stand for one and the same problem.",
)
_RIVALS = (
    "{rival} treats all parts of a record alike and fails where they differ.",
    "Earlier work such as {rival} needs many passes over the data.",
    "The authors of {rival} assume that noise is independent, which is rarely true.",
    "Methods in the line of {rival} degrade on long records.",
    "{rival} has been the method of choice, at a high cost in memory.",
)
_UNUSED = (
    "The {collection} recordings are too small for such questions.",
    "Results on the {collection} recordings have been hard to repeat.",
)
_PROPOSALS = (
    "We introduce {method}, which joins {technique} with {other}.",
    "This paper presents {method}, a way to do {technique} and {other} in one step.",
    "{method} is proposed, in which {technique} takes turns with {other}.",
    "Our answer is {method}: {technique} where the data are dense, and {other} elsewhere.",
    "Here {technique} and {other} are combined into one procedure, {method}.",
    "{Technique} and {other}, joined under the name of {method}, do without both.",
)
_RELEASES = (
    "We release the {collection} recordings, {count} of them, and bring the {measure} there from {before} to {after}.",
    "With this paper come the {collection} recordings ({count} of them), on which the {measure} falls from {before} to "
    "{after}.",
)
_RESULTS = (
    "On the {collection} recordings the {measure} falls from {before} to {after}.",
    "We lower the {measure} from {before} to {after}, as measured on the {collection} recordings.",
    "Measured on the {collection} recordings, the {measure} goes down to {after}, where it was {before}.",
)
_SIMULATED = (
    "Simulations agree with what theory predicts.",
    "So far it has been tried on simulated records only.",
)
_COMPARISONS = (
    "{rival} needs twice the time for the same.",
    "Unlike {rival}, nothing has to be tuned by hand.",
    "Where {rival} is better, the reasons are discussed.",
    "We do not need what {rival} has to know beforehand.",
)
_ELSEWHERE = (
    "The same idea may be of use in {elsewhere}.",
    "How this carries over to {elsewhere} is left open.",
    "There is a parallel to {elsewhere}, which is not pursued.",
    "Results known from {elsewhere} do not apply.",
)
_SURVEY_TITLES = ("{Name}: a survey", "A review of {name}", "{Name}: where we stand")


def article(rng: Random, told: Told, taken: set[str]) -> Written:
    """With a title that is not among those `taken`, to which it is added."""
    technique, other = told.techniques
    words = {
        "name": told.name,
        "Name": _capital(told.name),
        "synonym": rng.choice([each for each in told.names if each != told.name]),
        "method": told.method,
        "technique": technique,
        "Technique": _capital(technique),
        "other": other,
        "collection": told.collection,
        "count": f"{rng.randint(12, 980)}",
    }
    if told.claim:
        words["measure"], words["before"], words["after"] = told.claim
    titles = list(_UNNAMED_TITLES if told.hidden else _TITLES + _UNNAMED_TITLES)
    rng.shuffle(titles)
    title = next(each for each in (form.format(**words) for form in titles) if each not in taken)
    taken.add(title)
    openings = _UNNAMED_OPENINGS if told.hidden else _BRIDGES if rng.random() < 0.1 else _OPENINGS
    own = [technique, other, told.method]
    others: list[str] = []
    rivals = list(told.rivals)

    sentences = [rng.choice(openings).format(**words)]
    if rivals and rng.random() < 0.8:
        others.append(rivals.pop())
        sentences.append(rng.choice(_RIVALS).format(rival=others[-1]))
    if told.unused and rng.random() < 0.3:
        others.append(rng.choice(told.unused))
        sentences.append(rng.choice(_UNUSED).format(collection=others[-1]))
    sentences.append(rng.choice(_PROPOSALS).format(**words))
    if told.claim:
        sentences.append(rng.choice(_RELEASES if told.releases else _RESULTS).format(**words))
        own.append(told.collection)
    else:
        sentences.append(rng.choice(_SIMULATED))
    if rivals and rng.random() < 0.6:
        others.append(rivals.pop())
        sentences.append(rng.choice(_COMPARISONS).format(rival=others[-1]))
    if rng.random() < 0.55:
        others.append(rng.choice(told.elsewhere))
        sentences.append(rng.choice(_ELSEWHERE).format(elsewhere=others[-1]))
    return Written(title, " ".join(sentences), tuple(own), tuple(others))


def survey(rng: Random, told: Told) -> Written:
    main, second, third = told.names
    own = [second, third, *told.rivals[:2]]
    sentences = [
        f"{_capital(main)}, also known as {second} or {third}, has been studied under many names.",
        "This survey sets out what has been tried, on which data, and with what success.",
    ]
    if len(told.rivals) > 1:
        sentences.append(
            f"Two lines of work, begun by {told.rivals[0]} and by {told.rivals[1]}, are compared."
        )
    others = [told.elsewhere[0]]
    sentences.append(f"Related problems such as {others[0]} are left out.")
    title = rng.choice(_SURVEY_TITLES).format(name=main, Name=_capital(main))
    return Written(title, " ".join(sentences), tuple(own), tuple(others))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
