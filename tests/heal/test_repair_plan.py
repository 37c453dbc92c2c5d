"""Plans of repairs, judged by the verifier of all plans, on random trees and random deaths."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from regraft.deploy.begin import goal_of
from regraft.deploy.records import Current
from regraft.heal.repair import Join, join, repaired
from regraft.heal.repair_plan import detaching, inserting, isolating, shifting
from regraft.model import Broker, Infeasible, Link, Plan, Topology
from regraft.plan.verify import verify


def random_tree(rng: Random, size: int) -> Topology:
    return Topology.of([(f"b{rng.randrange(i)}", f"b{i}") for i in range(1, size)], ["b0"])


def after(topology: Topology, plan: Plan | None) -> Topology:
    """What the deployer makes of it; the verifier has seen it."""
    if plan is None:
        return topology
    links = sorted(topology.by_ends)
    current = Current(epoch=1, kind="tree", brokers=sorted(topology.ids), links=links)
    goal = goal_of(plan, current)
    verify(plan, topology, goal)
    return goal


@given(st.integers(0, 10**6), st.integers(3, 30), st.integers(1, 6))
def test_the_dead_are_replaced_by_the_join_and_leave(seed: int, size: int, deaths: int) -> None:
    rng = Random(seed)
    tree = random_tree(rng, size)
    dead = rng.sample(tree.ids, min(deaths, size - 2))
    found = join(tree, dead)
    assert isinstance(found, Join)
    leaves = after(tree, isolating(tree, dead, found))
    done = after(leaves, detaching(leaves, dead))
    assert done.sha256 == repaired(tree, dead, found).sha256


@given(st.integers(0, 10**6), st.integers(3, 30))
def test_one_dead_broker_costs_as_many_shifts_as_links_are_missing(seed: int, size: int) -> None:
    rng = Random(seed)
    tree = random_tree(rng, size)
    dead = rng.choice(tree.ids)
    found = join(tree, [dead])
    assert isinstance(found, Join)
    plan = isolating(tree, [dead], found)
    assert (plan.actions if plan else 0) == len(tree.neighbours[dead]) - 1


def test_a_newcomer_beside_one_and_between_two() -> None:
    line = Topology.of([("a", "b"), ("b", "c")])
    assert set(after(line, inserting(line, "n", ["b"])).by_ends) == {("a", "b"), ("b", "c"), ("b", "n")}
    assert set(after(line, inserting(line, "n", ["b", "c"])).by_ends) == {("a", "b"), ("b", "n"), ("c", "n")}


def test_a_neighbour_is_shifted_away() -> None:
    line = Topology.of([("a", "b"), ("b", "c")])
    assert set(after(line, shifting(line, "c", "b", "a")).by_ends) == {("a", "b"), ("a", "c")}


def test_nothing_to_do_is_no_plan() -> None:
    line = Topology.of([("a", "b"), ("b", "c")])
    found = join(line, ["c"])
    assert not isinstance(found, Infeasible)
    assert isolating(line, ["c"], found) is None
    assert detaching(line, ["b", "nobody"]) is None


def test_one_that_still_joins_others_is_not_detached() -> None:
    star = Topology.of([("d", "a"), ("d", "b"), ("d", "c")])
    leaves = after(star, isolating(star, ["d"], Join((("a", "b"),), 0.0, True)))
    assert detaching(leaves, ["d"]) is None


def test_links_of_others_stay_as_they_are() -> None:
    brokers = tuple(map(Broker, "abcde"))
    tree = Topology(brokers, tuple(map(Link, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])))
    found = join(tree, ["c"])
    assert isinstance(found, Join)
    assert {("a", "b"), ("d", "e"), ("b", "d")} <= set(after(tree, isolating(tree, ["c"], found)).by_ends)
