"""The combination solution: paths of all pairs and their common edges in one program (Content routes §5.1.1).

(5.18) minimises the weight of the edges that any path uses. A path from r_p (5.20) to r_s (5.21) is a unit of
flow: one switch per position (5.22)–(5.23) is the same as conservation of flow, and its length n bounds the
number of its edges. (5.24) becomes y ≥ flow. The edges of each root count with its rate, because only its own
events cross them; cycles over the edges of all roots are forbidden one by one, as they are found.
"""

from collections.abc import Sequence

from regraft.routes.interface import Tree
from regraft.routes.linear_program import INFINITY, Program
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.steiner import steiner_trees

NOT_USED = 0.5
TINY = 1e-6
"""The price of using a cable at all: of equally good solutions, the one with fewer cables wins."""


def combination(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """The least edges for each demand. Kind "subgraph"."""
    return [_combined(graph, demand, forbidden, settings) for demand in demands]


def _combined(
    graph: Graph, demand: Demand, forbidden: Sequence[Cycle], settings: RouteSettings
) -> Tree | None:
    if all(root == end for root in demand.roots for end in demand.terminals):
        return frozenset()
    program, edges = Program(settings.time_limit), graph.edges.tolist()
    weights = graph.weights[graph.edges]
    rates = demand.rates or (demand.rate,) * len(demand.roots)
    scale = max(rates) or 1.0
    used = program.variables([TINY] * len(edges), whole=bool(forbidden))
    by_root = []
    for root, rate in zip(demand.roots, rates, strict=True):
        crossed = program.variables((weights * max(rate / scale, TINY)).tolist(), whole=True)
        by_root.append(crossed)
        for place in range(len(edges)):
            program.row(0.0, INFINITY, [used[place], crossed[place]], [1.0, -1.0])
        for number, end in enumerate(demand.terminals):
            if end != root:
                path_rows(program, graph, root, end, crossed, demand.hops_to(number))
    for cycle in forbidden:
        places = [place for place, edge in enumerate(edges) if edge in cycle]
        program.row(-INFINITY, len(cycle) - 1.0, [used[place] for place in places], [1.0] * len(places))
    values = program.solve()
    if values is None or not program.proven:  # an unproven solution may not be a tree
        return steiner_trees(graph, [demand], forbidden, settings)[0]
    found = {
        edges[place]
        for crossed in by_root
        for place in range(len(edges))
        if values[crossed[place]] > NOT_USED
    }
    return frozenset(edge for root in demand.roots for edge in _live(graph, frozenset(found), root))


def path_rows(
    program: Program,
    graph: Graph,
    start: int,
    end: int,
    crossed: Sequence[int],
    limit: int | None,
    whole: bool = True,
) -> None:
    """The rows of one path: flow is conserved, uses crossed edges only, and keeps the limit."""
    edges = graph.edges.tolist()
    flow = program.variables([0.0] * len(edges))
    place = dict(zip(edges, flow, strict=True))
    for vertex in range(graph.vertices):
        columns = [place[edge] for edge in (*graph.leaving[vertex], *graph.entering[vertex])]
        signs = [1.0] * len(graph.leaving[vertex]) + [-1.0] * len(graph.entering[vertex])
        net = float(vertex == start) - float(vertex == end)
        if columns or net:
            program.row(net, net, columns, signs)
    for column, taken in zip(flow, crossed, strict=True):
        program.row(0.0, INFINITY, [taken, column], [1.0, -1.0])
    if limit is not None:
        if whole:
            program.whole(flow)
        program.row(-INFINITY, limit, list(flow), [1.0] * len(flow))


def _live(graph: Graph, found: Tree, root: int) -> list[int]:
    """The edges that events from the root reach. Circles of weight 0 that no event reaches are left out;
    cycles that events do reach stay, for cycle detection to find."""
    seen: set[int] = set()
    open_vertices, edges = [root], []
    leaving: dict[int, list[int]] = {}
    for edge in found:
        leaving.setdefault(graph.source_list[edge], []).append(edge)
    while open_vertices:
        vertex = open_vertices.pop()
        if vertex in seen:
            continue
        seen.add(vertex)
        for edge in leaving.get(vertex, ()):
            edges.append(edge)
            open_vertices.append(graph.target_list[edge])
    return edges
