"""Few flows: wider filters inside, the same deliveries; limits that cannot hold are proven."""

from collections.abc import Mapping

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.dz import DzSet
from regraft.model.routes import Entry, Publisher, RouteLimits, Routes, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes.check import Checked, check
from regraft.routes.embedding import embed
from regraft.routes.embedding_flows import embed_few, flow_conflict
from regraft.routes.interface import EmbedFilters, Tree
from regraft.routes.least_table import least_table
from regraft.routes.problem import Content, Problem, problem_of
from regraft.routes.settings import RouteSettings

POINTS = [format(number, "04b") for number in range(16)]
filters = st.lists(st.text("01", min_size=1, max_size=4), min_size=1, max_size=3).map(tuple)


@st.composite
def workloads(draw: st.DrawFn) -> tuple[SwitchNetwork, RouteWorkload]:
    size = draw(st.integers(2, 6))
    links = [(f"r{draw(st.integers(0, n - 1))}", f"r{n}") for n in range(1, size)]
    switch = st.integers(0, size - 1).map(lambda n: f"r{n}")
    publishers = [Publisher(f"p{n}", draw(switch), 1.0, draw(filters)) for n in range(2)]
    subscribers = [Subscriber(f"s{n}", draw(switch), draw(filters)) for n in range(draw(st.integers(1, 5)))]
    return SwitchNetwork.of(links), RouteWorkload(tuple(publishers), tuple(subscribers))


