"""The entry: a network and a workload in, routes out, or the reason why there are none.

`compute_routes` is the whole of Figure 6.1. Its result, a `RouteState`, is the input of `update_routes` when
publishers, subscribers or cables come and go: only what they affect is computed again (Content routes §8).
"""

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import numpy as np

from regraft.model import Infeasible
from regraft.model.routes import RouteFigures, Routes, RouteTree, RouteWorkload
from regraft.model.switch_network import SwitchNetwork, check_connected
from regraft.routes.bounds import finest_demands, interest, lower_bound, optimum
from regraft.routes.content_trees import ContentTree, false_positives, load_of, longest_path
from regraft.routes.flow_limits import Tables, within_flow_limits
from regraft.routes.framework import (
    Round,
    RouteMemory,
    RouteRun,
    content_key,
    first_weighting,
    initialise,
    iterate,
)
from regraft.routes.hop_limits import too_far
from regraft.routes.interface import Weighting
from regraft.routes.limits import excess, overloaded
from regraft.routes.problem import Demand, Graph, Problem, demand_of, graph_of, problem_of
from regraft.routes.rebalancing import reopened
from regraft.routes.registry import COMPONENTS, component, known_name
from regraft.routes.settings import DEFAULTS, RouteSettings
from regraft.routes.still_best import StillBest
from regraft.routes.stopwatch import Stopwatch, no_clock
from regraft.routes.tables import make_tables, touched_switches

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RouteState:
    """Routes, and what is needed to update them. `calls` are the seconds of each call of a component."""

    routes: Routes
    settings: RouteSettings
    calls: dict[str, tuple[float, ...]] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    """Cables that are out of order."""
    solved: int = 0
    """How many demands needed a new tree."""
    rebuilt: tuple[str, ...] = ()
    """Switches whose tables were made anew."""
    memory: RouteMemory = field(default_factory=RouteMemory, repr=False)
    content_trees: tuple[ContentTree, ...] = field(default=(), repr=False)
    graph: Graph | None = field(default=None, repr=False)
    weighting: Weighting | None = field(default=None, repr=False)
    """The weights that the trees are best for; their bounds have met."""


def compute_routes(
    network: SwitchNetwork,
    workload: RouteWorkload,
    settings: RouteSettings = DEFAULTS,
    clock: Callable[[], float] = no_clock,
    report: Report | None = None,
    pool: Executor | None = None,
) -> RouteState | Infeasible:
    """Routes for all publishers. Bad input raises `BadInput`; limits that cannot be kept are `Infeasible`."""
    for kind in COMPONENTS:
        known_name(kind, getattr(settings, kind))
    check_connected(network)
    problem = problem_of(network, workload)
    if (no := too_far(problem) or overloaded(problem)) is not None:
        return no
    run = RouteRun(problem, settings, Stopwatch(clock, report), RouteMemory(), pool)
    trees = initialise(run)
    found = iterate(run, trees, first_weighting(problem))
    if isinstance(found, Infeasible):
        return found
    with run.watch.timing("tables"):
        tables = make_tables(problem, trees)
    initial = _figures(run, trees, tables, _bound(run))
    return _finished(run, found, None, initial, frozenset())


def least_cost_of(state: RouteState) -> float | None:
    """The cost of the best possible routes without limits, for small networks; None if it is not known."""
    problem = problem_of(state.routes.network, state.routes.workload, state.graph)
    return optimum(problem, state.settings.time_limit)


def update_routes(
    before: RouteState,
    workload: RouteWorkload | None = None,
    down: frozenset[str] | None = None,
    clock: Callable[[], float] = no_clock,
    pool: Executor | None = None,
) -> RouteState | Infeasible:
    """The routes for another workload or with other cables out of order, starting from the routes before.

    The figures of shortest-path trees are not computed again: `initial` is None.
    """
    network, settings = before.routes.network, before.settings
    workload = before.routes.workload if workload is None else workload
    down = before.down if down is None else down
    problem = problem_of(network, workload, before.graph)
    if down != before.down:
        problem = _without(problem, down)
    if (no := too_far(problem) or overloaded(problem)) is not None:
        return no
    memory = before.memory if down == before.down else _still_valid(before, problem, down)
    run = RouteRun(problem, settings, Stopwatch(clock), memory.copied(), pool)
    found = iterate(run, None, _weighting(before, problem, down))
    if isinstance(found, Infeasible):
        return found
    return _finished(run, found, before, None, down)


def _without(problem: Problem, down: frozenset[str]) -> Problem:
    """The problem without the cables that are out of order; the numbers of edges stay the same."""
    edges = problem.network.edges
    up = [number for number, edge in enumerate(edges) if edge.cable not in down]
    check_connected(replace(problem.network, edges=tuple(edges[number] for number in up)))
    return replace(problem, graph=graph_of(problem.network).only(up))


