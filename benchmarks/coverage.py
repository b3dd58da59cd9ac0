"""How often 95 % intervals hold the true value, by simulation. Prints the tables of docs/statistics.md.

`python benchmarks/coverage.py [--draws 4000]`; a few minutes of CPU time. Every row is one kind of data; the standard
error of a coverage near 95 % over 4,000 draws is 0.3 points.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from math import comb
from statistics import NormalDist

import numpy as np

from mlagentbench.evaluation.pairing import compare_means, compare_rates, difference_of_means
from mlagentbench.evaluation.statistics import (
    Estimate,
    combine,
    interquartile_mean,
    pass_at_k,
    probability_of_improvement,
    stratified_mean,
    stratified_rate,
    wilson,
)

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
RESAMPLES = 1_000
RUNS = (3, 5, 8, 25)


def gain_or_nothing(share: float, random: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Runs that fail and count as 0, and runs that gain about a half."""
    return np.where(random.random(size) < share, random.normal(0.5, 0.1, size), 0.0)


def with_disasters(random: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """One run in ten is far worse than the starter."""
    return np.where(random.random(size) < 0.1, -3.0, random.normal(0.3, 0.1, size))


KINDS: dict[str, Draw] = {
    "normal": lambda random, size: random.normal(0.2, 1.0, size),
    "skewed (lognormal)": lambda random, size: random.lognormal(0.0, 1.0, size),
    "half of the runs gain, others 0": partial(gain_or_nothing, 0.5),
    "one run in five gains, others 0": partial(gain_or_nothing, 0.2),
    "one disaster in ten": with_disasters,
}


def holds(interval: tuple[float, float] | Estimate, truth: float) -> bool:
    low, high = (interval.low, interval.high) if isinstance(interval, Estimate) else interval
    return low is not None and high is not None and low - 1e-12 <= truth <= high + 1e-12


def table(title: str, columns: Iterable[str], rows: Iterable[tuple[str, Iterable[float]]]) -> None:
    print(f"\n**{title}**\n")
    columns = list(columns)
    print("| " + " | ".join(["", *columns]) + " |")
    print("|---|" + "---:|" * len(columns))
    for name, cells in rows:
        print("| " + " | ".join([name, *(f"{100 * cell:.1f}" for cell in cells)]) + " |", flush=True)


def resampled(values: np.ndarray, statistic: Callable, random: np.random.Generator) -> np.ndarray:
    """The statistic of resamples; `values` has a row a task."""
    tasks, n = values.shape
    chosen = random.integers(0, n, (RESAMPLES, tasks, n))
    return statistic(np.take_along_axis(np.broadcast_to(values, (RESAMPLES, tasks, n)), chosen, axis=2))


def percentile(values: np.ndarray, statistic: Callable, random: np.random.Generator) -> tuple[float, float]:
    low, high = np.quantile(resampled(values, statistic, random), [0.025, 0.975])
    return low, high


def accelerated(values: np.ndarray, random: np.random.Generator) -> tuple[float, float]:
    """BCa, of the mean of one task."""
    drawn, mean, (_, n) = resampled(values, np_mean, random), values.mean(), values.shape
    normal = NormalDist()
    share = (np.sum(drawn < mean) + 0.5 * np.sum(drawn == mean)) / RESAMPLES
    bias = normal.inv_cdf(min(max(share, 1e-3), 1 - 1e-3))
    away = mean - (values.sum() - values[0]) / (n - 1)
    scale = np.sum(away**2) ** 1.5
    bend = np.sum(away**3) / (6 * scale) if scale else 0.0

    def moved(tail: float) -> float:
        z = bias + normal.inv_cdf(tail)
        return normal.cdf(bias + z / (1 - bend * z))

    low, high = np.quantile(drawn, [moved(0.025), moved(0.975)])
    return low, high


def studentised(values: np.ndarray, random: np.random.Generator) -> tuple[float, float]:
    """Bootstrap-t, of the mean of one task; resamples without spread are left out."""
    n = values.shape[1]
    chosen = values[0][random.integers(0, n, (RESAMPLES, n))]
    error = chosen.std(axis=1, ddof=1) / np.sqrt(n)
    if not error.any():
        return values.mean(), values.mean()
    t = (chosen.mean(axis=1) - values.mean())[error > 0] / error[error > 0]
    low, high = np.quantile(t, [0.025, 0.975])
    own = values.std(ddof=1) / np.sqrt(n)
    return values.mean() - high * own, values.mean() - low * own


def np_mean(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=(-2, -1))


def np_iqm(values: np.ndarray) -> np.ndarray:
    flat = np.sort(values.reshape(*values.shape[:-2], -1), axis=-1)
    cut = flat.shape[-1] // 4
    return flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)


