"""A tree for each demand in its own sub graph (Content routes §6.3–§6.6).

Four steps, each for all demands before the next begins, so that each can be spread over processes: select the
sub graphs and cut them into fragments; optimise all fragments of all sub graphs; join the fragments of each;
if several publishers share a tree, look for cycles, and solve again with the cycles as constraints.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.routes.cycles import cycles_in, without_cycles
from regraft.routes.fragment_exchange import exchanged
from regraft.routes.interface import Fragment, Fragmentation, Tree
from regraft.routes.parallel import PROGRAMS, fewest_to_send, map_over_pool, optimise_over_pool
from regraft.routes.path_trees import as_tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import shared_trees
from regraft.routes.stopwatch import Stopwatch

Flags = NDArray[np.bool_]


class TreeTask(NamedTuple):
    """A demand, and the edges that its publishers use now (§6.3 looks around them)."""

    demand: Demand
    used: tuple[int, ...] = ()
    current: Tree | None = None
    """Its current tree, if it has one already."""


class Cut(NamedTuple):
    """A sub graph (the edges that it may use), the current tree in it, and its fragments."""

    allowed: Flags
    current: Tree
    fragmentation: Fragmentation


class Workers(NamedTuple):
    """The pool that work is spread over, and the stopwatch for it."""

    watch: Stopwatch
    pool: Executor | None
    processes: int


def trees_for(
    graph: Graph, tasks: Sequence[TreeTask], settings: RouteSettings, round: int, workers: Workers
) -> list[Tree | None]:
    """The tree of each task; None if there is none within its limits."""
    if settings.selection == "all" and settings.fragmentation == "none":
        with workers.watch.timing("subgraph"):
            found = optimise_over_pool(graph, [task.demand for task in tasks], settings, workers.pool)
        allowed = [graph.allowed] * len(tasks)
    else:
        cuts = map_over_pool(partial(_cut, graph, settings, round), tasks, *workers, stage="selection")
        pieces = [fragment for cut in cuts for fragment in cut.fragmentation.fragments]
        optimised = map_over_pool(partial(_optimised, settings), pieces, *workers, fewest_to_send(settings))
        results = iter(optimised)
        found = [
            _joined(graph, task.demand, cut, [next(results) for _ in cut.fragmentation.fragments], settings)
            for task, cut in zip(tasks, cuts, strict=True)
        ]
        allowed = [cut.allowed for cut in cuts]
    shared = [
        (around, task.demand, tree)
        for around, task, tree in zip(allowed, tasks, found, strict=True)
        if len(task.demand.roots) > 1 and tree is not None
    ]
    # Looking for cycles is fast; only if programs have to be solved again is the pool worth using.
    elsewhere = workers.pool if settings.subgraph in PROGRAMS else None
    free = iter(
        map_over_pool(
            partial(_free, graph, settings), shared, workers.watch, elsewhere, workers.processes, 2, "cycles"
        )
    )
    return [
        next(free) if len(task.demand.roots) > 1 and tree is not None else tree
        for task, tree in zip(tasks, found, strict=True)
    ]


def _cut(graph: Graph, settings: RouteSettings, round: int, watch: Stopwatch, task: TreeTask) -> Cut:
    """Select the rings around the current paths, and cut them into fragments."""
    current = _current(graph, task.demand, task.used) if task.current is None else task.current
    with watch.timing("selection"):
        select = component("selection", settings.selection)
        around = select(graph, sorted({*task.used, *current}), settings.rings) if current else graph
    with watch.timing("fragmentation"):
        fragment = component("fragmentation", settings.fragmentation)
        cut = fragment(around, [task.demand], [current], settings.fragment_size, round)
    return Cut(around.allowed, current, cut)


def _optimised(settings: RouteSettings, watch: Stopwatch, fragment: Fragment) -> list[Tree | None]:
    with watch.timing("subgraph"):
        trees: list[Tree | None] = component("subgraph", settings.subgraph)(
            fragment.graph, fragment.demands, (), settings
        )
    return trees


def _free(
    whole: Graph, settings: RouteSettings, watch: Stopwatch, shared: tuple[Flags, Demand, Tree]
) -> Tree | None:
    """A tree without cycles in the sub graph or, if that has too few edges for one, in the whole graph."""
    allowed, demand, tree = shared
    everything = np.array_equal(allowed, whole.allowed)
    around = whole if everything else replace(whole, allowed=allowed)
    found = without_cycles(around, demand, tree, settings, watch)
    if found is None and not everything:
        return without_cycles(whole, demand, tree, settings, watch)
    return found


def _joined(
    graph: Graph,
    demand: Demand,
    cut: Cut,
    found: Sequence[Sequence[Tree | None]],
    settings: RouteSettings,
) -> Tree | None:
    """The fragments' trees joined into one; the current tree if that is better."""
    _, current, (fragments, (fixed,), exchange) = cut
    if exchange:
        tree = exchanged(graph, demand, current, fragments, found)
    else:
        edges = {edge for trees in found for tree in trees if tree for edge in tree} | fixed
        tree = frozenset(edges) if len(demand.roots) > 1 else _rooted(graph, demand, edges)
    offers = [offer for offer in (tree, current) if serves(graph, demand, offer)]
    if offers:  # if the fragments have too few edges for a tree, the current one stays
        return min(offers, key=graph.weigh) if len(demand.roots) == 1 else offers[0]
    last: list[Tree | None] = component("subgraph", "steiner")(graph, [demand], (), settings)
    return last[0]


def _current(graph: Graph, demand: Demand, used: Sequence[int]) -> Tree:
    """The current paths from each root to the terminals, over edges in use; new ones where there are none.

    If the paths of several roots form a cycle, the roots cannot share them: then a shared tree is made.
    """
    find = component("paths", "dijkstra")
    within = graph.only(used)

    def one(alone: Demand) -> Tree:
        (root,) = alone.roots
        pairs = [(root, terminal) for terminal in alone.terminals]
        paths = [found or new for found, new in zip(find(within, pairs), find(graph, pairs), strict=True)]
        return as_tree(graph, root, [each[0] for each in paths if each])

    tree = frozenset(edge for root in demand.roots for edge in one(demand._replace(roots=(root,))))
    if len(demand.roots) > 1 and cycles_in(graph, tree):
        return shared_trees(graph, demand, (), one) or tree
    return tree


def _rooted(graph: Graph, demand: Demand, edges: set[int]) -> Tree:
    """The shortest paths within these edges: pieces that were optimised separately may meet twice."""
    within, root = graph.only(edges), demand.roots[0]
    paths = component("paths", "dijkstra")(within, [(root, terminal) for terminal in demand.terminals])
    return as_tree(graph, root, [each[0] for each in paths if each])


def serves(graph: Graph, demand: Demand, tree: Tree) -> bool:
    """Whether every root reaches every terminal within its limit."""
    leaving: dict[int, list[int]] = {}
    for edge in tree:
        leaving.setdefault(graph.source_list[edge], []).append(graph.target_list[edge])
    for root in demand.roots:
        hops, open_vertices = {root: 0}, [root]
        for vertex in open_vertices:
            for after in leaving.get(vertex, ()):
                if after not in hops:
                    hops[after] = hops[vertex] + 1
                    open_vertices.append(after)
        for place, terminal in enumerate(demand.terminals):
            limit = demand.hops_to(place)
            if terminal not in hops or (limit is not None and hops[terminal] > limit):
                return False
    return True
