"""Limits on the load of switches (4.39)–(4.40), and what is done when one is broken.

Weights that grow with the load lead most contents elsewhere (`rebalancing`). What is still too much is moved:
of the contents that only pass through a switch, those with the cheapest detours are led around it. If that
fails and the problem is small, a program decides (`load_program`). What a switch must carry in any case,
because publishers and subscribers are attached to it, cannot be moved.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regraft.model import Infeasible
from regraft.routes.content_trees import ContentTree, RouteLoad, embed_content, load_of
from regraft.routes.interface import EmbedFilters, OptimiseSubgraph
from regraft.routes.load_program import kept_by_program
from regraft.routes.problem import Problem, demand_of
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings

TOLERANCE = 1e-9


def load_limits(problem: Problem) -> NDArray[np.float64]:
    limits = problem.workload.limits
    most = [limits.load_of(switch) for switch in problem.network.switches]
    return np.array([np.inf if each is None else each for each in most])


def excess(problem: Problem, load: RouteLoad) -> float:
    """Events per second above the limits, summed over all switches; 0 if all limits are kept."""
    over = load.switches - load_limits(problem) * (1 + TOLERANCE)
    return float(over[over > 0].sum())


def capacities(problem: Problem, load: RouteLoad) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Load and capacity of each edge for re-balancing: those of its fuller end, if switches have limits."""
    graph, most = problem.graph, load_limits(problem)
    if not np.isfinite(most).any():
        return load.edges, np.full(len(graph.sources), np.inf)
    share = np.where(np.isfinite(most), load.switches / np.maximum(most, TOLERANCE), 0.0)
    fuller = np.where(share[graph.sources] > share[graph.targets], graph.sources, graph.targets)
    return load.switches[fuller], most[fuller]


def must_carry(problem: Problem) -> NDArray[np.float64]:
    """The load of each switch that no routes can avoid: what its publishers and subscribers cause."""
    masks, least = problem.masks, np.zeros(problem.graph.vertices)
    for publisher, at in enumerate(problem.publisher_at):
        least[at] += problem.rates[publisher]
        said = masks.advertised[publisher]
        share = problem.rates[publisher] / (masks.atoms.volume(said) or 1.0)
        for vertex, wants in enumerate(masks.wants_at):
            if vertex != at and wants & said:
                least[vertex] += share * masks.atoms.volume(wants & said)
    return least


def overloaded(problem: Problem) -> Infeasible | None:
    """The first switch whose own publishers and subscribers cause more load than its limit allows."""
    least, most = must_carry(problem), load_limits(problem)
    for vertex in np.flatnonzero(least > most * (1 + TOLERANCE)).tolist():
        switch = problem.network.switches[vertex]
        return Infeasible(
            f"switch {switch} must carry {least[vertex]:g} events per second for the publishers and "
            f"subscribers attached to it, {most[vertex]:g} are allowed",
            limit="load",
            where=switch,
            proven=True,
        )
    return None


def within_load_limits(
    problem: Problem, content_trees: Sequence[ContentTree], embed: EmbedFilters, settings: RouteSettings
) -> list[ContentTree] | Infeasible:
    """Contents that keep the limits: moved by detours, or by the program where detours do not suffice."""
    moved = relieved(problem, content_trees, embed, settings)
    if not isinstance(moved, Infeasible):
        return moved
    found = kept_by_program(problem, load_limits(problem), settings)
    if found is None:
        return moved
    if isinstance(found, Infeasible):
        return replace(moved, reason=f"{moved.reason}; {found.reason}", proven=found.proven)
    return [embed_content(problem, content, tree, embed, settings) for content, tree in found]


def relieved(
    problem: Problem, content_trees: Sequence[ContentTree], embed: EmbedFilters, settings: RouteSettings
) -> list[ContentTree] | Infeasible:
    """Move contents away from the switches that carry too much, cheapest detour first."""
    now, most = list(content_trees), load_limits(problem)
    optimise = component("subgraph", "steiner")
    for _ in range(2 * problem.graph.vertices):
        load = load_of(problem, now)
        over = load.switches - most * (1 + TOLERANCE)
        worst = int(np.argmax(over))
        if over[worst] <= 0:
            return now
        moved = _around(problem, now, worst, load, most, embed, optimise, settings)
        if moved is None:
            switch = problem.network.switches[worst]
            return Infeasible(
                f"no routes were found that leave switch {switch} at most {most[worst]:g} events per second "
                f"({load.switches[worst]:g} with the best ones)",
                limit="load",
                where=switch,
            )
        now = moved
    return Infeasible("no routes were found that keep the load limits", limit="load")


def _around(
    problem: Problem,
    content_trees: Sequence[ContentTree],
    full: int,
    load: RouteLoad,
    most: NDArray[np.float64],
    embed: EmbedFilters,
    optimise: OptimiseSubgraph,
    settings: RouteSettings,
) -> list[ContentTree] | None:
    """Move contents that only pass through the full switch around it, one after another, until it is within
    its limit; None if not a single one can be moved."""
    graph, spare = problem.graph, most - load.switches
    offers = []
    for place, one in enumerate(content_trees):
        demand = demand_of(problem, one.content)
        at = {graph.source_list[edge] for edge in one.tree} | {graph.target_list[edge] for edge in one.tree}
        if full not in at or full in demand.roots or full in demand.terminals:
            continue
        closed = {full} | {int(v) for v in np.flatnonzero(spare < demand.rate) if int(v) not in at}
        open_graph = graph.among(v for v in range(graph.vertices) if v not in closed)
        (tree,) = optimise(open_graph, [demand], (), settings)
        if tree is not None:
            extra = demand.rate * (graph.weigh(tree) - graph.weigh(one.tree))
            offers.append((extra / max(demand.rate, TOLERANCE), place, tree, demand.rate))
    now, over = list(content_trees), load.switches[full] - most[full]
    for _, place, tree, rate in sorted(offers, key=lambda offer: offer[:2]):
        if over <= 0:
            break
        one = content_trees[place]
        now[place] = embed_content(problem, one.content, tree, embed, settings)
        over -= rate
        if _newly_full(problem, now, load, most):
            now[place] = one
            over += rate
    return now if over < load.switches[full] - most[full] else None


def _newly_full(
    problem: Problem, content_trees: Sequence[ContentTree], before: RouteLoad, most: NDArray[np.float64]
) -> bool:
    """Whether a switch that was within its limit is above it now."""
    after = load_of(problem, content_trees).switches
    return bool(((after > most * (1 + TOLERANCE)) & (before.switches <= most * (1 + TOLERANCE))).any())
