"""Tables within the flow limit of each switch (Content routes (4.26), (5.59)–(5.60)).

Exact tables come first. If one is too long, lines may match events that never arrive there; then filters
inside the network may be wider than needed, which causes false positives inside the network and none at
subscribers, and contents are merged on one tree for that; then contents that only pass through the switch are
led around it.
"""

from collections.abc import Sequence

from regraft.filters.dz import Dz, DzSet
from regraft.model import Infeasible
from regraft.model.routes import Entry
from regraft.routes.content_trees import ContentTree, embed_content, with_filters
from regraft.routes.embedding_flows import flow_conflict
from regraft.routes.interface import Tree
from regraft.routes.problem import Content, Problem, demand_of
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.tables import make_tables

Tables = dict[str, tuple[Entry, ...]]


def too_long(problem: Problem, tables: Tables) -> list[tuple[int, str, int]]:
    """(lines above the limit, switch, limit) of each table that is too long, the worst first."""
    limits = problem.workload.limits
    found = [
        (len(table) - most, switch, most)
        for switch, table in tables.items()
        if (most := limits.flows_of(switch)) is not None and len(table) > most
    ]
    return sorted(found, reverse=True)


def within_flow_limits(
    problem: Problem, content_trees: Sequence[ContentTree], tables: Tables, settings: RouteSettings
) -> tuple[list[ContentTree], Tables] | Infeasible:
    """Contents and tables that keep the limits, or the switch at which none were found."""
    now = list(content_trees)
    if not too_long(problem, tables):
        return now, tables
    if (no := flow_conflict(problem)) is not None:
        return no
    tables = make_tables(problem, now, fewest=True)
    if not too_long(problem, tables):
        return now, tables
    widen = component("embedding", "fewest-flows")
    now = [embed_content(problem, one.content, one.tree, widen, settings) for one in now]
    tables = make_tables(problem, now, fewest=True)
    for _ in range(problem.graph.vertices):
        if not (over := too_long(problem, tables)):
            return now, tables
        switch = over[0][1]
        merged = _merged(problem, now, settings)
        for other in (
            _around(problem, now, switch, settings),
            merged,
            _flooded(problem, now, switch),
            _flooded(problem, merged, switch),
        ):
            tables_then = make_tables(problem, other, fewest=True)
            if _total(too_long(problem, tables_then)) < _total(over):
                now, tables = other, tables_then
                break
        else:
            break
    excess, switch, most = too_long(problem, tables)[0]
    return Infeasible(
        f"no tables were found with at most {most} flows at switch {switch}, the best have {most + excess}",
        limit="flows",
        where=switch,
    )


def _total(over: Sequence[tuple[int, str, int]]) -> int:
    return sum(excess for excess, _, _ in over)


def _merged(
    problem: Problem, content_trees: Sequence[ContentTree], settings: RouteSettings
) -> list[ContentTree]:
    """Contents of the same publishers merged on one tree, which leaves more room for wider filters."""
    regions: dict[tuple[tuple[int, ...], bool], list[Dz]] = {}
    for one in content_trees:
        regions.setdefault((one.content.publishers, one.content.own), []).extend(one.content.region)
    widen, optimise = component("embedding", "fewest-flows"), component("subgraph", "steiner")
    merged = []
    for (publishers, own), expressions in regions.items():
        content = Content(publishers, DzSet(expressions), own)
        (tree,) = optimise(problem.graph, [demand_of(problem, content)], (), settings)
        if tree is None:
            return list(content_trees)
        merged.append(embed_content(problem, content, tree, widen, settings))
    return merged


def _flooded(problem: Problem, content_trees: Sequence[ContentTree], switch: str) -> list[ContentTree]:
    """All that comes to the switch leaves by every edge, in one line; the next switches drop the rest."""
    graph, full = problem.graph, problem.network.number[switch]
    now = []
    for one in content_trees:
        comes = [dz for edge in one.tree if graph.target_list[edge] == full for dz in one.filters[edge]]
        if any(problem.publisher_at[publisher] == full for publisher in one.content.publishers):
            comes += one.content.region
        filters = dict(one.filters)
        for edge in one.tree:
            if graph.source_list[edge] == full:
                filters[edge] = one.filters[edge] | DzSet(comes)
        now.append(with_filters(problem, one.content, one.tree, filters))
    return now


def _around(
    problem: Problem, content_trees: Sequence[ContentTree], switch: str, settings: RouteSettings
) -> list[ContentTree]:
    """All contents that only pass through the switch are led around it, if there is a path."""
    graph, full = problem.graph, problem.network.number[switch]
    open_graph = graph.among(vertex for vertex in range(graph.vertices) if vertex != full)
    widen, optimise = component("embedding", "fewest-flows"), component("subgraph", "steiner")
    now = list(content_trees)
    for place, one in enumerate(content_trees):
        if not any(full in (graph.source_list[edge], graph.target_list[edge]) for edge in one.tree):
            continue
        demand = demand_of(problem, one.content)
        if full in demand.roots or full in demand.terminals:
            continue
        tree: Tree | None = optimise(open_graph, [demand], (), settings)[0]
        if tree is not None:
            now[place] = embed_content(problem, one.content, tree, widen, settings)
    return now
