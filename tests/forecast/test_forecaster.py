"""Forecasts against patterns whose truth is known, and the means of hours against a plain computation."""

import math
import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.forecast import Forecast, Forecaster, HourOfTraffic
from regraft.forecast import forecaster as module
from regraft.forecast.forecaster import RECENT
from regraft.forecast.seasons import HALF_LIFE, PRIOR_DEMAND, PRIOR_HOURS, WEEK, Seasons
from regraft.model.traffic import Traffic, TrafficClass

HOUR = 3600.0
WIDTH = 600.0
PER_HOUR = 6
AB, CD, EF = frozenset("ab"), frozenset("cd"), frozenset("ef")
Truth = Callable[[int], dict[frozenset[str], float]]


def poisson(chance: random.Random, mean: float) -> int:
    """A normal approximation is enough: demands are hundreds."""
    return max(0, round(chance.gauss(mean, math.sqrt(mean))))


def days_and_nights(hour: int) -> dict[frozenset[str], float]:
    """ab talk by day, cd by night, and ab only on five days of seven."""
    by_day = 8 <= hour % 24 < 18
    works = hour // 24 % 7 < 5
    return {AB: 900.0 if by_day and works else 40.0, CD: 50.0 if by_day else 600.0}


def windows(truth: Truth, days: float, seed: int = 1, first: int = 0) -> Iterator[tuple[float, Traffic]]:
    chance = random.Random(seed)
    for number in range(first, first + round(days * 24 * PER_HOUR)):
        demands = truth(number // PER_HOUR)
        yield number * WIDTH, tuple(TrafficClass(who, poisson(chance, mean)) for who, mean in demands.items())


def told(forecaster: Forecaster, coming: Iterator[tuple[float, Traffic]]) -> list[Forecast | None]:
    return [forecaster.take(start, traffic) for start, traffic in coming]


def demand(forecast: Forecast | None) -> dict[frozenset[str], float]:
    assert forecast is not None
    return dict(forecast.traffic)


def test_the_hours_of_the_week_are_learnt_and_the_forecast_is_near_the_truth() -> None:
    """Right before each change of the pattern, where repeating is wrong."""
    forecaster = Forecaster(WIDTH, 6, 3)
    forecasts = told(forecaster, windows(days_and_nights, 28))
    last = forecasts[-1]
    assert last is not None
    assert last.seasonal
    assert last.errors.seasonal is not None
    assert last.errors.repeated is not None
    assert last.errors.seasonal < 0.5 * last.errors.repeated
    for day in range(21, 28):
        for hour in (8, 18):
            before = (day * 24 + hour) * PER_HOUR - 1
            truth = days_and_nights(day * 24 + hour)
            for who, expected in demand(forecasts[before]).items():
                assert expected == pytest.approx(truth[who], rel=0.25, abs=60), (day, hour, who)


def test_what_never_changes_is_expected_to_stay() -> None:
    forecaster = Forecaster(WIDTH, 12, 3)
    steady: Traffic = (TrafficClass(AB, 100.0), TrafficClass(CD, 7.0))
    forecasts = told(forecaster, ((number * WIDTH, steady) for number in range(60)))
    first = RECENT + PER_HOUR - 1
    assert forecasts[:first] == [None] * first, "no hour is over that has none of the last windows"
    for forecast in forecasts[first:]:
        assert demand(forecast) == pytest.approx({AB: 100.0, CD: 7.0})


def test_after_a_lasting_change_the_guess_that_it_repeats_is_better_until_the_change_is_learnt() -> None:
    forecaster = Forecaster(WIDTH, 6, 3)
    forecasts = told(forecaster, windows(days_and_nights, 14))
    assert forecasts[-1] is not None
    assert forecasts[-1].seasonal
    moved = told(forecaster, windows(lambda hour: {EF: 500.0}, 2, first=14 * 24 * PER_HOUR))
    assert moved[-1] is not None
    assert not moved[-1].seasonal
    expected = demand(moved[-1])
    assert expected[EF] == pytest.approx(500.0, rel=0.15), "a new class is expected to last"
    assert expected[AB] + expected[CD] < 0.3 * 500, "what has gone fades"


def test_a_level_above_the_usual_one_is_carried_into_the_next_hours() -> None:
    forecaster = Forecaster(WIDTH, 6, 3)
    told(forecaster, windows(days_and_nights, 21))
    start = 21 * 24 * PER_HOUR
    usual = told(forecaster, windows(days_and_nights, 9.5 / 24, first=start))[-1]
    doubled = Forecaster(WIDTH, 6, 3)
    told(doubled, windows(days_and_nights, 21))
    twice = told(
        doubled,
        windows(lambda hour: {who: 2 * n for who, n in days_and_nights(hour).items()}, 9.5 / 24, first=start),
    )[-1]
    assert demand(twice)[AB] == pytest.approx(2 * demand(usual)[AB], rel=0.2)


def test_a_gap_is_no_traffic_of_none_and_a_window_counts_once() -> None:
    forecaster = Forecaster(WIDTH, 2, 1)
    steady: Traffic = (TrafficClass(AB, 100.0),)
    told(forecaster, ((number * WIDTH, steady) for number in range(60)))
    errors = forecaster.errors
    assert errors.checked > 10
    assert errors.seasonal == pytest.approx(0.0)
    again = forecaster.take(59 * WIDTH, (TrafficClass(AB, 5.0),))
    assert demand(again) == pytest.approx({AB: 100.0})
    later = told(forecaster, ((number * WIDTH, steady) for number in range(500, 502)))
    assert demand(later[0]) == pytest.approx({AB: 100.0})
    assert forecaster.errors.checked == errors.checked, "what was forecast before the gap is not compared"


def test_with_too_many_classes_the_rarest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLASSES", 10)
    forecaster = Forecaster(WIDTH, 2, 1)

    def traffic(number: int) -> Traffic:
        rare = TrafficClass(frozenset(("a", f"x{number}")), 1.0)
        return (TrafficClass(AB, 100.0), TrafficClass(CD, 50.0), rare)

    forecasts = told(forecaster, ((number * WIDTH, traffic(number)) for number in range(200)))
    expected = demand(forecasts[-1])
    assert len(expected) <= 11
    assert expected[AB] == pytest.approx(100.0)
    assert expected[CD] == pytest.approx(50.0)
    assert forecaster.errors.checked > 5


HOURS = st.lists(
    st.tuples(
        st.integers(0, 5 * WEEK),
        st.integers(1, 6),
        st.dictionaries(st.sampled_from([0, 1, 2]), st.floats(0, 1e4), max_size=3),
    ),
    min_size=1,
    max_size=25,
    unique_by=lambda each: each[0],
)


@given(HOURS, st.integers(0, WEEK), st.integers(0, WEEK - 1))
@settings(max_examples=200, deadline=None)
def test_the_mean_of_an_hour_is_that_of_the_same_hours_drawn_towards_the_others(
    hours: list[tuple[int, int, dict[int, float]]], later: int, slot: int
) -> None:
    hours.sort(key=lambda each: each[0])
    seasons, now = Seasons(), hours[-1][0] + later
    for hour, count, demands in hours:
        seasons.learn(hour, count, list(demands), list(demands.values()))
    found = seasons.means(3, [slot], now, PER_HOUR)
    assert found is not None
    prior = PRIOR_HOURS * PER_HOUR
    for number in range(3):
        sums = {"all": [0.0, 0.0], "day": [0.0, 0.0], "week": [0.0, 0.0]}
        seen = [place for place, (_, _, demands) in enumerate(hours) if number in demands]
        for hour, count, demands in hours[seen[0] :] if seen else ():
            weight = 0.5 ** ((now - hour) / HALF_LIFE)
            alike = {"all": True, "day": hour % 24 == slot % 24, "week": hour % WEEK == slot}
            for name in (name for name, is_alike in alike.items() if is_alike):
                sums[name][0] += weight * demands.get(number, 0.0)
                sums[name][1] += weight * count
        overall = sums["all"][0] / sums["all"][1] if seen else 0.0
        weekly = overall
        for name in ("day", "week"):
            more = prior + (PRIOR_DEMAND / weekly if weekly > 1e-9 else 2e9)
            weekly = (sums[name][0] + more * weekly) / (sums[name][1] + more)
        assert found[number, 0] == pytest.approx(weekly, rel=1e-9, abs=1e-9)


def test_hours_come_in_order_and_each_once() -> None:
    seasons = Seasons()
    assert seasons.means(1, [0], 0, PER_HOUR) is None
    seasons.learn(5, 6, [0], [60.0])
    seasons.learn(5, 6, [0], [600.0])
    seasons.learn(4, 6, [0], [600.0])
    seasons.learn(6, 0, [0], [600.0])
    found = seasons.means(1, [5], 5, PER_HOUR)
    assert found is not None
    assert found[0, 0] == pytest.approx(10.0)
    assert seasons.learnt == 5


def test_a_forecaster_that_knows_the_hours_and_the_last_windows_says_what_one_says_that_saw_all() -> None:
    everything = list(windows(days_and_nights, 10))
    whole, again = Forecaster(WIDTH, 6, 3), Forecaster(WIDTH, 6, 3)
    for start, traffic in everything[:-1]:
        whole.take(start, traffic)
    cut = len(everything) - 60
    sums: dict[int, HourOfTraffic] = {}
    for start, traffic in everything:
        hour = int(start // HOUR)
        known = sums.setdefault(hour, HourOfTraffic(hour, 0, {}))
        more = {who: known.demand.get(who, 0.0) + n for who, n in traffic}
        sums[hour] = HourOfTraffic(hour, known.windows + 1, more)
    for hour in sorted(sums):
        if hour < int(everything[cut][0] // HOUR):
            again.learn(sums[hour])
    for start, traffic in everything[cut:-1]:
        again.take(start, traffic)
    final = everything[-1]
    assert demand(again.take(*final)) == pytest.approx(demand(whole.take(*final)), rel=1e-6)
