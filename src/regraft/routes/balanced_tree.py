"""Trees between the lightest and the shortest (Content routes §5.1.3; Khuller, Raghavachari, Young 1995).

Given α > 1, every path from the root is at most α times the shortest, and the whole tree weighs at most 1
+ 2/(α − 1) times the minimum spanning tree. The spanning tree is walked from the root; where the path so far
is too long, the shortest path to that vertex is added. Both bounds hold if weights are equal in both
directions.
"""

from collections.abc import Sequence

from regraft.routes.interface import Tree
from regraft.routes.path_search import path_to, search
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.spanning_tree import minimum_spanning_tree, within_one_tree


def balanced_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """The paths of each demand within the balanced tree of its root. Kind "subgraph"."""

    def balanced(whole: Graph, root: int) -> Tree:
        return balanced_tree(whole, root, minimum_spanning_tree(whole, root), settings.balance)

    return within_one_tree(graph, demands, forbidden, balanced)


def balanced_tree(graph: Graph, root: int, light: Tree, alpha: float) -> Tree:
    """O_BT (5.32) of the minimum spanning tree `light` and the shortest-path tree of the root (5.31)."""
    short = search(graph, root)
    shortest = [_length(graph, short, root, vertex) for vertex in range(graph.vertices)]
    distance = [float("inf")] * graph.vertices
    above: dict[int, int] = {}
    distance[root] = 0.0

    def relax(edge: int) -> None:
        source, target = graph.source_list[edge], graph.target_list[edge]
        if distance[source] + graph.weight_list[edge] < distance[target]:
            distance[target], above[target] = distance[source] + graph.weight_list[edge], edge

    below: dict[int, list[int]] = {}
    for edge in light:
        below.setdefault(graph.source_list[edge], []).append(edge)
    # Depth first, and back over every edge: a shortcut found further down also shortens paths on the way up.
    stack: list[tuple[int, bool]] = [(edge, True) for edge in sorted(below.get(root, ()), reverse=True)]
    while stack:
        edge, down = stack.pop()
        if not down:
            if (back := graph.opposite[edge]) >= 0:
                relax(back)
            continue
        relax(edge)
        vertex = graph.target_list[edge]
        if distance[vertex] > alpha * shortest[vertex]:
            for step in path_to(graph, short, root, vertex) or ():
                relax(step)
        stack.append((edge, False))
        stack += [(after, True) for after in sorted(below.get(vertex, ()), reverse=True)]
    return frozenset(above.values())


def _length(graph: Graph, above: Sequence[int], root: int, vertex: int) -> float:
    path = path_to(graph, above, root, vertex)
    return float("inf") if path is None else graph.weigh(path)
