"""Which trees are still the best when cables fail or return (Content routes §8): they are not computed again.

A tree that uses no failed cable is as good as before, and no other tree has become better. A cable that
returns improves a tree only if a tree over that cable costs less. There is none

- if the shortest path from the root to the cable, the cable, and the shortest path on to a terminal cost as
  much as the tree: any tree over the cable contains them;
- if a lower bound on all trees of the current network, with the cable, is as high as the cost of the tree.

A tree that several roots share is made of such single-root trees and of each root's shortest path to them: if
none of these may change, it would be found again.
"""

import heapq
from collections.abc import Iterable, Sequence

from regraft.routes.interface import Tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.shared_tree import single_roots
from regraft.routes.steiner_graph import Bounded, Key, prepared

SAVES = 1e-9


class StillBest:
    """The network before and now; `returned` are the edges that were out of order before."""

    def __init__(self, before: Graph, now: Graph, returned: Iterable[int]) -> None:
        self.graph = now
        self.returned = list(returned)
        self._old = before
        self._to = {edge: distances(now, now.source_list[edge], back=True) for edge in self.returned}
        self._from = {edge: distances(now, now.target_list[edge]) for edge in self.returned}
        self._moved: dict[int, frozenset[int]] = {}
        self._kept: dict[Key, Tree] = {}
        self._inherit()

    def holds(self, demand: Demand, tree: Tree) -> bool:
        """Whether this tree of the demand would be found again."""
        if not self._there(tree):
            return False
        if len(demand.roots) == 1:
            return self._least(demand.roots[0], demand.terminals, self.graph.weigh(tree))
        if not self.returned:
            return True
        graph = self.graph
        parts = [self._kept.get(key) for key in single_roots(demand)]
        edges = {edge for part in parts if part is not None for edge in part}
        ends = {graph.source_list[edge] for edge in edges} | {graph.target_list[edge] for edge in edges}
        return None not in parts and not any(self._nearer(root) & ends for root in demand.roots)

    def _inherit(self) -> None:
        """Take over single-root trees that were solved before, with their bounds, where both still hold."""
        before, now = prepared(self._old), prepared(self.graph)
        for key, found in before.solved.items():
            if found.tree is None or not self._there(found.tree):
                continue
            if found.cost <= self._over(*key) + SAVES:
                now.solved.setdefault(key, found)
            elif found.cost <= now.below(*key) + SAVES:
                now.solved.setdefault(key, Bounded(found.tree, found.cost, found.cost))
            else:
                continue
            self._kept[key] = found.tree

    def _least(self, root: int, terminals: Sequence[int], weight: float) -> bool:
        known = prepared(self.graph).solved.get((root, tuple(terminals)))
        if known is not None and weight <= known.cost + SAVES:
            return True
        return weight <= self._over(root, terminals) + SAVES

    def _there(self, tree: Tree) -> bool:
        return bool(self.graph.allowed[list(tree)].all())

    def _over(self, root: int, terminals: Sequence[int]) -> float:
        """A lower bound on the weight of every tree from this root that uses a returned edge."""
        weights = self.graph.weight_list
        ways = (
            self._to[edge][root] + weights[edge] + min(self._from[edge][end] for end in terminals)
            for edge in self.returned
            if terminals
        )
        return min(ways, default=float("inf"))

    def _nearer(self, root: int) -> frozenset[int]:
        """Switches whose distance from this root has changed."""
        if root not in self._moved:
            pairs = zip(distances(self._old, root), distances(self.graph, root), strict=True)
            self._moved[root] = frozenset(
                vertex for vertex, (was, is_now) in enumerate(pairs) if abs(was - is_now) > SAVES
            )
        return self._moved[root]


def distances(graph: Graph, start: int, back: bool = False) -> list[float]:
    """The distance from `start` to every switch or, with `back`, from every switch to `start` (Dijkstra)."""
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