def tree_of(problem: Problem, publishers: tuple[int, ...]) -> Tree:
    """In a network that is a tree there is one way from each publisher to each subscriber."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(problem.graph.vertices))
    ends = zip(problem.graph.source_list, problem.graph.target_list, strict=True)
    for number, (source, target) in enumerate(ends):
        graph.add_edge(source, target, number=number)
    return frozenset(
        graph.edges[hop]["number"]
        for publisher in publishers
        for at in problem.subscriber_at
        for hop in nx.utils.pairwise(nx.shortest_path(graph, problem.publisher_at[publisher], at))
    )


def entries(
    problem: Problem, publishers: tuple[int, ...], filters: Mapping[int, DzSet], name: str | None
) -> dict[str, list[Entry]]:
    """Point by point: what comes to a switch leaves by the edges whose filters hold it."""
    graph, hosts = problem.graph, problem.workload.subscribers
    tables: dict[str, list[Entry]] = {}
    for vertex, switch in enumerate(problem.network.switches):
        said = [problem.advertised[each] for each in publishers if problem.publisher_at[each] == vertex]
        coming = said + [part for edge, part in filters.items() if graph.target_list[edge] == vertex]
        actions: dict[tuple[tuple[int, ...], tuple[str, ...]], list[str]] = {}
        for point in POINTS:
            if any(point in part for part in coming):
                out = tuple(e for e in graph.leaving[vertex] if e in filters and point in filters[e])
                deliver = tuple(
                    s.id for s in hosts if s.switch == switch and point.startswith(s.subscription)
                )
                actions.setdefault((out, deliver), []).append(point)
        actions.pop(((), ()), None)
        table = least_table([(DzSet(points), action) for action, points in actions.items()])
        tables[switch] = [Entry(dz, name, *(action or ((), ()))) for dz, action in table]
    return tables


def judged(problem: Problem, embedding: EmbedFilters, shared: bool) -> Checked:
    """Tables from these filters, one content per publisher or one for all, and what the judge says."""
    everyone = tuple(range(len(problem.advertised)))
    tables: dict[str, list[Entry]] = {switch: [] for switch in problem.network.switches}
    for publishers in [everyone] if shared else [(each,) for each in everyone]:
        region = DzSet(dz for each in publishers for dz in problem.advertised[each])
        tree, content = tree_of(problem, publishers), Content(publishers, region)
        name = None if shared else problem.workload.publishers[publishers[0]].id
        found = entries(problem, publishers, embedding(problem, content, tree, RouteSettings()), name)
        for switch, table in found.items():
            tables[switch] += table
    finished = {switch: tuple(table) for switch, table in tables.items()}
    return check(Routes(problem.network, problem.workload, "filter" if shared else "publisher", finished))


@pytest.mark.parametrize("shared", [False, True])
@settings(max_examples=40, deadline=None)
@given(workloads())
def test_wider_filters_deliver_the_same(
    shared: bool, given_parts: tuple[SwitchNetwork, RouteWorkload]
) -> None:
    problem = problem_of(*given_parts)
    few, exact = judged(problem, embed_few, shared), judged(problem, embed, shared)
    assert few.faults == exact.faults == []
    assert few.deliveries == pytest.approx(exact.deliveries)
    assert exact.false_positives == pytest.approx(0.0)
    assert few.data_rate == pytest.approx(exact.data_rate + few.false_positives)
    if shared:  # one table for all: nothing else decides its size
        assert few.flows <= exact.flows


@settings(max_examples=40, deadline=None)
@given(workloads())
def test_filters_hold_at_least_what_is_wanted_behind_and_no_more_than_what_comes(
    given_parts: tuple[SwitchNetwork, RouteWorkload],
) -> None:
    problem = problem_of(*given_parts)
    tree, content = tree_of(problem, (0,)), Content((0,), problem.advertised[0])
    wide, exact = (
        embed_few(problem, content, tree, RouteSettings()),
        embed(problem, content, tree, RouteSettings()),
    )
    for edge in tree:
        assert wide[edge].covers(exact[edge])
        assert problem.advertised[0].covers(wide[edge])


NO_LIMITS = RouteLimits()


def scattered(limits: RouteLimits = NO_LIMITS, second: str = "d") -> Problem:
    """Two subscribers behind a fork who want every fourth sixteenth, in turn: exact filters are long."""
    network = SwitchNetwork.of([("a", "b"), ("b", "c"), ("b", "d")])
    even = tuple(format(number, "04b") for number in range(0, 16, 4))
    odd = tuple(format(number, "04b") for number in range(2, 16, 4))
    hosts = (Subscriber("s", "c", even), Subscriber("t", second, odd))
    return problem_of(network, RouteWorkload((Publisher("p", "a", 1.0, ("",)),), hosts, limits))


def test_a_scattered_interest_takes_far_fewer_flows() -> None:
    few, exact = judged(scattered(), embed_few, True), judged(scattered(), embed, True)
    assert few.faults == []
    assert few.flows <= 0.75 * exact.flows
    assert few.false_positives > 0


def test_a_limit_that_subscribers_alone_break_is_proven() -> None:
    no = flow_conflict(scattered(RouteLimits(flows=5), second="c"))
    assert no is not None
    assert (no.limit, no.where, no.proven) == ("flows", "c", True)
    assert "at least 6 flows" in no.reason  # one half of the space each for s, four exceptions for t
    assert flow_conflict(scattered(RouteLimits(flows=6), second="c")) is None
    assert flow_conflict(scattered(second="c")) is None


def test_what_switches_before_can_filter_is_no_conflict() -> None:
    assert flow_conflict(scattered(RouteLimits(flows=2))) is None


@settings(max_examples=40, deadline=None)
@given(workloads(), st.integers(0, 3))
def test_a_proven_conflict_is_one_for_exact_and_for_wide_filters(
    given_parts: tuple[SwitchNetwork, RouteWorkload], limit: int
) -> None:
    network, workload = given_parts
    workload = RouteWorkload(workload.publishers, workload.subscribers, RouteLimits(flows=limit))
    problem = problem_of(network, workload)
    no = flow_conflict(problem)
    if no is not None:
        for embedding in (embed, embed_few):
            for shared in (False, True):
                assert judged(problem, embedding, shared).flows_at[str(no.where)] > limit
