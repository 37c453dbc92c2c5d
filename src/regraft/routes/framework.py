"""The surrounding program (Content routes §6, Figure 6.1): initialisation phase, then the iteration phase.

Initialisation: a shortest path for every pair, a tree for every publisher, filters. Iteration: cluster
filters into contents, select a sub graph for each, fragment it, optimise it, embed filters, look for
cycles (which come back as constraints), re-balance weights. By default that is repeated while a load limit is
broken or other fragments help; with `rebalance_when` "always", until the weights stand still. What was
computed for an earlier state of the network is kept in a `Memory` and used again where nothing changed.
"""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regraft.model import Infeasible
from regraft.routes.contents import apart, contents_of, whole_contents
from regraft.routes.figures import Load, load_of
from regraft.routes.interface import Tree, Weighting
from regraft.routes.laid import Laid, lay
from regraft.routes.limits import capacities, excess, within_load_limits
from regraft.routes.problem import Content, Demand, Graph, Problem, demand_of
from regraft.routes.rebalancing import standing
from regraft.routes.registry import component
from regraft.routes.settings import Settings
from regraft.routes.shared_tree import too_dear
from regraft.routes.stopwatch import Stopwatch
from regraft.routes.subgraphs import Spread, Task, trees_for

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

    def copied(self) -> "Memory":
        """For a run that adds to it: the state it came from stays as it was."""
        return Memory(dict(self.contents), dict(self.trees), dict(self.bounds))


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

    @property
    def looks_around(self) -> bool:
        """Whether sub graphs are parts of the network, around the trees of now."""
        return self.settings.selection != "all" or self.settings.fragmentation != "none"

    def graph_with(self, weighting: Weighting) -> Graph:
        graph = self.problem.graph
        same = np.array_equal(weighting.weights, graph.weights)
        return graph if same else graph.with_weights(weighting.weights)


def initialise(run: Run, publishers: Collection[int] | None = None) -> list[Laid]:
    """Shortest paths, a tree for each publisher (or each of these), exact filters (§6.1, §6.2)."""
    problem, settings = run.problem, run.settings
    find, build, embed = run.use("paths"), run.use("trees"), component("embedding", "exact")
    laid = []
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
            laid.append(lay(problem, content, tree, embed, settings))
        run.watch.tell("shortest-path trees", done + 1, len(contents))
    return laid


class Round(NamedTuple):
    """What a turn of the iteration phase came to; the least score counts."""

    score: tuple[float, ...]
    laid: list[Laid]
    weighting: Weighting
    """The weights that its trees are best for."""


def iterate(run: Run, initial: Sequence[Laid] | None, start: Weighting) -> Round | Infeasible:
    """The iteration phase: rounds until nothing is left to change; the best round counts.

    `initial` are the trees of now; without them they are made for the publishers of new contents.
    """
    problem, settings = run.problem, run.settings
    kept, contents = _contents(run)
    if initial is None and run.looks_around:
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
        laid = [*kept, *_embedded(run, contents, trees)]
        load = load_of(problem, laid)
        before, this = weighting, Round(_score(run, load), laid, weighting)
        with run.watch.timing("rebalancing"):  # after every iteration (§6.5)
            weighting = rebalance(weighting, *capacities(problem, load), run.round)
        idle = 0 if best is None or this.score < best.score else idle + 1
        best = this if best is None or not idle else best
        if _finished(run, this.score[0] > 0, idle, standing(before, weighting)):
            break
        current = laid
        if kept and this.score[0] > 0:  # a limit is broken: what was kept may have to move as well
            kept, contents = [], [each.content for each in laid]
    assert best is not None
    if best.score[0] > 0:
        moved = within_load_limits(problem, best.laid, run.use("embedding"), settings)
        return moved if isinstance(moved, Infeasible) else best._replace(laid=moved)
    return best


def _score(run: Run, load: Load) -> tuple[float, ...]:
    """Limits come first; then the busiest edge where weights follow the load, and the cost."""
    peak = (float(load.edges.max(initial=0.0)),) if run.settings.rebalance_when == "always" else ()
    return (excess(run.problem, load), *peak, float(load.edges @ run.problem.graph.weights))


def _finished(run: Run, broken: bool, idle: int, still: bool) -> bool:
    """Whether another round would find nothing else: fragments are cut otherwise each time, weights move."""
    if broken or run.settings.rebalance_when == "always":
        return still
    return run.settings.fragmentation == "none" or idle > 1


def first_weighting(problem: Problem) -> Weighting:
    """Weights and bounds as the network came with them."""
    return Weighting(
        problem.graph.weights,
        np.array([edge.lower for edge in problem.network.edges]),
        np.array([edge.upper for edge in problem.network.edges]),
    )


def _trees(
    run: Run, graph: Graph, contents: Sequence[Content], current: Sequence[Laid]
) -> tuple[list[Content], list[Tree]] | Infeasible:
    """A tree for each content; publishers that no shared tree serves well get contents of their own."""
    problem, contents = run.problem, list(contents)
    demands = [demand_of(problem, content) for content in contents]
    trees = _optimise(run, graph, contents, demands, current)
    dear = [
        tree is None or too_dear(graph, demand, tree, run.settings.apart_above)
        for demand, tree in zip(demands, trees, strict=True)
    ]
    if any(dear):
        contents, demands = _apart(problem, contents, dear)
        trees = _optimise(run, graph, contents, demands, current)
    if None in trees:
        return _no_tree(problem, contents[trees.index(None)])
    return contents, [tree for tree in trees if tree is not None]


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
    spread = Spread(run.watch, run.pool, run.settings.processes)
    trees = trees_for(graph, tasks, run.settings, run.round, spread)
    found |= dict(zip(wanted, trees, strict=True))
    if original:
        run.memory.trees.update({key: tree for key, tree in found.items() if tree is not None})
    return [found[demand_key(demand)] for demand in demands]


def _tasks(run: Run, wanted: Iterable[tuple[Content, Demand]], current: Sequence[Laid]) -> list[Task]:
    """Each demand with what its publishers use now."""
    if not run.looks_around:
        return [Task(demand) for _, demand in wanted]
    used = _edges_by_publisher(current)
    trees_now = {(one.content.publishers, one.content.region): one.tree for one in current}
    return [
        Task(
            demand,
            tuple(sorted({edge for each in content.publishers for edge in used.get(each, ())})),
            trees_now.get((content.publishers, content.region)),
        )
        for content, demand in wanted
    ]


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


def _embedded(run: Run, contents: Sequence[Content], trees: Sequence[Tree]) -> list[Laid]:
    embed, laid = run.use("embedding"), []
    for content, tree in zip(contents, trees, strict=True):
        with run.watch.timing("embedding"):
            laid.append(lay(run.problem, content, tree, embed, run.settings))
    return laid


def _no_tree(problem: Problem, content: Content) -> Infeasible:
    name = problem.workload.publishers[content.publishers[0]].id
    return Infeasible(f"no tree from publisher {name} keeps the path limits", limit="path length", where=name)
