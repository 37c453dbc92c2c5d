"""The join that replaces dead brokers: against all joins on small gaps, and valid on large ones."""

from itertools import product
from random import Random

import pytest

from regraft.evaluate.case import Case
from regraft.evaluate.routing_cost import routing_cost
from regraft.heal.cuts import CountedCuts, FlowCuts
from regraft.heal.gap import gap_of
from regraft.heal.repair import Join, inserted, join, repaired
from regraft.heal.spanning import best_tree, cut_tree
from regraft.model import BadInput, Broker, Ends, Infeasible, Link, Topology, ends
from regraft.model.traffic import Traffic, TrafficClass
from regraft.model.workload import Workload


def overlay(rng: Random, degree: int, others: int, *, cost: bool = False) -> Topology:
    """A hub of this degree; the others hang anywhere behind its neighbours."""
    links, names = [("hub", f"n{i}") for i in range(degree)], [f"n{i}" for i in range(degree)]
    for i in range(others):
        links.append((rng.choice(names), f"x{i}"))
        names.append(f"x{i}")
    tree = Topology.of(links)
    if not cost:
        return tree
    return Topology(tuple(Broker(id, cost=rng.randint(1, 5)) for id in tree.ids), tree.links)


def demands(rng: Random, tree: Topology, classes: int, size: int = 4) -> Traffic:
    return tuple(
        TrafficClass(frozenset(rng.sample(tree.ids, rng.randint(2, size))), float(rng.randint(1, 9)))
        for _ in range(classes)
    )


def trees(k: int) -> list[list[tuple[int, int]]]:
    """All of them, by their Prüfer sequences."""
    found = []
    for sequence in product(range(k), repeat=k - 2):
        degree = [1 + sequence.count(i) for i in range(k)]
        links = []
        for i in sequence:
            leaf = degree.index(1)
            links.append((leaf, i))
            degree[leaf] -= 1
            degree[i] -= 1
        a, b = (i for i in range(k) if degree[i] == 1)
        found.append([*links, (a, b)])
    return found


def cost_of(tree: Topology, traffic: Traffic, costs: dict[Ends, float]) -> float:
    """By `evaluate`, which shares no code with the repair."""
    priced = tuple(Link(link.ends, cost=costs.get(link.ends, link.cost)) for link in tree.links)
    alive = set(tree.ids)
    kept = tuple(TrafficClass(members & alive, demand) for members, demand in traffic if members & alive)
    finding = routing_cost(Case(Topology(tree.brokers, priced), Workload(traffic=kept)))
    return float(finding.numbers.get("routing_cost") or 0.0)


def all_joins(tree: Topology, traffic: Traffic, costs: dict[Ends, float]) -> list[float]:
    around = sorted(tree.neighbours["hub"])
    return [
        cost_of(repaired(tree, ["hub"], Join(pairs, 0, False)), traffic, costs)
        for links in trees(len(around))
        if (pairs := tuple(ends(around[i], around[j]) for i, j in links))
    ]


def joined(tree: Topology, dead: list[str], traffic: Traffic = (), **options: object) -> Join:
    found = join(tree, dead, traffic, **options)  # type: ignore[arg-type]
    assert isinstance(found, Join)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_where_links_cost_the_same_no_other_join_is_cheaper(seed: int) -> None:
    rng = Random(seed)
    tree = overlay(rng, rng.randint(2, 6), rng.randint(0, 12))
    traffic = demands(rng, tree, rng.randint(1, 12))
    found = joined(tree, ["hub"], traffic)
    assert found.exact
    assert cost_of(repaired(tree, ["hub"], found), traffic, {}) == pytest.approx(
        min(all_joins(tree, traffic, {}))
    )


@pytest.mark.parametrize("seed", range(12))
def test_where_costs_differ_the_join_is_close_to_the_cheapest(seed: int) -> None:
    rng = Random(seed)
    tree = overlay(rng, rng.randint(3, 5), 8, cost=True)
    near = sorted(tree.neighbours["hub"])
    costs = {ends(a, b): float(rng.randint(1, 9)) for a in near for b in near if a < b}
    traffic = demands(rng, tree, 8)
    found = joined(tree, ["hub"], traffic, costs=costs)
    every = all_joins(tree, traffic, costs)
    mine = cost_of(repaired(tree, ["hub"], found), traffic, costs)
    assert min(every) <= mine + 1e-9 <= 1.1 * min(every)
    assert mine < sum(every) / len(every)


def test_the_stated_cost_orders_joins_as_the_overlays_cost_does() -> None:
    rng = Random(3)
    tree = overlay(rng, 5, 10, cost=True)
    traffic = demands(rng, tree, 10)
    names = tuple(sorted(tree.neighbours["hub"], key=lambda name: (len(tree.neighbours[name]), name)))
    gap = gap_of(tree, frozenset({"hub"}), frozenset({"hub"}), traffic, {}, dict.fromkeys(names, 9))
    offsets = set()
    for links in trees(5):
        pairs = tuple(ends(names[i], names[j]) for i, j in links)
        whole = cost_of(repaired(tree, ["hub"], Join(pairs, 0, False)), traffic, {})
        offsets.add(round(whole - gap.cost(links), 6))
    assert len(offsets) == 1


