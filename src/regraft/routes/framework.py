"""The surrounding program (Content routes §6, Figure 6.1): initialisation phase, then the iteration phase.

Initialisation: a shortest path for every pair, a tree for every publisher, filters. Iteration: cluster
filters into contents, select a sub graph for each, fragment it, optimise it, embed filters, look for cycles
(which come back as constraints), re-balance weights. By default this is repeated while a load limit is broken
or other fragments help; with `rebalance_when` "always", until the weights no longer change. Results for an
earlier state of the network are kept in a `RouteMemory` and used again where nothing changed.
"""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regraft.model import Infeasible
from regraft.routes.content_trees import ContentTree, RouteLoad, embed_content, load_of
from regraft.routes.contents import by_publisher, contents_of, whole_contents
from regraft.routes.interface import Tree, Weighting
from regraft.routes.limits import capacities, excess, within_load_limits
from regraft.routes.problem import Content, Demand, Graph, Problem, demand_of
from regraft.routes.rebalancing import has_converged
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import too_costly
from regraft.routes.stopwatch import Stopwatch
from regraft.routes.subgraphs import TreeTask, Workers, trees_for

Key = tuple[Any, ...]


@dataclass(frozen=True)
class RouteMemory:
    """What stays valid when publishers and subscribers come or go.

    Contents with the same publishers and subscribers keep their tree and filters, demands between the same
    switches their trees, and publishers with the same subscribers their share of the lower bound.
    """

    contents: dict[Key, ContentTree] = field(default_factory=dict)
    trees: dict[Key, Tree] = field(default_factory=dict)
    bounds: dict[Key, float] = field(default_factory=dict)

    def copied(self) -> "RouteMemory":
        """A copy for a run that adds to it: the state it came from stays unchanged."""
        return RouteMemory(dict(self.contents), dict(self.trees), dict(self.bounds))


@dataclass
class RouteRun:
    """One computation: the problem with its current graph, the chosen components, and what is remembered."""

    problem: Problem
    settings: RouteSettings
    watch: Stopwatch
    memory: RouteMemory
    pool: Executor | None = None
    solved: int = 0
    """How many demands had no remembered tree."""
    round: int = 0

    def use(self, kind: str) -> Any:
        return component(kind, getattr(self.settings, kind))

    @property
    def uses_current_trees(self) -> bool:
        """Whether sub graphs are parts of the network around the current trees, or fragments of it."""
        return self.settings.selection != "all" or self.settings.fragmentation != "none"

    def graph_with(self, weighting: Weighting) -> Graph:
        graph = self.problem.graph
        same = np.array_equal(weighting.weights, graph.weights)
        return graph if same else graph.with_weights(weighting.weights)


def initialise(run: RouteRun, publishers: Collection[int] | None = None) -> list[ContentTree]:
    """Shortest paths, a tree for each publisher (or only for `publishers`), exact filters (§6.1, §6.2)."""
    problem, settings = run.problem, run.settings
    find, build, embed = run.use("paths"), run.use("trees"), component("embedding", "exact")
    content_trees = []
    contents = [
        each for each in whole_contents(problem) if publishers is None or each.publishers[0] in publishers
    ]
    for done, content in enumerate(contents):
        demand = demand_of(problem, content)
        root = demand.roots[0]
        with run.watch.timing("paths"):
            pairs = [(root, terminal) for terminal in demand.terminals]
            paths = find(problem.graph, pairs, settings.paths_per_pair)
        with run.watch.timing("trees"):
            tree = build(problem.graph, root, paths)
        with run.watch.timing("embedding"):
            content_trees.append(embed_content(problem, content, tree, embed, settings))
        run.watch.tell("shortest-path trees", done + 1, len(contents))
    return content_trees


class Round(NamedTuple):
    """The result of one round of the iteration phase; the round with the lowest score is taken."""

    score: tuple[float, ...]
    content_trees: list[ContentTree]
    weighting: Weighting
    """The weights that its trees are best for."""


def iterate(run: RouteRun, initial: Sequence[ContentTree] | None, start: Weighting) -> Round | Infeasible:
    """The iteration phase: rounds until another one would change nothing; the best round is returned.

    `initial` are the current trees; without them, trees are made for the publishers of new contents.
    """
    problem, settings = run.problem, run.settings
    kept, contents = _contents(run)
    if initial is None and run.uses_current_trees:
        initial = initialise(run, {publisher for content in contents for publisher in content.publishers})
    current, weighting, best, idle = list(initial or ()), start, None, 0
    rebalance = run.use("rebalancing")
    for run.round in range(settings.rounds):
        broken = best is not None and best.score[0] > 0
        graph = run.graph_with(weighting) if broken or settings.rebalance_when == "always" else problem.graph
        found = _trees(run, graph, contents, current)
        if isinstance(found, Infeasible):
            return found
        contents, trees = found
        content_trees = [*kept, *_embedded(run, contents, trees)]
        load = load_of(problem, content_trees)
        before, this = weighting, Round(_score(run, load), content_trees, weighting)
        with run.watch.timing("rebalancing"):  # after every iteration (§6.5)
            weighting = rebalance(weighting, *capacities(problem, load), run.round)
        idle = 0 if best is None or this.score < best.score else idle + 1
        best = this if best is None or not idle else best
        if _finished(run, this.score[0] > 0, idle, has_converged(before, weighting)):
            break
        current = content_trees
        if kept and this.score[0] > 0:  # a limit is broken: remembered contents may have to move as well
            kept, contents = [], [each.content for each in content_trees]
    assert best is not None
    if best.score[0] > 0:
        moved = within_load_limits(problem, best.content_trees, run.use("embedding"), settings)
        return moved if isinstance(moved, Infeasible) else best._replace(content_trees=moved)
    return best


