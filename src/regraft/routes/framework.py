"""The surrounding program (Content routes §6, Figure 6.1): initialisation phase, then the iteration phase.

Initialisation: a shortest path for every pair, a tree for every publisher, filters. Iteration: cluster
filters into contents, select a sub graph for each, fragment it, optimise it, embed filters, look for
cycles (which come back as constraints), re-balance weights; repeat while a limit is broken. What was
computed for an earlier state of the network is kept in a `Memory` and used again where nothing changed.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regraft.model import Infeasible
from regraft.routes.contents import apart, contents_of, whole_contents
from regraft.routes.cycle_feedback import without_cycles
from regraft.routes.figures import load_of
from regraft.routes.interface import Tree, Weighting
from regraft.routes.laid import Laid, lay
from regraft.routes.limits import capacities, excess, relieved
from regraft.routes.parallel import optimise_in_parts
from regraft.routes.path_trees import as_tree
from regraft.routes.problem import Content, Demand, Graph, Problem, demand_of
from regraft.routes.registry import component
from regraft.routes.settings import Settings
from regraft.routes.shared_tree import too_dear
from regraft.routes.stopwatch import Stopwatch

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Memory:
    """What stays true when somebody comes or goes.

    Contents with the same publishers and subscribers keep tree and filters, demands of the same switches
    their trees, publishers whose subscribers are the same their share of the lower bound.
    """

    contents: dict[Key, Laid] = field(default_factory=dict)
    trees: dict[Key, Tree] = field(default_factory=dict)
    bounds: dict[Key, float] = field(default_factory=dict)


@dataclass
class Run:
    """One computation: the problem with the graph of now, the chosen components, and what is remembered."""

    problem: Problem
    settings: Settings
    watch: Stopwatch
    memory: Memory
    pool: Executor | None = None
    solved: int = 0
    """Demands whose trees were not remembered."""
    round: int = 0

    def use(self, kind: str) -> Any:
        return component(kind, getattr(self.settings, kind))


def initialise(run: Run) -> list[Laid]:
    """Shortest paths, a tree for each publisher, exact filters (§6.1, §6.2)."""
    problem, settings = run.problem, run.settings
    find, build, embed = run.use("paths"), run.use("trees"), component("embedding", "exact")
    laid = []
    contents = whole_contents(problem)
    for done, content in enumerate(contents):
        demand = demand_of(problem, content)
        root = demand.roots[0]
        with run.watch.timing("paths"):
            pairs = [(root, terminal) for terminal in demand.terminals]
            paths = find(problem.graph, pairs, settings.paths_per_pair)
        with run.watch.timing("trees"):
            tree = build(problem.graph, root, paths)
        with run.watch.timing("embedding"):
            laid.append(lay(problem, content, tree, embed, settings))
        run.watch.tell("shortest-path trees", done + 1, len(contents))
    return laid


def iterate(run: Run, initial: Sequence[Laid]) -> list[Laid] | Infeasible:
    """The iteration phase: rounds until no limit is broken; the best round counts."""
    problem, settings = run.problem, run.settings
    kept, contents = _contents(run)
    demands = [demand_of(problem, content) for content in contents]
    first = Weighting(
        problem.graph.weights,
        np.array([edge.lower for edge in problem.network.edges]),
        np.array([edge.upper for edge in problem.network.edges]),
    )
    weighting, best = first, None
    rebalance = run.use("rebalancing")
    for run.round in range(settings.rounds):
        broken = best is not None and best[0][0] > 0
        graph = problem.graph.with_weights(weighting.weights) if broken else problem.graph
        trees = _optimise(run, graph, contents, demands, initial)
        dear = [
            tree is None or too_dear(graph, demand, tree, settings.apart_above)
            for demand, tree in zip(demands, trees, strict=True)
        ]
        if any(dear):
            contents, demands = _apart(problem, contents, dear)
            trees = _optimise(run, graph, contents, demands, initial)
        if None in trees:
            return _no_tree(problem, contents[trees.index(None)])
        laid = [*kept, *_embedded(run, contents, trees)]
        load = load_of(problem, laid)
        score = (excess(problem, load), float(load.edges @ problem.graph.weights))
        if best is None or score < best[0]:
            best = (score, laid)
        with run.watch.timing("rebalancing"):
            weighting = rebalance(weighting, *capacities(problem, load), run.round)
        if score[0] == 0 and settings.fragmentation == "none":
            break
        initial, kept_now = laid, len(kept)
        if kept_now and score[0] > 0:  # a limit is broken: what was kept may have to move as well
            kept, contents = [], [each.content for each in laid]
            demands = [demand_of(problem, content) for content in contents]
    assert best is not None
    if best[0][0] > 0:
        return relieved(problem, best[1], run.use("embedding"), settings)
    return best[1]


def _contents(run: Run) -> tuple[list[Laid], list[Content]]:
    """Contents that are laid already because nothing about them changed, and all others."""
    problem, kept, new = run.problem, list[Laid](), list[Content]()
    with run.watch.timing("clustering"):
        contents = contents_of(problem, run.use("clustering"), run.settings)
    for content in contents:
        parts = [content]
        if content_key(problem, content) not in run.memory.contents and not content.own:
            parts = apart(problem, content)  # they may have been laid apart
            if any(content_key(problem, part) not in run.memory.contents for part in parts):
                parts = [content]
        for part in parts:
            known = run.memory.contents.get(content_key(problem, part))
            if known is None:
                new.append(part)
            else:
                kept.append(known._replace(content=part))
    return kept, new


def content_key(problem: Problem, content: Content) -> Key:
    """Who publishes and who wants it: contents of the same key have the same trees and filters."""
    publishers, subscribers = problem.workload.publishers, problem.workload.subscribers
    return (
        tuple(publishers[each] for each in content.publishers),
        content.region,
        content.own,
        tuple(subscribers[each] for each in problem.interested(content.region)),
    )


def _optimise(
    run: Run, graph: Graph, contents: Sequence[Content], demands: Sequence[Demand], current: Sequence[Laid]
) -> list[Tree | None]:
    """A tree for each demand: remembered ones, and those of the sub graph program for all others."""
    settings, original = run.settings, run.round == 0
    found: dict[Key, Tree | None] = {}
    for demand in demands:
        key = demand_key(demand)
        if original and key in run.memory.trees:
            found[key] = run.memory.trees[key]
    wanted = {
        demand_key(demand): (content, demand)
        for content, demand in zip(contents, demands, strict=True)
        if demand_key(demand) not in found
    }
    run.solved += len(wanted)
    if settings.selection == "all" and settings.fragmentation == "none":
        with run.watch.timing("subgraph"):
            trees = optimise_in_parts(graph, [demand for _, demand in wanted.values()], settings, run.pool)
        found |= dict(zip(wanted, trees, strict=True))
    else:
        used = _edges_by_publisher(current)
        trees_now = {(one.content.publishers, one.content.region): one.tree for one in current}
        for done, (key, (content, demand)) in enumerate(wanted.items()):
            now = trees_now.get((content.publishers, content.region))
            if now is None:
                edges = {edge for each in content.publishers for edge in used.get(each, ())}
                now = _now(graph, demand, sorted(edges))
            found[key] = _one_subgraph(run, graph, demand, now)
            run.watch.tell("sub graphs", done + 1, len(wanted))
    for key, (_, demand) in wanted.items():
        if len(demand.roots) > 1 and (tree := found[key]) is not None:
            found[key] = without_cycles(graph, demand, tree, settings, run.watch)
    if original:
        run.memory.trees.update({key: tree for key, tree in found.items() if tree is not None})
    return [found[demand_key(demand)] for demand in demands]


def _apart(
    problem: Problem, contents: Sequence[Content], dear: Sequence[bool]
) -> tuple[list[Content], list[Demand]]:
    """Where no shared tree is good enough, each publisher for itself."""
    new = [
        each
        for content, bad in zip(contents, dear, strict=True)
        for each in (apart(problem, content) if bad and not content.own else [content])
    ]
    return new, [demand_of(problem, content) for content in new]


def demand_key(demand: Demand) -> Key:
    """Demands of the same key have the same best trees; rates count only where roots share a tree."""
    return (demand.roots, demand.terminals, demand.hops, demand.rates if len(demand.roots) > 1 else ())


def _edges_by_publisher(current: Sequence[Laid]) -> dict[int, set[int]]:
    used: dict[int, set[int]] = {}
    for one in current:
        for publisher in one.content.publishers:
            used.setdefault(publisher, set()).update(one.tree)
    return used


def _one_subgraph(run: Run, graph: Graph, demand: Demand, current: Tree) -> Tree | None:
    """Rings around the paths of now, fragments, the program for each, and the pieces joined again."""
    settings = run.settings
    size = max(2, settings.fragment_size - run.round % 2)  # other fragments in the next round (§5.3.3)
    with run.watch.timing("selection"):
        around = run.use("selection")(graph, sorted(current), settings.rings) if current else graph
    with run.watch.timing("fragmentation"):
        cut = run.use("fragmentation")(around, [demand], [current], size)
    joined = set(cut.fixed[0])
    for fragment in cut.fragments:
        if not fragment.demands:
            continue
        with run.watch.timing("subgraph"):
            trees = run.use("subgraph")(fragment.graph, fragment.demands, (), settings)
        joined |= {edge for tree in trees if tree for edge in tree}
    tree = frozenset(joined) if len(demand.roots) > 1 else _rooted(graph, demand, joined)
    offers = [offer for offer in (tree, current) if _serves(graph, demand, offer)]
    if offers:  # where parts have too few edges, the paths of now stay
        return min(offers, key=graph.weigh) if len(demand.roots) == 1 else offers[0]
    last: list[Tree | None] = component("subgraph", "steiner")(graph, [demand], (), settings)
    return last[0]


def _now(graph: Graph, demand: Demand, edges: Sequence[int]) -> Tree:
    """The paths of now from each root to the terminals, among the edges in use; else new ones."""
    find = component("paths", "dijkstra")
    within = graph.only(edges)
    tree: set[int] = set()
    for root in demand.roots:
        pairs = [(root, terminal) for terminal in demand.terminals]
        paths = [found or new for found, new in zip(find(within, pairs), find(graph, pairs), strict=True)]
        tree |= as_tree(graph, root, [each[0] for each in paths if each])
    return frozenset(tree)


def _rooted(graph: Graph, demand: Demand, edges: set[int]) -> Tree:
    """Pieces that were optimised apart may meet twice: the shortest paths within them are the tree."""
    within, root = graph.only(edges), demand.roots[0]
    paths = component("paths", "dijkstra")(within, [(root, terminal) for terminal in demand.terminals])
    return as_tree(graph, root, [each[0] for each in paths if each])


def _serves(graph: Graph, demand: Demand, tree: Tree) -> bool:
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


def _embedded(run: Run, contents: Sequence[Content], trees: Sequence[Tree | None]) -> list[Laid]:
    embed, laid = run.use("embedding"), []
    for content, tree in zip(contents, trees, strict=True):
        assert tree is not None
        with run.watch.timing("embedding"):
            laid.append(lay(run.problem, content, tree, embed, run.settings))
    return laid


def _no_tree(problem: Problem, content: Content) -> Infeasible:
    name = problem.workload.publishers[content.publishers[0]].id
    return Infeasible(f"no tree from publisher {name} keeps the path limits", limit="path length", where=name)