@pytest.mark.parametrize("seed", range(10))
def test_both_ways_to_cut_find_trees_of_the_same_cost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    tree = overlay(rng, rng.randint(3, 11), 20)
    traffic = demands(rng, tree, 40, 8)
    found = []
    for cuts in (CountedCuts, FlowCuts):
        monkeypatch.setattr("regraft.heal.spanning.cuts_of", cuts)
        found.append(joined(tree, ["hub"], traffic))
    assert found[0].cost == pytest.approx(found[1].cost)
    assert all(each.exact for each in found)


def test_a_broker_of_degree_20_among_1000_is_replaced_by_a_valid_tree() -> None:
    rng = Random(1)
    tree = overlay(rng, 20, 979)
    traffic = demands(rng, tree, 500, 5)
    found = joined(tree, ["hub"], traffic)
    assert found.exact
    assert len(found.links) == 19
    assert set(repaired(tree, ["hub"], found).ids) == set(tree.ids) - {"hub"}
    names = sorted(tree.neighbours["hub"])
    star = Join(tuple(ends(names[0], other) for other in names[1:]), 0, False)
    assert cost_of(repaired(tree, ["hub"], found), traffic, {}) < cost_of(
        repaired(tree, ["hub"], star), traffic, {}
    )


@pytest.mark.parametrize("seed", range(30))
def test_several_dead_brokers_linked_or_not_leave_one_tree_of_the_living(seed: int) -> None:
    rng = Random(seed)
    tree = overlay(rng, rng.randint(2, 5), 20)
    dead = rng.sample(tree.ids, rng.randint(1, 12))
    found = joined(tree, dead, demands(rng, tree, 10))
    assert set(repaired(tree, dead, found).ids) == set(tree.ids) - set(dead)  # built, so a tree


@pytest.mark.parametrize("seed", range(20))
def test_a_degree_limit_is_kept_or_given_as_the_reason(seed: int) -> None:
    rng = Random(seed)
    tree = overlay(rng, rng.randint(3, 8), 10)
    dead = rng.sample(tree.ids, 2)
    most = rng.randint(2, 4)
    found = join(tree, dead, demands(rng, tree, 10), max_degree=most)
    around = {each for broker in dead for each in tree.neighbours[broker]} - set(dead)
    if isinstance(found, Infeasible):
        assert found.limit == "max_degree"
        return
    after = repaired(tree, dead, found)
    assert all(
        len(after.neighbours[each]) <= max(most, len(tree.neighbours[each] - set(dead))) for each in around
    )


def test_a_path_is_closed_as_in_figure_2_of_the_paper() -> None:
    path = Topology.of([("b0", "b1"), ("b1", "b2"), ("b2", "b3"), ("b3", "b4")])
    assert joined(path, ["b2"]).links == (("b1", "b3"),)
    assert joined(path, ["b0"]) == Join((), 0.0, True)  # a leaf leaves no gap
    new = inserted(repaired(path, ["b2"], joined(path, ["b2"])), Broker("b5"), ("b1", "b3"))
    assert isinstance(new, Topology)
    assert new.neighbours["b5"] == {"b1", "b3"}


def test_without_traffic_the_neighbour_with_the_fewest_links_gets_the_others() -> None:
    tree = Topology.of([("hub", "a"), ("hub", "b"), ("hub", "c"), ("a", "a1"), ("b", "b1")])
    assert joined(tree, ["hub"]).links == (("a", "c"), ("b", "c"))


def test_impossible_joins_and_insertions_are_refused() -> None:
    path = Topology.of([("a", "b"), ("b", "c")])
    assert isinstance(join(path, ["a", "b", "c"]), Infeasible)
    with pytest.raises(BadInput, match="unknown broker id 'x'"):
        join(path, ["x"])
    with pytest.raises(BadInput, match="a mesh needs no join"):
        join(Topology.of([("a", "b")], kind="mesh"), ["a"])
    with pytest.raises(BadInput, match="in the overlay already"):
        inserted(path, Broker("a"), ("b",))
    with pytest.raises(BadInput, match="unknown broker id 'y'"):
        inserted(path, Broker("x"), ("y",))
    assert isinstance(inserted(path, Broker("x"), ("a", "c")), Infeasible)
    assert isinstance(inserted(path, Broker("x"), ()), Infeasible)


def test_more_classes_than_are_cut_exactly_still_give_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regraft.heal.cuts.MOST_CLASSES", 30)
    monkeypatch.setattr("regraft.heal.cuts.ROUGHLY", 20)
    rng = Random(5)
    tree = overlay(rng, 14, 60)
    traffic = demands(rng, tree, 200, 8)
    rough = joined(tree, ["hub"], traffic)
    assert not rough.exact
    monkeypatch.undo()
    assert rough.cost <= 1.1 * joined(tree, ["hub"], traffic).cost


def test_demands_that_are_no_whole_numbers_are_scaled() -> None:
    rng = Random(6)
    tree = overlay(rng, 13, 30)
    thirds = tuple(TrafficClass(members, demand / 3) for members, demand in demands(rng, tree, 60))
    whole = tuple(TrafficClass(members, demand * 3) for members, demand in thirds)
    assert joined(tree, ["hub"], thirds).cost * 3 == pytest.approx(joined(tree, ["hub"], whole).cost)


def test_cut_trees_and_best_trees_span_all_neighbours() -> None:
    tree = overlay(Random(7), 6, 0)
    names = tuple(sorted(tree.neighbours["hub"]))
    gap = gap_of(tree, frozenset({"hub"}), frozenset({"hub"}), (), {}, dict.fromkeys(names, 9))
    assert {end for link in cut_tree(gap)[0] for end in link} == set(range(6))
    assert best_tree(gap).cost == 0  # type: ignore[union-attr]