def _score(run: RouteRun, load: RouteLoad) -> tuple[float, ...]:
    """The load above limits; then, if weights always follow the load, the busiest edge; then the cost."""
    peak = (float(load.edges.max(initial=0.0)),) if run.settings.rebalance_when == "always" else ()
    return (excess(run.problem, load), *peak, float(load.edges @ run.problem.graph.weights))


def _finished(run: RouteRun, broken: bool, idle: int, still: bool) -> bool:
    """Whether another round would find nothing new: each round cuts other fragments, and weights move."""
    if broken or run.settings.rebalance_when == "always":
        return still
    return run.settings.fragmentation == "none" or idle > 1


def first_weighting(problem: Problem) -> Weighting:
    """The weights and bounds that the network was given with."""
    return Weighting(
        problem.graph.weights,
        np.array([edge.lower for edge in problem.network.edges]),
        np.array([edge.upper for edge in problem.network.edges]),
    )


def _trees(
    run: RouteRun, graph: Graph, contents: Sequence[Content], current: Sequence[ContentTree]
) -> tuple[list[Content], list[Tree]] | Infeasible:
    """A tree for each content. If a shared tree is too costly, each publisher gets a content of its own."""
    problem, contents = run.problem, list(contents)
    demands = [demand_of(problem, content) for content in contents]
    trees = _optimise(run, graph, contents, demands, current)
    costly = [
        tree is None or too_costly(graph, demand, tree, run.settings.apart_above)
        for demand, tree in zip(demands, trees, strict=True)
    ]
    if any(costly):
        contents, demands = _split(problem, contents, costly)
        trees = _optimise(run, graph, contents, demands, current)
    if None in trees:
        return _no_tree(problem, contents[trees.index(None)])
    return contents, [tree for tree in trees if tree is not None]


def _contents(run: RouteRun) -> tuple[list[ContentTree], list[Content]]:
    """Contents whose trees are remembered because nothing about them changed, and all other contents."""
    problem, kept, new = run.problem, list[ContentTree](), list[Content]()
    with run.watch.timing("clustering"):
        contents = contents_of(problem, run.use("clustering"), run.settings)
    for content in contents:
        parts = [content]
        if content_key(problem, content) not in run.memory.contents and not content.own:
            parts = by_publisher(problem, content)  # its publishers may have got separate trees before
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
    """Its publishers and subscribers: contents of the same key have the same trees and filters."""
    publishers, subscribers = problem.workload.publishers, problem.workload.subscribers
    return (
        tuple(publishers[each] for each in content.publishers),
        content.region,
        content.own,
        tuple(subscribers[each] for each in problem.interested(content.region)),
    )


def _optimise(
    run: RouteRun,
    graph: Graph,
    contents: Sequence[Content],
    demands: Sequence[Demand],
    current: Sequence[ContentTree],
) -> list[Tree | None]:
    """A tree for each demand: the remembered one, or a new one from the sub graph component."""
    original = graph is run.problem.graph and run.round == 0
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
    tasks = _tasks(run, wanted.values(), current)
    workers = Workers(run.watch, run.pool, run.settings.processes)
    trees = trees_for(graph, tasks, run.settings, run.round, workers)
    found |= dict(zip(wanted, trees, strict=True))
    if original:
        run.memory.trees.update({key: tree for key, tree in found.items() if tree is not None})
    return [found[demand_key(demand)] for demand in demands]


def _tasks(
    run: RouteRun, wanted: Iterable[tuple[Content, Demand]], current: Sequence[ContentTree]
) -> list[TreeTask]:
    """Each demand with the edges that its publishers use now."""
    if not run.uses_current_trees:
        return [TreeTask(demand) for _, demand in wanted]
    used = _edges_by_publisher(current)
    trees_now = {(one.content.publishers, one.content.region): one.tree for one in current}
    return [
        TreeTask(
            demand,
            tuple(sorted({edge for each in content.publishers for edge in used.get(each, ())})),
            trees_now.get((content.publishers, content.region)),
        )
        for content, demand in wanted
    ]


def _split(
    problem: Problem, contents: Sequence[Content], costly: Sequence[bool]
) -> tuple[list[Content], list[Demand]]:
    """Contents whose shared tree is too costly are split by publisher."""
    new = [
        each
        for content, bad in zip(contents, costly, strict=True)
        for each in (by_publisher(problem, content) if bad and not content.own else [content])
    ]
    return new, [demand_of(problem, content) for content in new]


def demand_key(demand: Demand) -> Key:
    """Demands of the same key have the same best trees; rates matter only if several roots share a tree."""
    return (demand.roots, demand.terminals, demand.hops, demand.rates if len(demand.roots) > 1 else ())


def _edges_by_publisher(current: Sequence[ContentTree]) -> dict[int, set[int]]:
    used: dict[int, set[int]] = {}
    for one in current:
        for publisher in one.content.publishers:
            used.setdefault(publisher, set()).update(one.tree)
    return used


def _embedded(run: RouteRun, contents: Sequence[Content], trees: Sequence[Tree]) -> list[ContentTree]:
    embed, content_trees = run.use("embedding"), []
    for content, tree in zip(contents, trees, strict=True):
        with run.watch.timing("embedding"):
            content_trees.append(embed_content(run.problem, content, tree, embed, run.settings))
    return content_trees


def _no_tree(problem: Problem, content: Content) -> Infeasible:
    name = problem.workload.publishers[content.publishers[0]].id
    return Infeasible(f"no tree from publisher {name} keeps the path limits", limit="path length", where=name)