def means(draws: int, random: np.random.Generator) -> None:
    big = {name: draw(random, (4_000_000,)).mean() for name, draw in KINDS.items()}
    methods = {
        "t": lambda values: stratified_mean(values.tolist()),
        "percentile": lambda values: percentile(values, np_mean, random),
        "BCa": lambda values: accelerated(values, random),
        "bootstrap-t": lambda values: studentised(values, random),
    }
    for method, interval in methods.items():
        table(
            f"Mean of one task, {method}",
            (f"n = {n}" for n in RUNS),
            (
                (
                    name,
                    [
                        np.mean([holds(interval(draw(random, (1, n))), big[name]) for _ in range(draws)])
                        for n in RUNS
                    ],
                )
                for name, draw in KINDS.items()
            ),
        )


def tasks_of(count: int) -> list[tuple[Draw, float]]:
    """Different kinds of tasks, each with a place of its own."""
    return [(list(KINDS.values())[index % len(KINDS)], 0.4 * index) for index in range(count)]


def drawn_from(tasks: list[tuple[Draw, float]], n: int, random: np.random.Generator) -> np.ndarray:
    return np.stack([draw(random, (n,)) + place for draw, place in tasks])


def aggregates(draws: int, random: np.random.Generator) -> None:
    settings = {f"{count} tasks of different kinds": tasks_of(count) for count in (5, 13)}
    for name in list(KINDS)[1:]:
        settings[f"13 tasks: {name}"] = [(KINDS[name], 0.0)] * 13
    for title, ours, theirs in (
        ("Mean over tasks", stratified_mean, np_mean),
        ("Interquartile mean over tasks", interquartile_mean, np_iqm),
    ):
        rows = []
        for name, tasks in settings.items():
            truth = float(theirs(drawn_from(tasks, 400_000, random)))
            for method in ("formula", "percentile bootstrap"):
                cells = []
                for n in RUNS:
                    hit = 0
                    for _ in range(draws // 2):
                        values = drawn_from(tasks, n, random)
                        formula = method == "formula"
                        hit += holds(
                            ours(values.tolist()) if formula else percentile(values, theirs, random), truth
                        )
                    cells.append(hit / (draws // 2))
                rows.append((f"{name}, {method}", cells))
        table(title, (f"n = {n}" for n in RUNS), rows)


def exact_wilson(rate: float, n: int) -> float:
    return sum(
        comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1) if holds(wilson(k, n), rate)
    )


def rates(draws: int, random: np.random.Generator) -> None:
    table(
        "One rate, Wilson (exact, not simulated)",
        (f"n = {n}" for n in RUNS),
        ((f"true rate {rate:.0%}", [exact_wilson(rate, n) for n in RUNS]) for rate in (0.05, 0.1, 0.3, 0.5)),
    )
    even = np.array([0.3] * 13)
    uneven = np.array([0, 0, 0, 0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1, 1])
    rare = np.array([0.0] * 10 + [0.05, 0.1, 0.2])
    settings = {"all 30 %": even, "from 0 to 100 %": uneven, "most 0": rare}

    def share(rate: np.ndarray, n: int, truth: float, interval: Callable) -> float:
        hits = 0
        for _ in range(draws):
            counts = [(int(c), n) for c in random.binomial(n, rate)]
            hits += holds(interval(counts), truth)
        return hits / draws

    table(
        "Mean of the rates of 13 tasks",
        (f"n = {n}" for n in RUNS),
        (
            (name, [share(rate, n, float(rate.mean()), stratified_rate) for n in RUNS])
            for name, rate in settings.items()
        ),
    )
    table(
        "pass@3 over 13 tasks",
        (f"n = {n}" for n in RUNS),
        (
            (
                name,
                [share(rate, n, float((1 - (1 - rate) ** 3).mean()), partial(pass_at_k, k=3)) for n in RUNS],
            )
            for name, rate in settings.items()
        ),
    )

    def apart(a: np.ndarray, b: np.ndarray, n: int) -> float:
        hits = 0
        for _ in range(draws):
            ours, theirs = (
                stratified_rate([(int(c), n) for c in random.binomial(n, rate)]) for rate in (a, b)
            )
            hits += holds(combine([(1, ours), (-1, theirs)]), float(a.mean() - b.mean()))
        return hits / draws

    pairs = {
        "one task, 30 % and 60 %": (np.array([0.3]), np.array([0.6])),
        "13 tasks, from 0 to 100 % and all 30 %": (uneven, even),
        "13 tasks, most 0 and the same": (rare, rare),
    }
    table(
        "Difference of two success rates",
        (f"n = {n}" for n in RUNS),
        ((name, [apart(a, b, n) for n in RUNS]) for name, (a, b) in pairs.items()),
    )


def comparisons(draws: int, random: np.random.Generator) -> None:
    def improvement(count: int, shift: float, n: int) -> float:
        tasks = tasks_of(count)
        wide = 20_000
        ours, theirs = drawn_from(tasks, wide, random) + shift, drawn_from(tasks, wide, random)
        truth = float(
            np.mean(
                [
                    (np.searchsorted(np.sort(y), x, "left") + np.searchsorted(np.sort(y), x, "right")).mean()
                    / 2
                    / wide
                    for x, y in zip(ours, theirs, strict=True)
                ]
            )
        )
        hits = 0
        for _ in range(draws // 2):
            ours, theirs = drawn_from(tasks, n, random) + shift, drawn_from(tasks, n, random)
            hits += holds(
                probability_of_improvement(list(zip(ours.tolist(), theirs.tolist(), strict=True))), truth
            )
        return hits / (draws // 2)

    table(
        "Probability of improvement",
        (f"n = {n}" for n in RUNS),
        (
            (f"{count} tasks, shifted by {shift}", [improvement(count, shift, n) for n in RUNS])
            for count in (1, 5, 13)
            for shift in (0.0, 0.3, 2.0)
        ),
    )

    def effect(count: int, paired: bool, n: int) -> float:
        tasks = tasks_of(count)
        hits = 0
        for _ in range(draws // 2):
            seeds = random.normal(0, 0.5, (count, n)) if paired else 0.0
            ours = drawn_from(tasks, n, random) + seeds + 0.3
            theirs = drawn_from(tasks, n, random) + seeds
            other_seeds = 0 if paired else n
            pairs = [
                (list(enumerate(x)), list(enumerate(y, other_seeds)))
                for x, y in zip(ours.tolist(), theirs.tolist(), strict=True)
            ]
            hits += holds(difference_of_means(pairs), 0.3)
        return hits / (draws // 2)

    table(
        "Difference of mean improvement",
        (f"n = {n}" for n in RUNS),
        (
            (
                f"{count} tasks, {'paired by seed' if paired else 'not paired'}",
                [effect(count, paired, n) for n in RUNS],
            )
            for count in (1, 5, 13)
            for paired in (True, False)
        ),
    )


def power(draws: int, random: np.random.Generator) -> None:
    """A pilot that shows the true difference and spread says how many runs are needed; how often do so many decide?"""
    rows = []
    for effect in (0.3, 0.5, 0.8):
        pilot = [
            ([(0, effect - 1), (1, effect), (2, effect + 1)], [(3, -1.0), (4, 0.0), (5, 1.0)])
            for _ in range(3)
        ]
        needed = compare_means(pilot).runs_needed
        decided = 0
        for _ in range(draws // 2):
            a, b = random.normal(effect, 1, (3, needed)).tolist(), random.normal(0, 1, (3, needed)).tolist()
            pairs = [(list(enumerate(x)), list(enumerate(y, needed))) for x, y in zip(a, b, strict=True)]
            decided += compare_means(pairs).decided
        rows.append((f"means, {effect} standard deviations apart: {needed} runs", [decided / (draws // 2)]))
    for p, q in ((0.75, 0.5), (0.5, 0.25), (0.25, 0.0)):
        sides = [[(seed, float(seed < 4 * rate)) for seed in range(4)] for rate in (p, q)]
        needed = compare_rates([(sides[0], sides[1])] * 3).runs_needed
        decided = 0
        for _ in range(draws // 2):
            a, b = (random.random((3, needed)) < rate for rate in (p, q))
            pairs = [
                (list(enumerate(map(float, x))), list(enumerate(map(float, y), needed)))
                for x, y in zip(a, b, strict=True)
            ]
            decided += compare_rates(pairs).decided
        rows.append((f"rates, {p:.0%} and {q:.0%}: {needed} runs", [decided / (draws // 2)]))
    table("How often the runs that are called enough decide, over 3 tasks", ["decided"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    random = np.random.default_rng(20261116)
    means(draws, random)
    aggregates(draws, random)
    rates(draws, random)
    comparisons(draws, random)
    power(draws, random)


if __name__ == "__main__":
    main()