def _still_valid(before: RouteState, problem: Problem, down: frozenset[str]) -> RouteMemory:
    """The memory without trees over cables that failed and trees that a returned cable may improve."""
    assert before.graph is not None
    returned = [place for place, edge in enumerate(problem.network.edges) if edge.cable in before.down - down]
    still = StillBest(before.graph, problem.graph, returned)
    trees = {
        key: tree
        for key, tree in before.memory.trees.items()
        if still.holds(Demand(key[0], key[1], 1.0, key[2], key[3]), tree)
    }
    was = problem_of(problem.network, before.routes.workload, before.graph)
    contents = {
        content_key(was, one.content): one
        for one in before.content_trees
        if still.holds(demand_of(was, one.content), one.tree)
    }
    return RouteMemory(contents, trees, {})


def _weighting(before: RouteState, problem: Problem, down: frozenset[str]) -> Weighting:
    """Weights that followed the load stay; near a change their bounds open again (§5.3.4)."""
    first = first_weighting(problem)
    if before.weighting is None or before.settings.rebalance_when != "always":
        return first
    old, new = before.routes.workload, problem.workload
    switches = {host.switch for host in set(old.publishers) ^ set(new.publishers)}
    switches |= {host.switch for host in set(old.subscribers) ^ set(new.subscribers)}
    changed = {problem.network.number[switch] for switch in switches}
    graph, edges = problem.graph, problem.network.edges
    for place, edge in enumerate(edges):
        if edge.cable in before.down ^ down:
            changed |= {graph.source_list[place], graph.target_list[place]}
    at_change = np.zeros(graph.vertices, dtype=np.bool_)
    at_change[list(changed)] = True
    near = at_change.copy()
    near[graph.targets[at_change[graph.sources]]] = True
    return reopened(before.weighting, first, near[graph.sources] | near[graph.targets])


def _finished(
    run: RouteRun, found: Round, before: RouteState | None, initial: RouteFigures | None, down: frozenset[str]
) -> RouteState | Infeasible:
    problem, settings, content_trees = run.problem, run.settings, found.content_trees
    only = (
        None
        if before is None
        else touched_switches(problem, content_trees, before.routes.workload, before.content_trees)
    )
    fewest = settings.embedding == "fewest-flows"
    with run.watch.timing("tables"):
        tables: Tables = dict(before.routes.tables) if before else {}
        for vertex in only or ():
            tables.pop(problem.network.switches[vertex], None)
        tables |= make_tables(problem, content_trees, fewest, only)
        kept = within_flow_limits(problem, content_trees, tables, settings)
    if isinstance(kept, Infeasible):
        return kept
    content_trees, tables = kept
    if excess(problem, load_of(problem, content_trees)) > 0:
        return Infeasible(
            "no tables were found that keep the limits on flows and those on load", limit="load"
        )
    figures = _figures(run, content_trees, tables, _bound(run))
    routes = Routes(
        problem.network,
        problem.workload,
        settings.matching,
        tables,
        _trees(problem, content_trees),
        figures,
        initial,
        run.watch.totals,
    )
    rebuilt = range(problem.graph.vertices) if only is None else sorted(only)
    return RouteState(
        routes,
        settings,
        {name: tuple(seconds) for name, seconds in run.watch.calls.items()},
        down,
        run.solved,
        tuple(problem.network.switches[vertex] for vertex in rebuilt),
        RouteMemory(
            {content_key(problem, one.content): one for one in content_trees},
            run.memory.trees,
            run.memory.bounds,
        ),
        tuple(content_trees),
        problem.graph,
        Weighting(*(found.weighting.weights,) * 3),
    )


def _figures(run: RouteRun, content_trees: list[ContentTree], tables: Tables, bound: float) -> RouteFigures:
    problem = run.problem
    load = load_of(problem, content_trees)
    limits = problem.workload.limits
    exact = run.settings.embedding == "exact" and limits.flows is None and not limits.flows_at
    embed = component("embedding", "exact")
    foreign = 0.0 if exact else false_positives(problem, content_trees, embed, run.settings)
    return RouteFigures(
        sum(map(len, tables.values())),
        load.data_rate,
        math.fsum(
            load.edges * problem.graph.weights
        ),  # the rounding of a dot product depends on memory alignment
        bound,
        foreign,
        longest_path(content_trees),
    )


def _bound(run: RouteRun) -> float:
    """The lower bound, a sum over publishers; only those for which something changed are computed."""
    problem, total = run.problem, 0.0
    with run.watch.timing("bound"):
        for number, publisher in enumerate(problem.workload.publishers):
            key = (publisher, interest(problem, number))
            if key not in run.memory.bounds:
                run.memory.bounds[key] = lower_bound(problem.graph, finest_demands(problem, number))
            total += run.memory.bounds[key]
    return total


def _trees(problem: Problem, content_trees: list[ContentTree]) -> tuple[RouteTree, ...]:
    names = [publisher.id for publisher in problem.workload.publishers]
    return tuple(
        RouteTree(
            tuple(names[publisher] for publisher in one.content.publishers),
            one.content.region.expressions,
            one.tree,
        )
        for one in content_trees
    )
