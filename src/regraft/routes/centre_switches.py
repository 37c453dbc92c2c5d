"""Paths by way of centre switches (Content routes §5.1.5, (5.41)–(5.42)).

Every path from a publisher to a subscriber leads through a centre, so paths by way of one centre form no
cycle. The first centre is the switch from which all roots and terminals are nearest; further ones are
added while that saves weight, up to a number, and every demand takes the centre that is cheapest for it.
"""

from collections.abc import Sequence

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.path_search import path_to, search
from regraft.routes.path_trees import as_tree
from regraft.routes.problem import Cycle, Demand, Graph, Path
from regraft.routes.settings import Settings
from regraft.routes.shared_tree import shared_trees


def through_centres(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: Settings
) -> list[Tree | None]:
    """Each demand by way of its best centre. Kind "subgraph"."""
    if not demands:
        return []
    paths = {vertex: search(graph, vertex) for vertex in range(graph.vertices)}
    centres = choose_centres(graph, demands, paths, settings.centres)

    def one(demand: Demand) -> Tree | None:
        trees = [tree for centre in centres if (tree := _through(graph, demand, centre, paths)) is not None]
        return shorten(graph, demand, min(trees, key=graph.weigh)) if trees else None

    return [
        one(demand) if len(demand.roots) == 1 else shared_trees(graph, demand, forbidden, one)
        for demand in demands
    ]


def choose_centres(
    graph: Graph, demands: Sequence[Demand], paths: dict[int, list[int]], most: int
) -> list[int]:
    """One centre after another, each where it saves most; none that saves nothing."""
    trees = [
        [_through(graph, demand, centre, paths) for centre in range(graph.vertices)] for demand in demands
    ]
    costs = [
        [demand.rate * graph.weigh(tree) if tree is not None else float("inf") for tree in each]
        for demand, each in zip(demands, trees, strict=True)
    ]
    centres: list[int] = []
    now = [float("inf")] * len(demands)
    while len(centres) < most:
        totals = [
            sum(min(before, cost[centre]) for before, cost in zip(now, costs, strict=True))
            for centre in range(graph.vertices)
        ]
        best = min(range(graph.vertices), key=lambda centre: totals[centre])
        if centres and totals[best] >= sum(now) - 1e-9:
            break
        centres.append(best)
        now = [min(before, cost[best]) for before, cost in zip(now, costs, strict=True)]
    return centres


def _through(graph: Graph, demand: Demand, centre: int, paths: dict[int, list[int]]) -> Tree | None:
    """The shortest path to the centre and the shortest paths from there."""
    root = demand.roots[0]
    head = path_to(graph, paths[root], root, centre)
    if head is None:
        return None
    whole: list[Path] = [head] if head else []
    for terminal in demand.terminals:
        tail = path_to(graph, paths[centre], centre, terminal)
        if tail is None:
            return None
        whole.append(head + tail)
    tree = as_tree(graph, root, whole)
    ends = {root, *demand.terminals}
    # The way to the centre is no end in itself: what lies behind the last terminal is dropped.
    return _pruned(graph, tree, ends)


def _pruned(graph: Graph, tree: Tree, ends: set[int]) -> Tree:
    edges = set(tree)
    while True:
        sources = {graph.source_list[edge] for edge in edges}
        dead = {e for e in edges if graph.target_list[e] not in sources and graph.target_list[e] not in ends}
        if not dead:
            return frozenset(edges)
        edges -= dead
