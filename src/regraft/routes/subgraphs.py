"""A tree for each demand in its own sub graph: rings, fragments, the program, joined again (§6.3–§6.6).

Four steps, each for all demands before the next begins, so that each can be spread over processes: select and
cut the sub graphs; optimise all fragments of all sub graphs; join the fragments of each; where several
publishers share a tree, look for cycles and let them go back into the program.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.routes.cycle_feedback import without_cycles
from regraft.routes.cycles import cycles_in
from regraft.routes.fragment_exchange import exchanged
from regraft.routes.interface import Fragment, Fragmentation, Tree
from regraft.routes.parallel import PROGRAMS, dealt, optimise_in_parts, worth_it
from regraft.routes.path_trees import as_tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import Settings
from regraft.routes.shared_tree import shared_trees
from regraft.routes.stopwatch import Stopwatch

Flags = NDArray[np.bool_]


class Task(NamedTuple):
    """A demand, and the edges that its publishers use now (§6.3 looks around them)."""

    demand: Demand
    used: tuple[int, ...] = ()
    now: Tree | None = None
    """Its tree of now, if it has one already."""


class Cut(NamedTuple):
    """A sub graph (the edges that it may use), the tree of now in it, and its fragments."""

    allowed: Flags
    now: Tree
    fragmentation: Fragmentation


class Spread(NamedTuple):
    """Where the work goes."""

    watch: Stopwatch
    pool: Executor | None
    processes: int


def trees_for(
    graph: Graph, tasks: Sequence[Task], settings: Settings, round: int, spread: Spread
) -> list[Tree | None]:
    """The tree of each task; None if there is none within its limits."""
    if settings.selection == "all" and settings.fragmentation == "none":
        with spread.watch.timing("subgraph"):
            found = optimise_in_parts(graph, [task.demand for task in tasks], settings, spread.pool)
        allowed = [graph.allowed] * len(tasks)
    else:
        cuts = dealt(partial(_cut, graph, settings, round), tasks, *spread, stage="selection")
        pieces = [fragment for cut in cuts for fragment in cut.fragmentation.fragments]
        optimised = dealt(partial(_optimised, settings), pieces, *spread, worth_it(settings))
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
    # To look for cycles takes no time; what they make necessary does, where programs are solved again.
    elsewhere = spread.pool if settings.subgraph in PROGRAMS else None
    free = iter(
        dealt(partial(_free, graph, settings), shared, spread.watch, elsewhere, spread.processes, 2, "cycles")
    )
    return [
        next(free) if len(task.demand.roots) > 1 and tree is not None else tree
        for task, tree in zip(tasks, found, strict=True)
    ]


def _cut(graph: Graph, settings: Settings, round: int, watch: Stopwatch, task: Task) -> Cut:
    """Rings around the paths of now, and fragments."""
    now = _now(graph, task.demand, task.used) if task.now is None else task.now
    with watch.timing("selection"):
        select = component("selection", settings.selection)
        around = select(graph, sorted({*task.used, *now}), settings.rings) if now else graph
    with watch.timing("fragmentation"):
        fragment = component("fragmentation", settings.fragmentation)
        cut = fragment(around, [task.demand], [now], settings.fragment_size, round)
    return Cut(around.allowed, now, cut)


def _optimised(settings: Settings, watch: Stopwatch, fragment: Fragment) -> list[Tree | None]:
    with watch.timing("subgraph"):
        trees: list[Tree | None] = component("subgraph", settings.subgraph)(
            fragment.graph, fragment.demands, (), settings
        )
    return trees


def _free(
    whole: Graph, settings: Settings, watch: Stopwatch, shared: tuple[Flags, Demand, Tree]
) -> Tree | None:
    """Without cycles: in the sub graph, or if it has too few edges for that, in the whole graph."""
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
    settings: Settings,
) -> Tree | None:
    """The fragments' trees as one; the tree of now where they are no better."""
    _, now, (fragments, (fixed,), exchange) = cut
    if exchange:
        tree = exchanged(graph, demand, now, fragments, found)
    else:
        edges = {edge for trees in found for tree in trees if tree for edge in tree} | fixed
        tree = frozenset(edges) if len(demand.roots) > 1 else _rooted(graph, demand, edges)
    offers = [offer for offer in (tree, now) if serves(graph, demand, offer)]
    if offers:  # where parts have too few edges, the paths of now stay
        return min(offers, key=graph.weigh) if len(demand.roots) == 1 else offers[0]
    last: list[Tree | None] = component("subgraph", "steiner")(graph, [demand], (), settings)
    return last[0]


def _now(graph: Graph, demand: Demand, used: Sequence[int]) -> Tree:
    """The paths of now from each root to the terminals, among the edges in use; else new ones.

    Paths of several roots that form a cycle are no tree that these can share: then one of shortest paths is.
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
    """Pieces that were optimised apart may meet twice: the shortest paths within them are the tree."""
    within, root = graph.only(edges), demand.roots[0]
    paths = component("paths", "dijkstra")(within, [(root, terminal) for terminal in demand.terminals])
    return as_tree(graph, root, [each[0] for each in paths if each])


def serves(graph: Graph, demand: Demand, tree: Tree) -> bool:
    """Every root reaches every terminal within its limit."""
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
