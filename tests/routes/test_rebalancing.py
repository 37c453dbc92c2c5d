"""Re-balancing: weights stay within bounds, follow the load, and the second way converges."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.routes.interface import Weighting
from regraft.routes.rebalancing import reopened, settled, suggestion, total_load, unchanged

loads = st.lists(st.floats(0, 1000), min_size=1, max_size=8).map(np.array)
NO_LIMIT = np.inf


def first(edges: int, lower: float = 1.0, upper: float = 100.0) -> Weighting:
    return Weighting(np.full(edges, lower), np.full(edges, lower), np.full(edges, upper))


def unlimited(load: np.ndarray) -> np.ndarray:
    return np.full(len(load), NO_LIMIT)


@settings(max_examples=50)
@given(loads)
def test_total_load_grows_with_the_load_and_stays_within_the_bounds(load: np.ndarray) -> None:
    weights = total_load(first(len(load)), load, unlimited(load), 0).weights
    assert ((weights >= 1) & (weights <= 100)).all()
    assert (weights == np.rint(weights)).all()
    order = np.argsort(load)
    assert (np.diff(weights[order]) >= 0).all()


def test_total_load_is_the_share_of_the_capacity() -> None:
    weighting = first(4, 0.0, 100.0)
    load, capacity = np.array([0.0, 5.0, 10.0, 40.0]), np.array([10.0, 10.0, 10.0, 20.0])
    assert total_load(weighting, load, capacity, 0).weights.tolist() == [0.0, 50.0, 100.0, 100.0]


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(0, 1000), min_size=5, max_size=5), min_size=8, max_size=8))
def test_suggestions_converge_whatever_the_load_does(rounds: list[list[float]]) -> None:
    weighting = first(5)
    for number, load in enumerate(rounds):
        following = suggestion(weighting, np.array(load), np.full(5, NO_LIMIT), number)
        assert (following.lower >= weighting.lower).all()
        assert (following.upper <= weighting.upper).all()
        assert (following.lower <= following.weights).all()
        assert (following.weights <= following.upper).all()
        width, before = following.upper - following.lower, weighting.upper - weighting.lower
        assert (width <= before / 2).all()
        weighting = following
    assert settled(weighting)
    assert suggestion(weighting, np.zeros(5), np.full(5, NO_LIMIT), 9).weights.tolist() == (
        weighting.weights.tolist()
    )


def test_a_suggestion_moves_a_weight_only_slightly() -> None:
    after = suggestion(first(2), np.array([0.0, 100.0]), np.array([100.0, 100.0]), 0)
    assert after.weights.tolist() == [1.0, 26.0]


def test_a_busy_edge_ends_heavier_than_an_idle_one() -> None:
    weighting = first(2)
    for number in range(8):
        weighting = suggestion(weighting, np.array([0.0, 9.0]), np.array([10.0, 10.0]), number)
    assert weighting.weights[0] == 1.0
    assert weighting.weights[1] > 50.0


def test_total_load_may_swing_where_suggestions_stand_still() -> None:
    """The whole load always takes the lighter of two edges: the seed's reason for the second way."""

    def last_choices(way: object) -> list[int]:
        weighting, choices = first(2), []
        for number in range(20):
            choice = int(weighting.weights.argmin())
            choices.append(choice)
            load = np.where(np.arange(2) == choice, 10.0, 0.0)
            weighting = way(weighting, load, np.full(2, 10.0), number)  # type: ignore[operator]
        return choices[-6:]

    assert len(set(last_choices(total_load))) == 2
    assert len(set(last_choices(suggestion))) == 1


def test_a_change_reopens_only_the_touched_edges() -> None:
    start = first(2)
    narrow = suggestion(start, np.array([1.0, 2.0]), np.full(2, NO_LIMIT), 0)
    again = reopened(narrow, start, np.array([True, False]))
    assert (again.lower[0], again.upper[0]) == (1.0, 100.0)
    assert (again.lower[1], again.upper[1]) == (narrow.lower[1], narrow.upper[1])


def test_unchanged_changes_nothing() -> None:
    weighting = first(3)
    assert unchanged(weighting, np.ones(3), np.ones(3), 0) is weighting
