"""Re-balancing: weights stay within bounds, follow the load, and the second way converges."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.routes.networks import random_network, random_workload
from tests.routes.test_compute import computed, judged

from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes import RouteState, update_routes
from regraft.routes.check import check
from regraft.routes.interface import Weighting
from regraft.routes.rebalancing import has_converged, reopened, settled, suggestion, total_load, unchanged

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
    """The whole load always takes the lighter of two edges: why Content routes §5.3.4 has `suggestion`."""

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


# Two ways from a to d that weigh nearly the same, and as many kinds of events as there are subscribers.
TWO_WAYS = SwitchNetwork.of([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")])
FOUR_KINDS = RouteWorkload(
    (Publisher("p", "a", 8.0, ("",)),),
    tuple(Subscriber(f"t{dz}", "d", (dz,)) for dz in ("00", "01"))
    + tuple(Subscriber(f"b{dz}", "b", (dz,)) for dz in ("00",)),
)


def busiest(state: RouteState) -> float:
    return float(check(state.routes).rate_on.max())


def test_weights_that_always_follow_the_load_take_it_off_the_busiest_edge() -> None:
    """Events that only d wants leave the way over b to those that b wants as well; no limit is broken."""
    plain = computed(TWO_WAYS, FOUR_KINDS)
    for way in ("suggestion", "total-load"):
        state = computed(TWO_WAYS, FOUR_KINDS, rebalance_when="always", rebalancing=way, rounds=9)
        judged(state)
        assert busiest(state) <= busiest(plain)
    network = random_network(10, 18, 3)
    workload = random_workload(network, 6, 24, 3, (1, 4))
    before = busiest(computed(network, workload))
    after = computed(network, workload, rebalance_when="always", rounds=9)
    judged(after)
    assert busiest(after) < before


def test_the_busiest_edge_never_carries_more_than_without() -> None:
    less = 0
    for seed in range(6):
        network = random_network(9, 16, seed)
        workload = random_workload(network, 4, 14, seed, (1, 3))
        for way in ("suggestion", "total-load"):
            plain = computed(network, workload)
            state = computed(network, workload, rebalance_when="always", rebalancing=way, rounds=5)
            judged(state)
            assert busiest(state) <= busiest(plain) + 1e-9
            less += busiest(state) < busiest(plain) - 1e-9
    assert less >= 3


def test_rounds_end_when_the_weights_stand_still() -> None:
    network = random_network(8, 14, 2)
    workload = random_workload(network, 4, 12, 2, (1, 3))
    few = computed(network, workload, rebalance_when="always", rounds=9)
    many = computed(network, workload, rebalance_when="always", rounds=60)
    assert many.routes.tables == few.routes.tables
    assert len(many.calls["rebalancing"]) == len(few.calls["rebalancing"]) <= 8
    assert len(computed(network, workload, rounds=60).calls["rebalancing"]) == 1
    assert has_converged(first(2), first(2))
    assert not has_converged(first(2), first(2)._replace(weights=np.array([1.0, 2.0])))


def test_weights_stay_when_somebody_joins_and_move_only_near_the_change() -> None:
    network = random_network(30, 45, 4)
    workload = random_workload(network, 6, 30, 4, (1, 4))
    state = computed(network, workload, rebalance_when="always", rounds=9)
    more = Publisher("new", "r3", 6.0, ("01",))
    after = update_routes(state, RouteWorkload((*workload.publishers, more), workload.subscribers))
    assert isinstance(after, RouteState)
    judged(after)
    assert state.weighting is not None
    assert after.weighting is not None
    near = {"r3"} | {e.target for e in network.edges if e.source == "r3"}
    far = np.array([edge.source not in near and edge.target not in near for edge in network.edges])
    assert far.any()
    assert np.array_equal(after.weighting.weights[far], state.weighting.weights[far])
