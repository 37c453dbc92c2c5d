"""One tree for several publishers: used in both directions, so that tables need not look at the publisher.

If tables match on the dz-expression alone, the cables that events of a part of the space use must form no
cycle (Content routes §5.3.2). Then a switch forwards an event by all other cables of the tree behind which a
subscriber wants it, whichever publisher sent it. The core of the tree joins the terminals; each publisher's
switch is joined to the core by its shortest path, which only its own events cross.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from regraft.routes.hop_limits import hop_tree
from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.steiner_graph import Key, prepared

MOST_CORES = 6
"""The most cores that are tried: the terminals alone, with one publisher each, and with all publishers."""


def tree_of_each(
    graph: Graph,
    demands: Sequence[Demand],
    forbidden: Sequence[Cycle],
    one: Callable[[Demand], Tree | None],
) -> list[Tree | None]:
    """For each demand the tree that `one` makes if it has a single root, else the best shared tree."""
    return [
        one(demand) if len(demand.roots) == 1 else shared_trees(graph, demand, forbidden, one)
        for demand in demands
    ]


def shared_trees(
    graph: Graph, demand: Demand, forbidden: Sequence[Cycle], one: Callable[[Demand], Tree | None]
) -> Tree | None:
    """The best tree around the cores that `one` makes for single roots; None if no tree keeps the limits."""
    two_way = _two_way(graph)
    best: tuple[float, Tree] | None = None
    seen: set[frozenset[int]] = set()
    for core in _cores(two_way, demand, one):
        cables = attached(two_way, demand, core)
        if cables is None or (known := frozenset(cables)) in seen:
            continue
        seen.add(known)
        tree = directed(two_way, demand, cables)
        if tree is None or any(cycle <= tree for cycle in forbidden):
            continue
        cost = shared_cost(two_way, demand, tree)
        if best is None or cost < best[0]:
            best = (cost, tree)
    return best[1] if best else None


def too_costly(graph: Graph, demand: Demand, tree: Tree, tolerance: float) -> bool:
    """Whether the shared tree costs more than this share on top of separate trees for the publishers."""
    if len(demand.roots) < 2:
        return False
    rates = demand.rates or (demand.rate,) * len(demand.roots)
    steiner = prepared(graph)
    alone = sum(
        rate * steiner.solve(root, demand.terminals).cost
        for root, rate in zip(demand.roots, rates, strict=True)
    )
    return shared_cost(graph, demand, tree) > (1 + tolerance) * alone


def shared_cost(graph: Graph, demand: Demand, tree: Tree) -> float:
    """Σ rate · weight over the roots and the edges that their events cross."""
    rates = demand.rates or (demand.rate,) * len(demand.roots)
    return sum(
        rate * graph.weigh(edge for edge, _, _ in reached(graph, tree, root))
        for root, rate in zip(demand.roots, rates, strict=True)
    )


def reached(graph: Graph, tree: Tree, root: int) -> list[tuple[int, int, int | None]]:
    """The edges that events from the root cross, each with its number in the path and the edge before it.

    Events leave a switch by every edge of the tree except over the cable they came by.
    """
    leaving: dict[int, list[int]] = {}
    for edge in tree:
        leaving.setdefault(graph.source_list[edge], []).append(edge)
    cables, targets = graph.cable_list, graph.target_list
    crossed: list[tuple[int, int, int | None]] = [(edge, 1, None) for edge in leaving.get(root, ())]
    for edge, depth, _ in crossed:
        if depth > len(tree):
            raise ValueError("events would run in a circle: cycle detection must come first")
        cable = cables[edge]
        after = leaving.get(targets[edge], ())
        crossed += [(each, depth + 1, edge) for each in after if cables[each] != cable]
    return crossed


def directed(graph: Graph, demand: Demand, cables: dict[int, int]) -> Tree | None:
    """The edges that the demand needs of a tree of cables (cable -> one of its edges); None if the tree does
    not reach a terminal from each root within its limit."""
    opposite = graph.opposite
    near: dict[int, list[int]] = {}
    for edge in cables.values():
        for each in (edge, opposite[edge]):
            near.setdefault(graph.source_list[each], []).append(each)
    needed: set[int] = set()
    for root in demand.roots:
        above, hops, crossed = {root: -1}, {root: 0}, set[int]()
        open_vertices = [root]
        for vertex in open_vertices:
            for edge in near.get(vertex, ()):
                after = graph.target_list[edge]
                if after not in above:
                    above[after], hops[after] = edge, hops[vertex] + 1
                    open_vertices.append(after)
        for place, terminal in enumerate(demand.terminals):
            limit = demand.hops_to(place)
            if terminal not in above or (limit is not None and hops[terminal] > limit):
                return None
            at = terminal
            while above[at] >= 0 and above[at] not in crossed:
                crossed.add(above[at])
                at = graph.source_list[above[at]]
        needed |= crossed
    return frozenset(needed)


@lru_cache(maxsize=8)
def _two_way(graph: Graph) -> Graph:
    return graph.only(edge for edge in graph.edges.tolist() if graph.opposite[edge] >= 0)


def _cores(graph: Graph, demand: Demand, one: Callable[[Demand], Tree | None]) -> list[set[int]]:
    """Sets of edges that join the terminals, alone or with publishers. With path limits also stars, whose
    paths are short but which are not light."""
    trees = [one(Demand((root,), terminals)) for root, terminals in _core_keys(demand)]
    cores = [set(tree) for tree in dict.fromkeys(tree for tree in trees if tree is not None)]
    if any(limit is not None for limit in demand.hops):
        all_ends = (*demand.terminals, *demand.roots)
        cores += [_star(graph, centre, all_ends) for centre in range(graph.vertices)]
    return cores


def single_roots(demand: Demand) -> list[Key]:
    """Root and terminals of all single-root trees that are needed for a demand and for its lower bound."""
    alone = [(root, demand.terminals) for root in demand.roots]
    return alone if len(alone) == 1 else alone + _core_keys(demand)


def _core_keys(demand: Demand) -> list[Key]:
    rates = demand.rates or (demand.rate,) * len(demand.roots)
    loudest = [root for _, root in sorted(zip(rates, demand.roots, strict=True), reverse=True)]
    terminals = demand.terminals
    all_ends = tuple(dict.fromkeys((*terminals, *demand.roots)))
    return [
        (terminals[0] if terminals else loudest[0], terminals),
        *((root, terminals) for root in loudest[: MOST_CORES - 2]),
        (loudest[0], all_ends),
    ]


def _star(graph: Graph, centre: int, ends: Sequence[int]) -> set[int]:
    """Paths of the fewest edges from a centre to all ends: the last resort for path limits."""
    above, _ = hop_tree(graph, centre)
    edges: set[int] = set()
    for end in ends:
        at = end
        while at != centre and above[at] >= 0:
            edges.add(above[at])
            at = graph.source_list[above[at]]
    return edges


def attached(graph: Graph, demand: Demand, core: set[int]) -> dict[int, int] | None:
    """The cables of the core and of each root's shortest path to it; None if they form no two-way tree."""
    if any(graph.opposite[edge] < 0 for edge in core):  # a one-way cable cannot be used in both directions
        return None
    cables = {graph.cable_list[edge]: edge for edge in core}
    inside = {graph.source_list[edge] for edge in core} | {graph.target_list[edge] for edge in core}
    inside = inside or set(demand.terminals[:1])
    if len(cables) != len(inside) - 1:  # the core itself is no tree
        return None
    _, onwards, _ = nearest_of(graph, inside)
    for root in demand.roots:
        at = root
        while at not in inside:
            if onwards[at] < 0:
                return None
            cables[graph.cable_list[onwards[at]]] = onwards[at]
            at = graph.target_list[onwards[at]]
    return cables


def nearest_of(graph: Graph, targets: Iterable[int]) -> tuple[list[float], list[int], list[int]]:
    """For each vertex the distance to its nearest target, the first edge towards it, and which it is."""
    distance = [float("inf")] * graph.vertices
    towards, nearest = [-1] * graph.vertices, [-1] * graph.vertices
    heap = [(0.0, target) for target in sorted(targets)]
    for _, target in heap:
        distance[target], nearest[target] = 0.0, target
    while heap:
        far, vertex = heapq.heappop(heap)
        if far > distance[vertex]:
            continue
        for edge in graph.entering[vertex]:
            before, further = graph.source_list[edge], far + graph.weight_list[edge]
            if further < distance[before]:
                distance[before], towards[before], nearest[before] = further, edge, nearest[vertex]
                heapq.heappush(heap, (further, before))
    return distance, towards, nearest
