"""Made-up passengers of a spaceship: who they travel with, where they sleep, what they spend, and who vanished.

Which surname, planet, deck, part of the ship or amenity is a good or a bad sign is drawn from the seed, so that nothing
known about the published passengers helps.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

AMENITIES = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
PLANETS = ["Earth", "Europa", "Mars"]
DESTINATIONS = ["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"]
DECKS = list("ABCDEFGT")
# How the people of each planet spread over the decks, in the order of DECKS.
DECK_SHARES = [
    [0, 0, 0, 0, 8, 37, 55, 0],
    [12, 36, 34, 10, 7.5, 0, 0, 0.5],
    [0, 0, 0, 18, 22, 60, 0, 0],
]
# How many of those who are awake use an amenity, and the middle logarithm of what they spend there.
USE = [[0.55, 0.6, 0.55, 0.57, 0.56], [0.35, 0.85, 0.33, 0.8, 0.78], [0.86, 0.35, 0.73, 0.42, 0.3]]
SPENDING = [[4.6, 4.9, 4.5, 4.6, 4.6], [4.6, 6.9, 4.8, 6.3, 6.3], [6.3, 4.5, 5.5, 4.6, 4.3]]
MIDDLE_AGE = [26, 34, 29]
GROUP_SIZES = [0.56, 0.19, 0.1, 0.07, 0.04, 0.02, 0.012, 0.008]
STARTS = ["b", "br", "d", "dr", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w"]
ENDS = ["l", "n", "nd", "r", "rk", "s", "ss", "t", "x"]
SURNAMES = 40
"""For each planet."""


def passengers(entropy: int, n: int) -> dict[str, np.ndarray]:
    """The columns of `n` passengers as text, with nothing for what is missing."""
    rng = np.random.default_rng(entropy)

    def pick(shares, of):
        """For each one in `of` an index, drawn by the row of shares that belongs to it."""
        ends = np.cumsum(np.array(shares, dtype=float), axis=1)
        return (rng.random(len(of))[:, None] * ends[of, -1:] > ends[of]).sum(axis=1)

    # Groups, and who is in them.
    size = rng.choice(len(GROUP_SIZES), n, p=np.array(GROUP_SIZES) / sum(GROUP_SIZES)) + 1
    groups = int(np.searchsorted(np.cumsum(size), n)) + 1
    size = size[:groups]
    size[-1] -= size.sum() - n
    group = np.repeat(np.arange(groups), size)
    member = np.arange(n) - np.repeat(np.cumsum(size) - size, size)
    number = np.cumsum(rng.choice([1, 2], groups, p=[0.7, 0.3]))

    planet_of = rng.choice(3, groups, p=[0.54, 0.25, 0.21])
    planet = planet_of[group]
    bound = pick([[69, 15, 16], [57, 41, 2], [84, 11, 5]], planet_of)[group]
    bound = np.where(rng.random(n) < 0.12, rng.choice(3, n, p=[0.7, 0.2, 0.1]), bound)
    family = rng.integers(SURNAMES, size=groups)[group]
    family = np.where(rng.random(n) < 0.1, rng.integers(SURNAMES, size=n), family) + SURNAMES * planet
    names = _names(rng, 3 * SURNAMES)
    given = _names(rng, 400)

    # Cabins are dealt out in the order of groups, on each side of each deck. Some groups have several.
    deck_of, side_of = pick(DECK_SHARES, planet_of), rng.integers(2, size=groups)
    shared = rng.random(groups) < 0.75
    cabin = np.zeros(n, dtype=int)
    dealt = np.full((len(DECKS), 2), -1)
    for person in range(n):
        place = (deck_of[group[person]], side_of[group[person]])
        if member[person] == 0 or not shared[group[person]]:
            dealt[place] += 1
        cabin[person] = dealt[place]
    deck, side = deck_of[group], side_of[group]
    where = cabin / np.maximum(dealt[deck, side], 1)

    # People.
    age = np.clip(np.round(np.array(MIDDLE_AGE)[planet] + 14 * rng.standard_normal(n)), 0, 79)
    young = (rng.random(n) < 0.5 * (size[group] > 2) * (member > 1)) | (age == 0)
    age = np.where(young, rng.integers(0, 18, size=n), age).astype(int)
    sleepy = np.array([-0.9, -0.25, -0.5])[planet] + 0.9 * rng.standard_normal(groups)[group]
    asleep = rng.random(n) < 1 / (1 + np.exp(-sleepy))
    vip = rng.random(n) < np.array([0.0, 0.065, 0.04])[planet] * (age > 20)
    spent = np.zeros((n, len(AMENITIES)), dtype=int)
    taste = 0.8 * rng.standard_normal((n, 1)) + 0.4 * vip[:, None]
    for column in range(len(AMENITIES)):
        uses = (rng.random(n) < np.array(USE)[planet, column]) & ~asleep & (age >= 13)
        amount = np.exp(np.array(SPENDING)[planet, column] + taste[:, 0] + 1.3 * rng.standard_normal(n))
        spent[:, column] = np.where(uses, np.clip(np.round(amount), 1, 29000), 0)

    # Some came aboard in a hurry, and more is missing of them.
    hurried = rng.random(n) < 0.13

    # What became of them.
    def standard(values):
        return (values - values.mean()) / values.std()

    def mean_of_others(values):
        total = np.bincount(group, values, groups)[group]
        return np.where(size[group] > 1, (total - values) / np.maximum(size[group] - 1, 1), 0.0)

    signs = rng.permutation([-1.0, -0.75, 0.1, 0.7, 1.0])
    pull = np.log1p(spent) @ signs
    phase = rng.uniform(0, 1)
    along = np.sin(2 * np.pi * (1.6 * where + phase + 0.25 * side))
    both = rng.permutation([[-0.8, 0.0, 0.8], [0.8, -0.8, 0.0], [0.0, 0.8, -0.8]])
    sleeping = rng.permutation([0.4, 1.0, 1.6])
    decks = rng.permutation(np.linspace(-1, 1, len(DECKS)))
    family_sign = rng.permutation(np.linspace(-1.7, 1.7, 3 * SURNAMES))
    ages = rng.choice([-1, 1]) * np.array([0.0, 0.7, -0.7])
    homes = rng.choice([-1, 1]) * np.array([-0.3, 0.35, 0.3])
    company = rng.permutation([-0.8, 0.0, 0.8])

    sign = 0.8 * standard(pull) * (1 + 0.5 * vip)
    sign += asleep * sleeping[planet]
    sign += 0.95 * along + 0.3 * decks[deck]
    sign += 0.65 * standard(mean_of_others(pull))
    sign += 0.6 * company[np.digitize(size[group], [2, 4])]
    sign += 0.5 * family_sign[family]
    sign += 0.55 * both[planet, bound]
    sign += 0.5 * ages[planet] * np.tanh((age - 28) / 10) + 0.5 * (age < 13)
    sign += 0.9 * hurried
    # Whatever the seed, planets differ alike, chance has the same share, and about as many vanish as arrive.
    sign += (homes - np.bincount(planet, sign) / np.bincount(planet))[planet]
    sign = 3.4 * (sign - np.median(sign)) / sign.std()
    vanished = rng.random(n) < 1 / (1 + np.exp(-sign))

    def told(values):
        lost = rng.random(n) < np.where(hurried, 0.09, 0.012)
        return np.where(lost, "", np.asarray(values, dtype=object))

    first = np.array(given, dtype=object)[rng.integers(len(given), size=n)]
    return {
        "PassengerId": np.array(
            [f"{number[group[i]]:04d}_{member[i] + 1:02d}" for i in range(n)], dtype=object
        ),
        "HomePlanet": told(np.array(PLANETS, dtype=object)[planet]),
        "CryoSleep": told(np.where(asleep, "True", "False")),
        "Cabin": told([f"{DECKS[deck[i]]}/{cabin[i]}/{'PS'[side[i]]}" for i in range(n)]),
        "Destination": told(np.array(DESTINATIONS, dtype=object)[bound]),
        "Age": told([f"{years}.0" for years in age]),
        "VIP": told(np.where(vip, "True", "False")),
        **{
            amenity: told([f"{amount}.0" for amount in spent[:, column]])
            for column, amenity in enumerate(AMENITIES)
        },
        "Name": told(first + " " + np.array(names, dtype=object)[family]),
        "Transported": np.where(vanished, "True", "False"),
    }


def _names(rng, n: int) -> list[str]:
    """Different names, made of syllables."""
    names: dict[str, None] = {}
    while len(names) < n:
        name = "".join(rng.choice(STARTS) + rng.choice(list("aeiou")) for _ in range(rng.integers(1, 3)))
        names[(name + rng.choice(ENDS)).capitalize()] = None
    return list(names)
