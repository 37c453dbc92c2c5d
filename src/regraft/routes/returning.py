"""What is still the best when cables fail or return (Content routes §8, outlook): it is not computed again.

A tree over none of the cables that failed is as good as before, and no other has become better. A cable that
returns helps a tree only if the tree can use it for less than it costs now: over the edge from u to v, a
tree needs at least the shortest way from its root to u, the edge, and the shortest way from v to one of its
terminals; where several roots share a tree, the others need at least their way to the farthest terminal.
"""

import heapq
from collections.abc import Iterable, Sequence

from regraft.routes.interface import Tree
from regraft.routes.problem import Graph
from regraft.routes.shared_tree import weight_for
from regraft.routes.steiner_graph import SteinerGraph

SAVES = 1e-9


class StillBest:
    """The network of now (`graph`), and the edges that were out of order before."""

    def __init__(self, graph: Graph, returned: Iterable[int]) -> None:
        self.graph = graph
        self.returned = list(returned)
        self._to = {edge: distances(graph, graph.source_list[edge], back=True) for edge in self.returned}
        self._from = {edge: distances(graph, graph.target_list[edge]) for edge in self.returned}
        self._far: dict[int, list[float]] = {}

    def alone(self, root: int, terminals: Sequence[int], tree: Tree) -> bool:
        """Whether this tree of one root is as good as any that the network has now."""
        return self._there(tree) and self.graph.weigh(tree) <= self._over(root, terminals) + SAVES

    def shared(
        self, roots: Sequence[int], rates: Sequence[float], terminals: Sequence[int], tree: Tree
    ) -> bool:
        """The same for a tree that roots with these rates share."""
        if len(roots) == 1 or not self.returned:
            return self.alone(roots[0], terminals, tree) if self.returned else self._there(tree)
        if not self._there(tree):
            return False
        far = [max((self._distances(root)[end] for end in terminals), default=0.0) for root in roots]
        least = sum(rate * each for rate, each in zip(rates, far, strict=True))
        over = min(
            least + rate * max(0.0, self._over(root, terminals) - each)
            for root, rate, each in zip(roots, rates, far, strict=True)
        )
        now = sum(rate * weight_for(self.graph, tree, root) for root, rate in zip(roots, rates, strict=True))
        return now <= over + SAVES

    def inherit(self, before: SteinerGraph, now: SteinerGraph) -> None:
        """Trees of single roots that were solved before, and their bounds, where both still hold."""
        for key, found in before.solved.items():
            if key not in now.solved and found.tree is not None and self.alone(*key, found.tree):
                now.solved[key] = found

    def _there(self, tree: Tree) -> bool:
        return bool(self.graph.allowed[list(tree)].all())

    def _over(self, root: int, terminals: Sequence[int]) -> float:
        """No tree from this root that uses a returned edge weighs less."""
        weights = self.graph.weight_list
        return min(
            (
                self._to[edge][root] + weights[edge] + min(self._from[edge][end] for end in terminals)
                for edge in self.returned
                if terminals
            ),
            default=float("inf"),
        )

    def _distances(self, root: int) -> list[float]:
        if root not in self._far:
            self._far[root] = distances(self.graph, root)
        return self._far[root]


def distances(graph: Graph, start: int, back: bool = False) -> list[float]:
    """From here to every switch, or from every switch to here (Dijkstra)."""
    near, ends = (graph.entering, graph.source_list) if back else (graph.leaving, graph.target_list)
    distance = [float("inf")] * graph.vertices
    distance[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        far, vertex = heapq.heappop(heap)
        if far > distance[vertex]:
            continue
        for edge in near[vertex]:
            after, further = ends[edge], far + graph.weight_list[edge]
            if further < distance[after]:
                distance[after] = further
                heapq.heappush(heap, (further, after))
    return distance
