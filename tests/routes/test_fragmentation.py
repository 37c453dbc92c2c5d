"""Fragments: whatever trees the parts get, together with the fixed edges they serve the whole."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.model.switch_network import SwitchNetwork
from regraft.routes.cycles import cycles_in
from regraft.routes.fragmentation import blocks, in_parts, whole
from regraft.routes.interface import Fragment, Tree
from regraft.routes.problem import Demand, Graph, graph_of

SWITCHES = 14


def network(seed: int) -> Graph:
    shape = nx.connected_watts_strogatz_graph(SWITCHES, 4, 0.4, seed=seed)
    return graph_of(
        SwitchNetwork.of(((f"r{a}", f"r{b}") for a, b in shape.edges), map("r{}".format, range(14)))
    )


def directed(graph: Graph, draw: np.random.Generator) -> "nx.DiGraph[int]":
    """The usable edges with random weights."""
    shape: nx.DiGraph[int] = nx.DiGraph()
    for edge in graph.edges.tolist():
        shape.add_edge(
            graph.source_list[edge], graph.target_list[edge], number=edge, weight=float(draw.random())
        )
    return shape


def tree_by_lot(graph: Graph, demand: Demand, draw: np.random.Generator) -> Tree:
    """One root: shortest paths under random weights. Several: both directions of a random spanning tree."""
    shape = directed(graph, draw)
    shape.add_nodes_from((*demand.roots, *demand.terminals))
    if len(demand.roots) == 1:
        paths = nx.single_source_dijkstra_path(shape, demand.roots[0])
        hops = [hop for end in demand.terminals for hop in nx.utils.pairwise(paths[end])]
    else:
        spanning = nx.minimum_spanning_tree(shape.to_undirected())
        ends = [(root, end) for root in demand.roots for end in demand.terminals]
        hops = [hop for pair in ends for hop in nx.utils.pairwise(nx.shortest_path(spanning, *pair))]
    return frozenset(shape.edges[hop]["number"] for hop in hops)


def depths(graph: Graph, tree: Tree, root: int) -> dict[int, int]:
    """Follow the events; an event that comes to a switch twice is a failure."""
    seen, copies = {root: 0}, [(root, -1)]
    for at, cable in copies:
        for edge in tree:
            if graph.source_list[edge] == at and graph.cable_list[edge] != cable:
                after = graph.target_list[edge]
                assert after not in seen
                seen[after] = seen[at] + 1
                copies.append((after, graph.cable_list[edge]))
    return seen


@st.composite
def tasks(draw: st.DrawFn, roots: int) -> tuple[Graph, Demand, np.random.Generator]:
    seed = draw(st.integers(0, 10_000))
    switches = st.integers(0, SWITCHES - 1)
    begin = draw(st.lists(switches, min_size=roots, max_size=roots, unique=True))
    ends = draw(st.lists(switches, min_size=1, max_size=6, unique=True))
    return network(seed), Demand(tuple(begin), tuple(ends)), np.random.default_rng(seed)


def joined(graph: Graph, demand: Demand, tree: Tree, draw: np.random.Generator, size: int) -> Tree:
    cut = in_parts(graph, [demand], [tree], size)
    parts = {edge for fragment in cut.fragments for edge in solved(fragment, draw)}
    return frozenset(parts | cut.fixed[0])


def solved(fragment: Fragment, draw: np.random.Generator) -> set[int]:
    return {edge for part in fragment.demands for edge in tree_by_lot(fragment.graph, part, draw)}


@pytest.mark.parametrize("roots", [1, 3])
@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(1, 9))
def test_any_trees_of_the_parts_join_to_a_tree_of_the_whole(
    roots: int, data: st.DataObject, size: int
) -> None:
    graph, demand, draw = data.draw(tasks(roots))
    new = joined(graph, demand, tree_by_lot(graph, demand, draw), draw, size)
    assert cycles_in(graph, new, demand.roots) == []
    for root in demand.roots:
        assert set(demand.terminals) <= set(depths(graph, new, root))


@settings(max_examples=50, deadline=None)
@given(tasks(1), st.integers(2, 9), st.integers(0, 3))
def test_parts_that_keep_their_path_limits_keep_those_of_the_whole(
    task: tuple[Graph, Demand, np.random.Generator], size: int, more: int
) -> None:
    graph, demand, draw = task
    tree = tree_by_lot(graph, demand, draw)
    now = depths(graph, tree, demand.roots[0])
    demand = demand._replace(hops=tuple(now[end] + more for end in demand.terminals))
    cut = in_parts(graph, [demand], [tree], size)
    chosen = set(cut.fixed[0])
    for fragment in cut.fragments:
        for part in fragment.demands:
            tries: list[Tree] = [frozenset(tree & set(fragment.graph.edges.tolist()))]
            tries += [tree_by_lot(fragment.graph, part, draw) for _ in range(5)]
            fitting = [each for each in tries if within(fragment.graph, part, each)]
            assert fitting  # what is used now is within the limits of the part
            longest: Tree = max(fitting, key=lambda each: depth_sum(graph, each, part.roots[0]))
            chosen |= longest
    after = depths(graph, frozenset(chosen), demand.roots[0])
    for end, limit in zip(demand.terminals, demand.hops, strict=True):
        assert limit is not None
        assert after[end] <= limit


@settings(max_examples=50, deadline=None)
@given(tasks(1), st.integers(2, 9), st.integers(0, 9))
def test_path_limits_are_shared_out_without_remainder_to_spend_twice(
    task: tuple[Graph, Demand, np.random.Generator], size: int, more: int
) -> None:
    """Even if every part uses as many edges as its limit allows."""
    graph, demand, draw = task
    tree = tree_by_lot(graph, demand, draw)
    now = depths(graph, tree, demand.roots[0])
    demand = demand._replace(hops=tuple(now[end] + more for end in demand.terminals))
    cut = in_parts(graph, [demand], [tree], size)
    parts = {part.roots[0]: part for fragment in cut.fragments for part in fragment.demands}
    above = {graph.target_list[edge]: edge for edge in tree}
    for terminal, limit in zip(demand.terminals, demand.hops, strict=True):
        assert limit is not None
        edges, at, end = 0, terminal, None
        while at != demand.roots[0]:  # backwards: fixed edges are one each, a part takes its limit
            end = at if end is None else end
            fixed = above[at] in cut.fixed[0]
            at = graph.source_list[above[at]]
            if fixed:
                edges, end = edges + 1, None
            elif at == demand.roots[0] or above[at] in cut.fixed[0]:
                allowed = parts[at].hops[parts[at].terminals.index(end)]
                assert allowed is not None
                edges, end = edges + allowed, None
        assert edges <= limit


def depth_sum(graph: Graph, tree: Tree, root: int) -> int:
    return sum(depths(graph, tree, root).values())


def within(graph: Graph, part: Demand, tree: Tree) -> bool:
    found = depths(graph, tree, part.roots[0])
    limits = zip(part.terminals, part.hops, strict=True)
    return all(end in found and (limit is None or found[end] <= limit) for end, limit in limits)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 14))
def test_blocks_are_small_enough_and_fragments_stay_inside_them(seed: int, size: int) -> None:
    graph, draw = network(seed), np.random.default_rng(seed)
    demands = [Demand((n,), ((n + 5) % SWITCHES, (n + 9) % SWITCHES)) for n in range(4)]
    trees = [tree_by_lot(graph, demand, draw) for demand in demands]
    block = blocks(graph, trees, size)
    assert max(np.bincount(block)) <= size
    cut = in_parts(graph, demands, trees, size)
    for fragment in cut.fragments:
        touched = {
            graph.source_list[edge] if end else graph.target_list[edge]
            for edge in fragment.graph.edges.tolist()
            for end in (0, 1)
        }
        assert len({block[vertex] for vertex in touched}) <= 1
        assert len(fragment.demands) == len(fragment.part_of)
    for number, (tree, fixed) in enumerate(zip(trees, cut.fixed, strict=True)):
        crossing = {e for e in tree if block[graph.source_list[e]] != block[graph.target_list[e]]}
        assert crossing <= fixed <= tree
        changeable = [f.graph for f in cut.fragments for part in f.part_of if part == number]
        for one in range(len(changeable)):
            for other in range(one):
                assert not (changeable[one].allowed & changeable[other].allowed).any()


def test_blocks_are_cut_where_the_network_is_thin() -> None:
    shape = nx.barbell_graph(6, 0)
    graph = graph_of(SwitchNetwork.of((f"{a:02}", f"{b:02}") for a, b in shape.edges))
    names = [int(name) for name in dict.fromkeys(f"{v:02}" for edge in shape.edges for v in edge)]
    block = blocks(graph, [], 6)
    sides: dict[int, set[int]] = {}
    for vertex, each in enumerate(block):
        sides.setdefault(each, set()).add(names[vertex] // 6)
    assert [len(side) for side in sides.values()] == [1, 1]


def test_the_whole_is_one_fragment() -> None:
    graph, demands = network(0), [Demand((0,), (3,)), Demand((1,), (4, 5))]
    cut = whole(graph, demands, [frozenset(), frozenset()], 5)
    assert cut.fragments == (Fragment(graph, tuple(demands), (0, 1)),)
    assert cut.fixed == (frozenset(), frozenset())
