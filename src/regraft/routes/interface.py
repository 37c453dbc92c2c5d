"""What each component of the framework takes and gives (Content routes §5, Figure 6.1).

One Protocol per kind of component, with the thesis's inputs I and outputs O. A component is a plain
function; `registry` finds it by kind and name. All are pure: time, randomness and processes stay outside.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regraft.filters.dz import Dz, DzSet
from regraft.routes.problem import Content, Cycle, Demand, Graph, Path, Problem
from regraft.routes.settings import RouteSettings

Tree = frozenset[int]
"""Directed edges; from each root every terminal is reached over exactly one path."""


class FindPaths(Protocol):
    """I_SP (5.1): edges and both ends; O_SP (5.2): up to `count` paths per pair, best first.

    A pair that nothing joins gets no path. Kind "paths".
    """

    def __call__(
        self, graph: Graph, pairs: Sequence[tuple[int, int]], count: int = 1
    ) -> list[tuple[Path, ...]]: ...


class BuildTree(Protocol):
    """I_SPT (5.9): for each terminal its paths from the root; O_SPT (5.10): one tree. Kind "trees"."""

    def __call__(self, graph: Graph, root: int, paths: Sequence[tuple[Path, ...]]) -> Tree: ...


class EmbedFilters(Protocol):
    """I_FE (5.56): tree, advertisements and subscriptions; O_SF (5.57): the filter of each edge.

    Every edge of the tree is a key; an edge without interested subscribers behind it gets an empty set.
    Filters hold at least what the subscribers behind the edge want of `content.region`, and may hold more (up
    to the region) where that saves flows. Kind "embedding".
    """

    def __call__(
        self, problem: Problem, content: Content, tree: Tree, settings: RouteSettings
    ) -> Mapping[int, DzSet]: ...


class ClusterFilters(Protocol):
    """I_SC (5.48): dz-expressions (what publishers and subscribers share); O_SC (5.49): clusters.

    `terminals[i]`, if known, are the switches at which `expressions[i]` is wanted, and for shared trees also
    those at which it is published (numbered after all switches). The parts of the result are disjoint and
    together cover all the expressions. Kind "clustering".
    """

    def __call__(
        self, expressions: Sequence[Dz], settings: RouteSettings, terminals: Sequence[frozenset[int]] = ()
    ) -> list[DzSet]: ...


class SelectSubgraph(Protocol):
    """Edges in use and how many rings of neighbours around them; the sub graph (§6.3). Kind "selection"."""

    def __call__(self, graph: Graph, used: Sequence[int], rings: int) -> Graph: ...


class Fragment(NamedTuple):
    """A part of a sub graph with the demands inside it.

    `part_of[i]` is the demand of the whole that `demands[i]` is a part of.
    """

    graph: Graph
    demands: tuple[Demand, ...]
    part_of: tuple[int, ...]
    chains: tuple[Tree, ...] = ()
    """Paths outside the fragment. Each is represented by two edges, numbered after those of the network:
    edges 2i and 2i + 1 stand for `chains[i]`."""


class Fragmentation(NamedTuple):
    """O_F (5.70): disjoint fragments; `fixed[i]` are the edges of demand i of the whole that stay between
    them.

    The trees of the parts and the fixed edges together are the new tree. With `exchange`, each part is
    instead a proposal to replace what the current tree has there; they are tried one after the other.
    """

    fragments: tuple[Fragment, ...]
    fixed: tuple[frozenset[int], ...]
    exchange: bool = False


class FragmentGraph(Protocol):
    """I_F (5.69): sub graph, its demands and their current trees; fragments of at most `size` vertices.

    The trees of the parts together with the fixed edges serve the demands of the whole. Each `turn` of the
    iteration gives other fragments (§5.3.3). Kind "fragmentation".
    """

    def __call__(
        self, graph: Graph, demands: Sequence[Demand], trees: Sequence[Tree], size: int, turn: int = 0
    ) -> Fragmentation: ...


class OptimiseSubgraph(Protocol):
    """I_CS (5.16): sub graph and demands; O_CS (5.17): the tree of each demand, or None if there is none.

    No tree may use all edges of a set in `forbidden`: that is how found cycles come back. Path length limits
    are in the demands. Kind "subgraph".
    """

    def __call__(
        self,
        graph: Graph,
        demands: Sequence[Demand],
        forbidden: Sequence[Cycle],
        settings: RouteSettings,
    ) -> list[Tree | None]: ...


class DetectCycles(Protocol):
    """I_CD (5.67): directed edges in use; O_CD (5.68): the sets of edges that let an event loop or arrive
    twice when tables match on the dz-expression alone. The two directions of one cable are no cycle: an
    event never leaves by the cable it came in by. Kind "cycles"."""

    def __call__(self, graph: Graph, edges: Tree) -> list[Cycle]: ...


class Weighting(NamedTuple):
    """Weights of the edges and their bounds B_l, B_u (4.37)."""

    weights: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class Rebalance(Protocol):
    """The current weights and the load λ of each edge (events per second); the next weights (§5.3.4).

    `capacity[e]` is the load at which the edge counts as full (inf: no limit). Kind "rebalancing".
    """

    def __call__(
        self, weighting: Weighting, load: NDArray[np.float64], capacity: NDArray[np.float64], round: int
    ) -> Weighting: ...
