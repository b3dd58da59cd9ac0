"""Shallow models: how well one number or one category, and nothing else, tells the hidden answers.

A leak needs no learning: an id's parity, the order of rows, one column. A model of one feature with a few steps finds
it, and finds no more of an honest feature than that feature has to say. Rows are fitted in halves, each predicted by
what was fitted to the other, so that a feature which differs in every row says nothing.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

MOST_CLASSES = 50
"""Answers with more different values are numbers, if they are numbers."""
_BINS = 48
_LEAST = 20
"""Rows below which nothing is fitted."""
Feature = Mapping[str, float | str]
"""By id; rows without a value are missing."""


@dataclass(frozen=True)
class Told:
    """What a feature tells: 0 is chance, 1 is everything."""

    feature: str
    skill: float
    predictions: Mapping[str, str]


def best_of(features: Mapping[str, Feature], answers: Mapping[str, str]) -> Told | None:
    """The feature that tells most; None where there are too few rows, or only one answer."""
    told = [each for name, feature in features.items() if (each := tell(name, feature, answers)) is not None]
    return max(told, key=lambda each: each.skill, default=None)


def tell(name: str, feature: Feature, answers: Mapping[str, str]) -> Told | None:
    ids = [row for row in answers if row in feature]
    if len(ids) < max(_LEAST, len(answers) // 2) or len({answers[row] for row in ids}) < 2:
        return None
    halves = [[row for row in ids if _side(row) == side] for side in (0, 1)]
    if min(map(len, halves)) < _LEAST // 4:
        return None
    different = {answers[row] for row in ids}
    continuous = len(different) > MOST_CLASSES and all(_number(each) is not None for each in different)
    predictions: dict[str, str] = {}
    for fitted, asked in (halves, halves[::-1]):
        groups, other = _fit(feature, fitted, answers, continuous)
        place = _binning([feature[row] for row in fitted])
        predictions |= {row: groups.get(place(feature[row]), other) for row in asked}
    return Told(name, _skill(ids, answers, predictions, continuous), predictions)


def id_features(ids: Sequence[str]) -> dict[str, Feature]:
    """What can be read off an id: its number, its digits, its remainders, its characters, its hashes."""
    found: dict[str, Feature] = {"the id's length": {row: float(len(row)) for row in ids}}
    digits = {row: "".join(each for each in row if each.isdigit()) for row in ids}
    values = {row: int(each[-18:]) for row, each in digits.items() if each}
    found["the id's number"] = {row: float(value) for row, value in values.items()}
    for by in (2, 3, 4, 5, 7, 10):
        name = "the id's parity" if by == 2 else f"the id's remainder by {by}"
        found[name] = {row: str(value % by) for row, value in values.items()}
    found["the sum of the id's digits"] = {
        row: float(sum(map(int, each))) for row, each in digits.items() if each
    }
    for place, where in ((0, "first"), (1, "second"), (-2, "last but one"), (-1, "last")):
        found[f"the id's {where} character"] = {row: row[place] for row in ids if len(row) > abs(place)}
    for name in ("md5", "sha1", "sha256"):
        ends = {row: hashlib.new(name, row.encode(), usedforsecurity=False).digest()[-1] for row in ids}
        found[f"the parity of the id's {name}"] = {row: str(end % 2) for row, end in ends.items()}
        found[f"the last digit of the id's {name}"] = {row: str(end % 16) for row, end in ends.items()}
    found["the parity of the id's crc32"] = {row: str(zlib.crc32(row.encode()) % 2) for row in ids}
    return found


def order_features(ids: Sequence[str], where: str) -> dict[str, Feature]:
    """What the order of rows tells."""
    return {
        f"the order of rows in {where}": {row: float(place) for place, row in enumerate(ids)},
        f"the parity of a row's place in {where}": {row: str(place % 2) for place, row in enumerate(ids)},
    }


def column_features(name: str, values: Mapping[str, str]) -> dict[str, Feature]:
    """A column as numbers, as categories, and by the length of what is written."""
    found: dict[str, Feature] = {
        f"{name} as a category": dict(values),
        f"the length of {name}": {row: float(len(value)) for row, value in values.items()},
        f"whether {name} is empty": {row: str(not value.strip()) for row, value in values.items()},
    }
    numbers = {row: number for row, value in values.items() if (number := _number(value)) is not None}
    if numbers:
        found[name] = numbers
        found[f"the parity of {name}"] = {
            row: str(int(number) % 2) for row, number in numbers.items() if number.is_integer()
        }
    return found


def _side(row: str) -> int:
    return hashlib.blake2b(row.encode(), digest_size=1, key=b"halves").digest()[0] % 2


def _fit(
    feature: Feature, rows: Sequence[str], answers: Mapping[str, str], continuous: bool
) -> tuple[dict[float | str, str], str]:
    """The usual answer of each bin or category, and of all."""
    place = _binning([feature[row] for row in rows])
    groups: dict[float | str, list[str]] = defaultdict(list)
    for row in rows:
        groups[place(feature[row])].append(answers[row])
    usual = _mean if continuous else _most
    return {key: usual(values) for key, values in groups.items()}, usual([answers[row] for row in rows])


def _binning(values: Sequence[float | str]) -> Callable[[float | str], float | str]:
    """Numbers into bins that hold about as many rows each; categories as they are."""
    numbers = sorted(value for value in values if isinstance(value, float))
    if len(numbers) < len(values) or len(set(numbers)) <= _BINS:
        return lambda value: value
    edges = sorted({numbers[len(numbers) * step // _BINS] for step in range(1, _BINS)})

    def place(value: float | str) -> float | str:
        low, high = 0, len(edges)
        while low < high:
            middle = (low + high) // 2
            if isinstance(value, float) and value < edges[middle]:
                high = middle
            else:
                low = middle + 1
        return float(low)

    return place


def _skill(
    ids: Sequence[str], answers: Mapping[str, str], predictions: Mapping[str, str], continuous: bool
) -> float:
    """Of what always giving the usual answer gets wrong, the share that the predictions get right."""
    if continuous:
        mean = fmean(float(answers[row]) for row in ids)
        before = sum((float(answers[row]) - mean) ** 2 for row in ids)
        after = sum((float(answers[row]) - float(predictions[row])) ** 2 for row in ids)
        return 1 - after / before if before else 0.0
    usual = Counter(answers[row] for row in ids).most_common(1)[0][1]
    right = sum(answers[row] == predictions[row] for row in ids)
    return (right - usual) / (len(ids) - usual)


def _most(values: Sequence[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _mean(values: Sequence[str]) -> str:
    return repr(fmean(map(float, values)))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
