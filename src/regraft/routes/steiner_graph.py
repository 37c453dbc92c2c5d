"""Near-minimum Steiner trees of one root, with a proven bound, for many demands (Content routes §5.1.4).

Dual ascent gives a lower bound and the edges that prove it; trees grown over those edges and over all edges
are improved by adding and removing vertices. If every edge has an opposite of the same weight, any terminal
may act as the root: further roots are tried while tree and bound differ. `steiner_program` can close the gap
that remains.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from regraft.routes import kernel_steiner as kernel
from regraft.routes.interface import Tree
from regraft.routes.problem import Graph

ROOTS = 4
"""How many roots are tried, at most, until tree and bound meet."""


Key = tuple[int, tuple[int, ...]]
"""Root and terminals."""


class Bounded(NamedTuple):
    """A tree, its cost, and a lower bound on all trees. `tree` is None if a terminal cannot be reached."""

    tree: Tree | None
    cost: float
    bound: float

    @property
    def proven(self) -> bool:
        return self.tree is not None and self.cost <= self.bound + 1e-6 * max(1.0, self.cost)


class SteinerGraph:
    """A graph prepared for many demands."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.costs = np.where(graph.allowed, graph.weights, np.inf)
        self.first_out, self.leaving = kernel.by_end(graph.sources, graph.vertices, graph.allowed)
        self.first_in, self.entering = kernel.by_end(graph.targets, graph.vertices, graph.allowed)
        self.symmetric = is_symmetric(graph)
        self.solved: dict[Key, Bounded] = {}

    def solve(self, root: int, terminals: Sequence[int]) -> Bounded:
        """A tree from the root to the terminals, and the bound; both are computed once and remembered."""
        key = (root, tuple(terminals))
        if key not in self.solved:
            self.solved[key] = self._solve(root, terminals)
        return self.solved[key]

    def below(self, root: int, terminals: Sequence[int]) -> float:
        """A lower bound on all trees, the one that is computed fastest."""
        bound, _ = kernel.dual_ascent(
            self.graph.sources, self.costs, self.first_in, self.entering, root, self._wanted(root, terminals)
        )
        return float(bound)

    def _wanted(self, root: int, terminals: Sequence[int]) -> kernel.Flags:
        wanted = np.zeros(self.graph.vertices, dtype=np.bool_)
        wanted[list(terminals)] = True
        wanted[root] = True
        return wanted

    def _solve(self, root: int, terminals: Sequence[int], roots: int = ROOTS) -> Bounded:
        wanted = self._wanted(root, terminals)
        best: kernel.Ints | None = None
        cost, bound = np.inf, 0.0
        others = [each for each in terminals if each != root] if self.symmetric else []
        for start in [root, *others[: roots - 1]]:
            below, reduced = kernel.dual_ascent(
                self.graph.sources, self.costs, self.first_in, self.entering, start, wanted
            )
            bound = max(bound, below)
            for above in self._grown(root, wanted, reduced if start == root else None):
                if (weight := kernel.weight_of(above, self.costs)) < cost - kernel.NOTHING:
                    best, cost = above, weight
            if start != root:
                tried = self._through(start, root, wanted, reduced)
                if tried is not None and (weight := kernel.weight_of(tried, self.costs)) < cost:
                    best, cost = tried, weight
            if best is None:
                return Bounded(None, np.inf, np.inf)
            if cost <= bound + 1e-6 * max(1.0, cost):
                break
        assert best is not None
        return Bounded(frozenset(best[best >= 0].tolist()), float(cost), float(min(bound, cost)))

    def _grown(self, root: int, wanted: kernel.Flags, reduced: kernel.Floats | None) -> list[kernel.Ints]:
        """Trees over the edges of reduced cost 0, if `reduced` is given, and over all edges."""
        graph, found = self.graph, []
        costs = self.costs if reduced is None else np.where(reduced <= kernel.NOTHING, self.costs, np.inf)
        for each in (costs, self.costs) if reduced is not None else (costs,):
            above = kernel.grow(
                graph.sources, graph.targets, each, self.first_out, self.leaving, root, wanted
            )
            if (above[wanted] == kernel.OUTSIDE).any():
                continue
            found.append(self._improved(root, wanted, above))
        return found

    def _through(
        self, start: int, root: int, wanted: kernel.Flags, reduced: kernel.Floats
    ) -> kernel.Ints | None:
        """A tree that is grown from another terminal and then directed away from the root."""
        graph = self.graph
        costs = np.where(reduced <= kernel.NOTHING, self.costs, np.inf)
        above = kernel.grow(graph.sources, graph.targets, costs, self.first_out, self.leaving, start, wanted)
        chosen = above != kernel.OUTSIDE
        if not chosen[wanted].all():
            return None
        turned = kernel.span(
            graph.sources, graph.targets, self.costs, self.first_out, self.leaving, root, chosen
        )
        kernel.prune(graph.sources, turned, wanted)
        return self._improved(root, wanted, turned)

    def _improved(self, root: int, wanted: kernel.Flags, above: kernel.Ints) -> kernel.Ints:
        if not self.symmetric:
            return above
        graph = self.graph
        return kernel.improve(
            graph.sources, graph.targets, self.costs, self.first_out, self.leaving, root, wanted, above
        )


@lru_cache(maxsize=8)
def prepared(graph: Graph) -> SteinerGraph:
    """The prepared graph, one for each graph: components and bounds share what was solved."""
    return SteinerGraph(graph)


def is_symmetric(graph: Graph) -> bool:
    """Whether every usable edge has a usable opposite of the same weight."""
    there = {
        (int(graph.sources[edge]), int(graph.targets[edge]), float(graph.weights[edge]))
        for edge in graph.edges
    }
    return all((target, source, weight) in there for source, target, weight in there)
