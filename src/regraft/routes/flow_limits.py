"""Tables within the flow limit of each switch (Content routes (4.26), (5.59)–(5.60)).

Exact tables come first. Where one is too long, lines may hold events that never arrive there; then filters
inside the network may be wider than needed, which costs false positives inside and none at subscribers;
then contents that only pass through the switch go around it.
"""

from collections.abc import Sequence

from regraft.model import Infeasible
from regraft.model.routes import Entry
from regraft.routes.embedding_flows import flow_conflict
from regraft.routes.interface import Tree
from regraft.routes.laid import Laid, lay
from regraft.routes.problem import Problem, demand_of
from regraft.routes.registry import component
from regraft.routes.settings import Settings
from regraft.routes.tables import make_tables

Tables = dict[str, tuple[Entry, ...]]


def too_long(problem: Problem, tables: Tables) -> list[tuple[int, str, int]]:
    """How many lines too many, switch, limit: the worst first."""
    limits = problem.workload.limits
    found = [
        (len(table) - most, switch, most)
        for switch, table in tables.items()
        if (most := limits.flows_of(switch)) is not None and len(table) > most
    ]
    return sorted(found, reverse=True)


def within_flow_limits(
    problem: Problem, laid: Sequence[Laid], tables: Tables, settings: Settings
) -> tuple[list[Laid], Tables] | Infeasible:
    """Contents and tables that keep the limits, or the switch where they can not."""
    now = list(laid)
    if not too_long(problem, tables):
        return now, tables
    if (no := flow_conflict(problem)) is not None:
        return no
    tables = make_tables(problem, now, fewest=True)
    if not too_long(problem, tables):
        return now, tables
    widen = component("embedding", "fewest-flows")
    now = [lay(problem, one.content, one.tree, widen, settings) for one in now]
    tables = make_tables(problem, now, fewest=True)
    for _ in range(problem.graph.vertices):
        if not (over := too_long(problem, tables)):
            return now, tables
        moved = _around(problem, now, over[0][1], settings)
        if moved is None:
            break
        tables_moved = make_tables(problem, moved, fewest=True)
        if _total(too_long(problem, tables_moved)) >= _total(over):
            break
        now, tables = moved, tables_moved
    excess, switch, most = too_long(problem, tables)[0]
    return Infeasible(
        f"no tables were found with at most {most} flows at switch {switch}, the best have {most + excess}",
        limit="flows",
        where=switch,
    )


def _total(over: Sequence[tuple[int, str, int]]) -> int:
    return sum(excess for excess, _, _ in over)


def _around(problem: Problem, laid: Sequence[Laid], switch: str, settings: Settings) -> list[Laid] | None:
    """All contents that only pass through the switch, by other ways; None if there is no such content."""
    graph, full = problem.graph, problem.network.number[switch]
    open_graph = graph.among(vertex for vertex in range(graph.vertices) if vertex != full)
    widen, optimise = component("embedding", "fewest-flows"), component("subgraph", "steiner")
    now, moved = list(laid), 0
    for place, one in enumerate(laid):
        if not any(full in (graph.source_list[edge], graph.target_list[edge]) for edge in one.tree):
            continue
        demand = demand_of(problem, one.content)
        if full in demand.roots or full in demand.terminals:
            continue
        tree: Tree | None = optimise(open_graph, [demand], (), settings)[0]
        if tree is not None:
            now[place] = lay(problem, one.content, tree, widen, settings)
            moved += 1
    return now if moved else None
