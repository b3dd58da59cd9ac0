"""How a cited paragraph and its bibliography are scored. The same code grades the hidden paragraphs."""

import re
import unicodedata

WEIGHTS = {"citations": 0.65, "entries": 0.25, "bibliography": 0.10}
LONGEST_TEXT = 20_000  # characters of a cited paragraph
LONGEST_BIBLIOGRAPHY = 100_000

CITE = re.compile(r" \\cite\{([^{}\\]*)\}")
KEY = re.compile(r"[A-Za-z0-9:._/+-]{1,60}")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
NUMBER = re.compile(r"[0-9]{1,9}")
ARXIV = re.compile(r"(?:arxiv:)?(\d{4}\.\d{4,5})(?:v\d{1,2})?", re.IGNORECASE)
ACCENT = re.compile(r"\\(?:[\"'`^~=.]|[uvHcdbkrt](?=[\s{]))")
DEEPEST = 20  # braces


class BibtexError(ValueError):
    """A bibliography that is not valid; the message says where."""


def score_paragraph(text, bibliography, paragraph, answers):
    """From 0 to 1: the weighted sum of the parts."""
    parts = parts_of(text, bibliography, paragraph, answers)
    return sum(weight * parts[name] for name, weight in WEIGHTS.items())


def parts_of(text, bibliography, paragraph, answers):
    """The parts of a score, each from 0 to 1. `paragraph` is one of `answers["paragraphs"]`."""
    nothing = dict.fromkeys(WEIGHTS, 0.0)
    if len(text) > LONGEST_TEXT or len(bibliography) > LONGEST_BIBLIOGRAPHY:
        return nothing
    citations = citations_in(text)
    if without_citations(text) != paragraph["text"].rstrip("\n"):
        return nothing
    try:
        entries = entries_of(bibliography)
    except BibtexError:
        return nothing
    works = {key: work_of(entry) for key, entry in entries.items()}
    made = {
        (sentence, works.get(key) or f"unknown {key}")
        for place, keys in citations
        for sentence in sentences_at(place, paragraph)
        for key in keys
    }
    wanted = {(number, work) for number, each in enumerate(paragraph["sentences"]) for work in each["works"]}
    right = made & wanted
    cited = {key for _, keys in citations for key in keys}
    good = {work for _, work in right}
    first = {work: key for key, work in reversed(works.items())}
    told = sum(fields_score(entries[first[work]], answers["papers"][work], answers["open"]) for work in good)
    return {
        "citations": 2 * len(right) / (len(made) + len(wanted)) if made or wanted else 0.0,
        "entries": told / max(len(entries), len({work for _, work in wanted})) if entries else 0.0,
        "bibliography": float(bool(entries) and cited == entries.keys()),
    }


def citations_in(text):
    """The place of each citation in the text without citations, and its keys."""
    found, removed = [], 0
    for match in CITE.finditer(text):
        found.append((match.start() - removed, [key.strip() for key in match[1].split(",")]))
        removed += len(match[0])
    return found


def without_citations(text):
    return CITE.sub("", text).rstrip("\n")


def sentences_at(place, paragraph):
    """The number of the sentence that a citation stands in, or right behind."""
    return [
        number for number, each in enumerate(paragraph["sentences"]) if each["start"] < place <= each["end"]
    ]


def work_of(entry):
    """The id that the field `eprint` holds; nothing where it is missing or has another form."""
    form = ARXIV.fullmatch(entry.get("eprint", "").strip())
    return form[1] if form else ""


def fields_score(entry, paper, is_open):
    """Share of title, author and year that are right."""
    authors = [person(name) for name in " ".join(entry.get("author", "").split()).split(" and ")]
    if is_open:  # only the first author's last name is known for sure
        author = authors[0].split()[-1:] == [plain(paper["authors"][0])]
    else:
        author = authors == [plain(name) for name in paper["authors"]]
    right = [
        plain(entry.get("title", "")) == plain(paper["title"]),
        author,
        plain(entry.get("year", "")) == str(paper["year"]),
    ]
    return sum(right) / len(right)


def person(name):
    """`Last, First` as `first last`."""
    last, comma, first = name.partition(",")
    return plain(f"{first} {last}" if comma else name)


def plain(text):
    """In lower case, without braces, accents and superfluous spaces."""
    text = unicodedata.normalize(
        "NFKD", ACCENT.sub("", text).replace("{", "").replace("}", "").replace("\\", "")
    )
    return " ".join("".join(each for each in text if not unicodedata.combining(each)).casefold().split())


def entries_of(text):
    """The fields of each entry, by key. Between entries there may be spaces only."""
    entries = {}
    place = skip(text, 0)
    while place < len(text):
        if text[place] != "@":
            raise BibtexError(f"At character {place} an entry must begin with @.")
        kind, place = take(NAME, text, place + 1, "the type of an entry")
        if kind.lower() in ("comment", "string", "preamble"):
            raise BibtexError(f"@{kind} is not an entry; leave it out.")
        place = expect("{", text, skip(text, place))
        key, place = take(KEY, text, skip(text, place), "the key of an entry")
        if key in entries:
            raise BibtexError(f"The key {key} is there twice.")
        entries[key], place = fields_of(text, skip(text, place), key)
        place = skip(text, place)
    return entries


def fields_of(text, place, key):
    fields = {}
    while True:
        if text[place : place + 1] == "}":
            return fields, place + 1
        place = skip(text, expect(",", text, place))
        if text[place : place + 1] == "}":
            return fields, place + 1
        name, place = take(NAME, text, place, f"the name of a field of {key}")
        if name.lower() in fields:
            raise BibtexError(f"{key} has the field {name} twice.")
        place = expect("=", text, skip(text, place))
        fields[name.lower()], place = value_at(text, skip(text, place), key)
        place = skip(text, place)


def value_at(text, place, key):
    """A value in braces or quotation marks, or a number."""
    opening = text[place : place + 1]
    if opening not in ("{", '"') or not opening:
        return take(NUMBER, text, place, f"a value of {key}")
    depth, start = 0, place + 1
    for end in range(start, len(text)):
        character = text[end]
        if depth == 0 and character == ("}" if opening == "{" else '"'):
            return text[start:end], end + 1
        depth += (character == "{") - (character == "}")
        if not 0 <= depth <= DEEPEST:
            break
    raise BibtexError(f"A value of {key} is not closed, or its braces do not match.")


def take(pattern, text, place, what):
    match = pattern.match(text, place)
    if match is None:
        raise BibtexError(f"At character {place} there must be {what}.")
    return match[0], match.end()


def expect(character, text, place):
    if text[place : place + 1] != character:
        raise BibtexError(f"At character {place} there must be {character!r}.")
    return place + 1


def skip(text, place):
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place
