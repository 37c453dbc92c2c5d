"""Fragments that may give up edges between them (Content routes §5.3.3, §6.6).

With fixed intermediate points (`fragmentation`) a tree that enters a fragment in two places keeps both, so
little is left to gain. Here a fragment is offered the chains of the tree outside it as links with their
weight: a chain is all edges between the fragment and the next switch that the tree needs or branches at. What
lies beyond is one intermediate point, publisher and subscriber at once. The best tree of such a fragment is
the best change of the tree inside the fragment and directly around it, with everything else as it is.

Fragments are optimised at the same time and merged into the tree one after the other, each only if the result
is a tree and costs less: two fragments could each give up a chain and rely on the other to keep it. This is
for two-way cables with one weight; other graphs are cut with fixed points.
"""

from collections.abc import Sequence

from regraft.routes.cycles import cycles_in
from regraft.routes.fragmentation import in_parts
from regraft.routes.interface import Fragment, Fragmentation, Tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.shared_tree import directed, shared_cost
from regraft.routes.steiner_graph import is_symmetric

Near = dict[int, list[tuple[int, int]]]
"""Switch -> its neighbours in a tree, each with an edge of the cable."""

SAVES = 1e-9


def exchange(
    graph: Graph, demands: Sequence[Demand], trees: Sequence[Tree], size: int, turn: int = 0
) -> Fragmentation:
    """Fragments of at most `size` switches each, with the chains outside them. Kind "fragmentation"."""
    if not is_symmetric(graph) or any(cycles_in(graph, tree) for tree in trees):
        return in_parts(graph, demands, trees, size, turn)
    block = grown(graph, size, turn)
    members: dict[int, set[int]] = {}
    for vertex, here in enumerate(block):
        members.setdefault(here, set()).add(vertex)
    fragments = []
    for number, (demand, tree) in enumerate(zip(demands, trees, strict=True)):
        near = _near(graph, tree)
        for here in sorted({block[vertex] for vertex in near}):
            fragment = _around(graph, demand, near, members[here])
            if fragment is not None:
                fragments.append(fragment._replace(part_of=(number,)))
    return Fragmentation(tuple(fragments), (frozenset(),) * len(demands), exchange=True)


def exchanged(
    graph: Graph,
    demand: Demand,
    tree: Tree,
    fragments: Sequence[Fragment],
    found: Sequence[Sequence[Tree | None]],
) -> Tree:
    """The tree with the changes that its fragments found, as far as they make it cheaper."""
    first = len(graph.sources)
    cables, now, cost = graph.cable_list, tree, shared_cost(graph, demand, tree)
    for fragment, (new,) in zip(fragments, found, strict=True):
        if new is None:
            continue
        gone = {cables[edge] for edge in tree if fragment.graph.allowed[edge]}
        gone |= {cables[edge] for chain in fragment.chains for edge in chain}
        come = {edge for edge in new if edge < first}
        come |= {edge for each in new if each >= first for edge in fragment.chains[(each - first) // 2]}
        taken = {cables[edge]: edge for edge in now if cables[edge] not in gone}
        taken |= {cables[edge]: edge for edge in come}
        offer = directed(graph, demand, taken)
        if offer is None or cycles_in(graph, offer):
            continue
        if (less := shared_cost(graph, demand, offer)) < cost - SAVES:
            now, cost = offer, less
    return now


def grown(graph: Graph, size: int, turn: int) -> list[int]:
    """Vertex -> its block: connected neighbours, grown from other switches in each turn."""
    block, done = [-1] * graph.vertices, 0
    near: list[list[int]] = [[] for _ in range(graph.vertices)]
    for edge in graph.edges.tolist():
        near[graph.source_list[edge]].append(graph.target_list[edge])
    for place in range(graph.vertices):
        start = (place + turn * max(1, size // 2)) % graph.vertices
        if block[start] >= 0:
            continue
        members = [start]
        block[start] = done
        for vertex in members:
            for after in near[vertex]:
                if block[after] < 0 and len(members) < size:
                    block[after] = done
                    members.append(after)
        done += 1
    return block


def _near(graph: Graph, tree: Tree) -> Near:
    near: Near = {}
    for edge in {graph.cable_list[edge]: edge for edge in sorted(tree)}.values():
        one, other = graph.source_list[edge], graph.target_list[edge]
        near.setdefault(one, []).append((other, edge))
        near.setdefault(other, []).append((one, edge))
    return near


def _around(graph: Graph, demand: Demand, near: Near, members: set[int]) -> Fragment | None:
    """The switches of a block and the chains outside it; None if there is nothing to join."""
    chains, ends = _chains(graph, demand, near, members)
    beyond = _beyond(graph, near, members, chains, ends)
    at = {vertex: vertex for vertex in members} | beyond
    if not {*demand.roots, *demand.terminals} <= at.keys():  # the current tree does not reach all of them
        return None
    rates: dict[int, float] = {}
    for root, rate in zip(demand.roots, demand.rates or (demand.rate,) * len(demand.roots), strict=True):
        rates[at[root]] = rates.get(at[root], 0.0) + rate
    terminals = sorted({at[terminal] for terminal in demand.terminals})
    if len({*rates, *terminals}) < 2:
        return None
    links = [(one, at[other], graph.weigh(chain)) for (one, other), chain in zip(ends, chains, strict=True)]
    roots = tuple(sorted(rates))
    part = Demand(roots, tuple(terminals), demand.rate, (), tuple(rates[root] for root in roots))
    inside = graph.among(members).with_links(links)
    return Fragment(inside, (part,), (0,), tuple(map(frozenset, chains)))


def _chains(
    graph: Graph, demand: Demand, near: Near, members: set[int]
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """The chains out of the block, up to a switch that must stay or back to the block; and their ends."""
    needed = {*demand.roots, *demand.terminals}
    chains: list[list[int]] = []
    ends: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in sorted(members & near.keys()):
        for after, first in near[start]:
            if after in members or first in seen:
                continue
            at, way = after, [first]
            while at not in members and at not in needed and len(near[at]) == 2:
                at, edge = next(each for each in near[at] if each[1] != way[-1])
                way.append(edge)
            seen.update(way)
            chains.append(way)
            ends.append((start, at))
    return chains, ends


def _beyond(
    graph: Graph,
    near: Near,
    members: set[int],
    chains: Sequence[Sequence[int]],
    ends: Sequence[tuple[int, int]],
) -> dict[int, int]:
    """Switch outside the block -> the intermediate point that stands for everything connected to it there."""
    used = {edge for chain in chains for edge in chain}
    beyond: dict[int, int] = {}
    for _, end in ends:
        if end in members or end in beyond:
            continue
        beyond[end], open_vertices = end, [end]
        for vertex in open_vertices:
            for after, edge in near[vertex]:
                if edge not in used and after not in beyond:
                    beyond[after] = end
                    open_vertices.append(after)
    return beyond
