"""Filter embedding against a walk from every publisher to every subscriber, one event at a time."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.dz import DzSet
from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes.embedding import embed
from regraft.routes.interface import Tree
from regraft.routes.problem import Content, Problem, problem_of
from regraft.routes.settings import RouteSettings

DIGITS = 3
POINTS = [format(number, f"0{DIGITS}b") for number in range(1 << DIGITS)]
filters = st.lists(st.text("01", min_size=1, max_size=DIGITS), min_size=1, max_size=3).map(tuple)


@st.composite
def on_trees(draw: st.DrawFn) -> tuple[Problem, Tree]:
    """A random tree network, hosts anywhere, and the edges that some event has to take."""
    size = draw(st.integers(2, 7))
    links = [(f"r{draw(st.integers(0, n - 1))}", f"r{n}") for n in range(1, size)]
    switch = st.integers(0, size - 1).map(lambda n: f"r{n}")
    publishers = [
        Publisher(f"p{n}", draw(switch), 1.0, draw(filters)) for n in range(draw(st.integers(1, 3)))
    ]
    subscribers = [Subscriber(f"s{n}", draw(switch), draw(filters)) for n in range(draw(st.integers(1, 4)))]
    problem = problem_of(SwitchNetwork.of(links), RouteWorkload(tuple(publishers), tuple(subscribers)))
    return problem, used_edges(problem)


def ways(problem: Problem) -> "nx.DiGraph[str]":
    graph: nx.DiGraph[str] = nx.DiGraph()
    for number, edge in enumerate(problem.network.edges):
        graph.add_edge(edge.source, edge.target, number=number)
    return graph


def on_the_way(problem: Problem, publisher: Publisher, subscriber: Subscriber) -> list[int]:
    graph = ways(problem)
    stops = nx.shortest_path(graph, publisher.switch, subscriber.switch)
    return [graph.edges[hop]["number"] for hop in nx.utils.pairwise(stops)]


def used_edges(problem: Problem) -> Tree:
    hosts = problem.workload
    return frozenset(
        e for p in hosts.publishers for s in hosts.subscribers for e in on_the_way(problem, p, s)
    )


def matches(point: str, expressions: tuple[str, ...]) -> bool:
    return any(point.startswith(dz) for dz in expressions)


def expected(problem: Problem, tree: Tree, publishers: list[Publisher], region: DzSet) -> dict[int, set[str]]:
    needed: dict[int, set[str]] = {edge: set() for edge in tree}
    for publisher in publishers:
        for subscriber in problem.workload.subscribers:
            for edge in on_the_way(problem, publisher, subscriber):
                needed[edge] |= {
                    point
                    for point in POINTS
                    if point in region
                    and matches(point, publisher.advertisement)
                    and matches(point, subscriber.subscription)
                }
    return needed


def points_of(part: DzSet) -> set[str]:
    return {point for point in POINTS if point in part}


@settings(max_examples=60, deadline=None)
@given(on_trees(), filters.map(DzSet))
def test_one_publishers_filters_hold_exactly_what_is_wanted_behind(
    drawn: tuple[Problem, Tree], region: DzSet
) -> None:
    problem, _ = drawn
    publisher = problem.workload.publishers[0]
    tree = frozenset(e for s in problem.workload.subscribers for e in on_the_way(problem, publisher, s))
    found = embed(problem, Content((0,), region), tree, RouteSettings())
    assert {edge: points_of(part) for edge, part in found.items()} == expected(
        problem, tree, [publisher], region
    )


@settings(max_examples=60, deadline=None)
@given(on_trees(), filters.map(DzSet))
def test_a_shared_trees_filters_hold_what_goes_from_before_to_behind(
    drawn: tuple[Problem, Tree], region: DzSet
) -> None:
    problem, tree = drawn
    everyone = tuple(range(len(problem.workload.publishers)))
    found = embed(problem, Content(everyone, region), tree, RouteSettings())
    wanted = expected(problem, tree, list(problem.workload.publishers), region)
    assert {edge: points_of(part) for edge, part in found.items()} == wanted


def test_no_edges_no_filters() -> None:
    network = SwitchNetwork.of([("a", "b")])
    workload = RouteWorkload((Publisher("p", "a", 1.0, ("0",)),), (Subscriber("s", "a", ("0",)),))
    assert (
        embed(problem_of(network, workload), Content((0,), DzSet(["0"])), frozenset(), RouteSettings()) == {}
    )


def test_edges_in_a_circle_are_refused() -> None:
    network = SwitchNetwork.of([("a", "b"), ("b", "c"), ("c", "a")])
    workload = RouteWorkload((Publisher("p", "a", 1.0, ("0",)),), (Subscriber("s", "c", ("0",)),))
    with pytest.raises(ValueError, match="cycle"):
        embed(
            problem_of(network, workload), Content((0,), DzSet(["0"])), frozenset((0, 2, 4)), RouteSettings()
        )
