"""A made-up citation graph: papers of 40 areas that cite older papers, mostly of their own kind, as the years pass.

Every area has a few topics that come and go; papers borrow from a second area, and now and then that one is their
label. Toolbox areas are cited from everywhere. What helps in the early years helps less in the last ones.
"""

from __future__ import annotations

import numpy as np

AREAS, FIELDS, TOPICS, DIMENSIONS = 40, 8, 3, 128
YEARS = np.arange(2005, 2021)
# Papers per year: slow growth to 2017, then the shares of the published graph.
SHARES = np.concatenate([0.54 * np.geomspace(1, 12, 13) / np.geomspace(1, 12, 13).sum(), [0.18, 0.23, 0.05]])
QUARTERS = 4


def citations(entropy: int, n: int) -> dict[str, np.ndarray]:
    """`edges` (citing, cited), `features`, `labels` and `years` of `n` papers in no particular order."""
    rng = np.random.default_rng(entropy)
    year = np.sort(rng.choice(YEARS, n, p=SHARES / SHARES.sum()))
    age = year - YEARS[0]

    # Areas differ in size, and sizes drift; areas of a field are neighbours.
    field = rng.permutation(np.arange(AREAS) % FIELDS)
    size = rng.permutation(np.geomspace(1, 14, AREAS))
    trend = rng.permutation(np.linspace(-0.13, 0.13, AREAS))
    shares = size * np.exp(trend * (age[:, None] - 8))
    area = _draw_rows(rng, shares)
    # Topics rise and fall within their area.
    peak = rng.uniform(0, 18, (AREAS, TOPICS))
    bloom = np.exp(-(((age[:, None] - peak[area]) / 7) ** 2)) + 0.05
    topic = area * TOPICS + _draw_rows(rng, bloom)

    kinship = np.where(field[:, None] == field, 6.0, 0.3) * rng.lognormal(0, 1, (AREAS, AREAS))
    np.fill_diagonal(kinship, 0)
    second = _draw_rows(rng, kinship[area])
    borrowed = rng.beta(1.2, 3.0, n)
    label = np.where(rng.random(n) < 0.6 * borrowed, second, area)

    features = _features(rng, field, area, topic, second, borrowed, age)
    toolbox = size * rng.lognormal(0, 1.5, AREAS)
    edges = _edges(rng, year, area, topic, second, borrowed, kinship, toolbox)

    order = rng.permutation(n)
    place = np.argsort(order)
    edges = place[edges]
    return {
        "edges": edges[np.lexsort((edges[:, 1], edges[:, 0]))],
        "features": features[order],
        "labels": label[order],
        "years": year[order],
    }


def _features(rng, field, area, topic, second, borrowed, age):
    """Averages of word vectors: what a paper is about, faintly, in much that all papers share."""
    n = len(area)
    fields = rng.normal(0, 1, (FIELDS, DIMENSIONS))
    areas = 0.8 * fields[field] + rng.normal(0, 1, (AREAS, DIMENSIONS))
    drift = rng.normal(0, 1, (AREAS, DIMENSIONS))
    topics = np.repeat(areas, TOPICS, axis=0) + rng.normal(0, 1.0, (AREAS * TOPICS, DIMENSIONS))
    moved = (age[:, None] - 8) / 10
    about = (1 - 0.6 * borrowed[:, None]) * (topics[topic] + 0.6 * moved * drift[area])
    about += 0.6 * borrowed[:, None] * areas[second]
    fashion = moved * rng.normal(0, 1, DIMENSIONS)
    shared = rng.normal(0, 1, (n, 12)) @ rng.normal(0, 1.2, (12, DIMENSIONS))
    noise = rng.normal(0, 1, (n, DIMENSIONS)) * rng.gamma(6, 1 / 6, (n, 1)) * 5.2
    return 0.05 * (about + fashion + shared + noise)


def _edges(rng, year, area, topic, second, borrowed, kinship, toolbox):
    """Quarter by quarter, each new paper cites papers of earlier quarters."""
    n = len(year)
    quarter = (year - YEARS[0]) * QUARTERS + rng.integers(0, QUARTERS, n)
    fitness = rng.lognormal(0, 1.0, n)
    loyalty = rng.beta(5, 4, n)
    wanted = np.maximum(1, rng.poisson(np.minimum(rng.lognormal(1.75, 0.7, n), 60)))
    cited = np.zeros(n)
    found = []
    for now in range(quarter.max() + 1):
        older = np.flatnonzero(quarter < now)
        new = np.flatnonzero(quarter == now)
        if not len(older) or not len(new):
            continue
        citing = np.repeat(new, wanted[new])
        draw = rng.random(len(citing))
        loyal = loyalty[citing]
        own = draw < loyal * (1 - 0.5 * borrowed[citing])
        borrows = ~own & (draw < loyal)
        any_area = ~own & ~borrows
        target_area = np.where(borrows, second[citing], area[citing])
        kin = kinship[area[citing[any_area]]] / kinship[area[citing[any_area]]].sum(axis=1, keepdims=True)
        target_area[any_area] = _draw_rows(rng, 0.35 * kin + 0.65 * toolbox / toolbox.sum())
        # Loyal citations stay mostly in the topic; the others go anywhere in the area that they chose.
        group = np.where(own & (rng.random(len(citing)) < 0.65), AREAS + topic[citing], target_area)

        years_ago = (now - quarter[older]) / QUARTERS
        weight = fitness[older] * np.sqrt(1 + cited[older]) * (np.exp(-years_ago / 3.5) + 0.03)
        target = np.full(len(citing), -1)
        for number in np.unique(group):
            members = (area[older] == number if number < AREAS else topic[older] == number - AREAS).nonzero()[
                0
            ]
            asking = np.flatnonzero(group == number)
            if len(members):
                total = np.cumsum(weight[members])
                picks = np.searchsorted(total, rng.random(len(asking)) * total[-1], side="right")
                target[asking] = older[members[np.minimum(picks, len(members) - 1)]]
        kept = target >= 0
        np.add.at(cited, target[kept], 1)
        found.append(np.stack([citing[kept], target[kept]], axis=1))
    return np.unique(np.concatenate(found), axis=0)


def _draw_rows(rng, weights):
    """One column for each row, with these odds."""
    total = np.cumsum(weights, axis=1)
    return (total < rng.random((len(weights), 1)) * total[:, -1:]).sum(axis=1)
