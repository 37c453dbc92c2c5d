"""Forecasts of traffic against simpler guesses and against the truth, on patterns that are known.

    scripts/bench forecast            minutes: patterns by seeds, then many classes
    scripts/bench forecast --seeds 3

Each pattern has 20 traffic classes with Poisson demands; five weeks of windows of ten minutes, of which the
last is judged. An error is the sum of the differences from what came in the next two hours, as a share of it.
The least error is what is left if the mean of every hour is known: the demands are random.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from benchmarks._table import Line, show

from regraft.forecast import Forecaster, HourOfTraffic
from regraft.model.traffic import Traffic, TrafficClass

WIDTH, PER_HOUR, HORIZON, REPEATED = 600.0, 6, 12, 3
WEEK = 7 * 24
WEEKS = 5
CLASSES = 20
MANY = 10_000
Floats = npt.NDArray[np.float64]
Means = Callable[[np.random.Generator], Floats]


class Errors(NamedTuple):
    """Of the forecast, of repeating the last windows, of the same hours a week ago, of knowing the means; and
    of what the loop uses: the forecast, or repeating."""

    forecast: float
    repeated: float
    week_ago: float
    least: float
    used: float


def hours() -> Floats:
    return np.arange(WEEKS * WEEK, dtype=float)


def office(draw: np.random.Generator) -> Floats:
    """Busy by day, less at the weekend; each class has its own hours."""
    begin, length = draw.uniform(6, 10, CLASSES), draw.uniform(7, 11, CLASSES)
    of_day = (hours() % 24)[:, None]
    busy = (of_day >= begin) & (of_day < begin + length) & ((hours() // 24 % 7) < 5)[:, None]
    return np.where(busy, draw.uniform(50, 500, CLASSES), draw.uniform(1, 20, CLASSES))


def waves(draw: np.random.Generator) -> Floats:
    """Each class swells and falls over the day, at its own time; the whole level drifts."""
    level = np.exp(np.cumsum(draw.normal(0, 0.03, len(hours()))))[:, None]
    wave = 1.2 + np.sin(2 * np.pi * (hours()[:, None] / 24 + draw.uniform(0, 1, CLASSES)))
    return draw.uniform(20, 200, CLASSES) * wave * level


def steady(draw: np.random.Generator) -> Floats:
    """Nothing to learn: repeating is as good."""
    return np.tile(draw.uniform(20, 200, CLASSES), (len(hours()), 1))


def moving(draw: np.random.Generator) -> Floats:
    """Every two days another half of the classes is busy, by chance: the past says nothing."""
    periods = draw.integers(0, 2, (WEEKS * WEEK // 48 + 1, CLASSES))
    busy: Floats = np.repeat(periods, 48, 0)[: len(hours())].astype(float)
    return busy * 180.0 + 5.0


PATTERNS: dict[str, Means] = {"office": office, "waves": waves, "steady": steady, "moving": moving}


def errors(means: Means, seed: int) -> Errors:
    draw = np.random.default_rng(seed)
    truth = np.repeat(means(draw), PER_HOUR, 0)
    came = draw.poisson(truth).astype(float)
    names = [frozenset((f"a{number}", f"b{number}")) for number in range(CLASSES)]
    forecaster = Forecaster(WIDTH, HORIZON, REPEATED)
    off: list[list[float]] = []
    week, count = WEEK * PER_HOUR, len(came)
    for number in range(count - HORIZON):
        forecast = forecaster.take(number * WIDTH, _traffic(names, came[number]))
        if number < count - week:
            continue
        assert forecast is not None
        expected = dict(forecast.traffic)
        ahead = slice(number + 1, number + 1 + HORIZON)
        repeated = came[number + 1 - REPEATED : number + 1].mean(0)
        guessed = np.array([expected.get(name, 0.0) for name in names])
        guesses = [
            guessed,
            repeated,
            came[ahead.start - week : ahead.stop - week].mean(0),
            truth[ahead].mean(0),
            guessed if forecast.seasonal else repeated,
        ]
        mean = came[ahead].mean(0)
        off.append([float(np.abs(guess - mean).sum() / mean.sum()) for guess in guesses])
    return Errors(*np.mean(off, 0).tolist())


def _traffic(names: list[frozenset[str]], demands: Floats) -> Traffic:
    return tuple(TrafficClass(*each) for each in zip(names, demands.tolist(), strict=True))


def patterns(seeds: int) -> Iterator[Line]:
    for name, means in PATTERNS.items():
        each = [errors(means, seed) for seed in range(seeds)]
        found = Errors(*(statistics.median(values) for values in zip(*each, strict=True)))
        told = (
            f"{found.used:.1%}; forecast {found.forecast:.1%}, repeating {found.repeated:.1%}, "
            f"a week ago {found.week_ago:.1%}, least possible {found.least:.1%}"
        )
        met = found.used <= 1.1 * min(found.forecast, found.repeated)
        wanted = "at most 1.1 × the better of forecast and repeating"
        yield Line(f"{name}: error of what is used, {seeds} seeds", wanted, told, met, found._asdict())


def many() -> Iterator[Line]:
    """How long one window takes with many classes, after a day."""
    draw = np.random.default_rng(1)
    names = [frozenset((f"a{number}", f"b{number}")) for number in range(MANY)]
    forecaster = Forecaster(60.0, 20, REPEATED)
    for hour in range(24):
        demand = dict(zip(names, draw.poisson(300.0, MANY).astype(float).tolist(), strict=True))
        forecaster.learn(HourOfTraffic(hour, 60, demand))
    took = []
    for number in range(24 * 60, 24 * 60 + 100):
        traffic = _traffic(names, draw.poisson(5.0, MANY).astype(float))
        began = time.perf_counter()
        assert forecaster.take(number * 60.0, traffic) is not None
        took.append(time.perf_counter() - began)
    median = statistics.median(took[60:])
    yield Line(f"a window of {MANY:,} classes", "-", f"{median * 1e3:.0f} ms", None, {"seconds": median})


def main() -> int:
    options = argparse.ArgumentParser(prog="scripts/bench forecast", description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--out", type=Path, help="also write all figures there, as JSON")
    chosen = options.parse_args()
    lines = show((*patterns(chosen.seeds), *many()), "forecasts of traffic", chosen.out)
    return 1 if any(line.met is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
