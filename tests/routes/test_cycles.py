"""Cycle detection against walks that are followed one by one, and against networkx."""

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.routes.cycles import components, cycles_in
from regraft.routes.problem import Graph

SWITCHES = 5
cables = st.lists(
    st.tuples(st.integers(0, SWITCHES - 1), st.integers(0, SWITCHES - 1)).filter(lambda c: c[0] != c[1]),
    min_size=1,
    max_size=7,
)


def graph_of_cables(pairs: list[tuple[int, int]]) -> Graph:
    """Edges 2c and 2c + 1 are the two directions of cable c."""
    both = [edge for one, other in pairs for edge in ((one, other), (other, one))]
    sources, targets = np.array(both).T
    count = len(both)
    numbers = np.arange(count) // 2
    return Graph(SWITCHES, sources, targets, numbers, np.ones(count), np.ones(count, dtype=bool))


def comes_twice(graph: Graph, edges: frozenset[int], root: int) -> bool:
    """Follow the copies of one event, as switches do, until one comes where an event has been."""
    seen, copies = {root}, [(root, -1)]
    while copies:
        at, cable = copies.pop()
        for edge in edges:
            if graph.sources[edge] == at and graph.cables[edge] != cable:
                target = int(graph.targets[edge])
                if target in seen:
                    return True
                seen.add(target)
                copies.append((target, int(graph.cables[edge])))
    return False


@st.composite
def uses(draw: st.DrawFn) -> tuple[Graph, frozenset[int]]:
    graph = graph_of_cables(draw(cables))
    return graph, draw(st.frozensets(st.sampled_from(range(len(graph.sources)))))


@settings(max_examples=120, deadline=None)
@given(uses())
def test_something_is_found_exactly_if_an_event_can_come_twice(use: tuple[Graph, frozenset[int]]) -> None:
    graph, edges = use
    found = cycles_in(graph, edges)
    assert bool(found) == any(comes_twice(graph, edges, root) for root in range(SWITCHES))
    for cycle in found:
        assert cycle <= edges
        assert any(comes_twice(graph, cycle, root) for root in range(SWITCHES))


@settings(max_examples=50, deadline=None)
@given(uses(), st.frozensets(st.integers(0, SWITCHES - 1), min_size=1))
def test_forks_count_only_behind_the_roots(use: tuple[Graph, frozenset[int]], roots: frozenset[int]) -> None:
    graph, edges = use
    found = cycles_in(graph, edges, roots)
    if any(comes_twice(graph, edges, root) for root in roots):
        assert found
    if found and not any(comes_twice(graph, edges, root) for root in roots):
        # A circle is named even where no root leads to it yet.
        assert any(comes_twice(graph, cycle, int(graph.sources[min(cycle)])) for cycle in found)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=3, unique=True)))
def test_components_are_those_of_networkx(drawn: dict[int, list[int]]) -> None:
    following = {edge: [after for after in drawn.get(edge, ()) if after != edge] for edge in range(7)}
    expected = [each for each in nx.strongly_connected_components(nx.DiGraph(following)) if len(each) > 1]
    assert sorted(map(sorted, components(following))) == sorted(map(sorted, expected))


def test_both_directions_of_a_cable_are_no_cycle() -> None:
    graph = graph_of_cables([(0, 1), (1, 2)])
    assert cycles_in(graph, range(4)) == []


def test_two_cables_between_two_switches_are_one() -> None:
    graph = graph_of_cables([(0, 1), (0, 1)])
    assert cycles_in(graph, (0, 3)) == [frozenset((0, 3))]


def test_the_shortest_circle_of_a_component_is_named() -> None:
    # 0 → 1 → 2 → 3 → 0, and 3 → 1 closes a shorter one.
    graph = graph_of_cables([(0, 1), (1, 2), (2, 3), (3, 0), (3, 1)])
    assert cycles_in(graph, (0, 2, 4, 6, 8)) == [frozenset((2, 4, 8))]


def test_a_diamond_is_named_without_the_way_to_its_fork() -> None:
    graph = graph_of_cables([(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)])
    assert cycles_in(graph, (0, 2, 4, 6, 8)) == [frozenset((2, 4, 6, 8))]


def test_two_sources_with_two_common_ends_are_no_cycle() -> None:
    graph = graph_of_cables([(0, 1), (2, 1), (2, 3), (0, 3)])
    assert cycles_in(graph, (0, 2, 4, 6)) == []
