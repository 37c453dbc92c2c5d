"""Which part of the network a sub graph is: the edges in use and rings around them (Content routes §6.3)."""

from collections.abc import Sequence

import numpy as np

from regraft.routes.problem import Graph


def rings_around(graph: Graph, used: Sequence[int], rings: int) -> Graph:
    """The vertices of the used edges, `rings` times their neighbours, and all edges between them.

    Neighbours are the switches at either end of an edge, whatever its direction. If `rings` is negative, the
    whole graph.
    """
    if rings < 0:
        return graph
    inside = np.zeros(graph.vertices, dtype=np.bool_)
    chosen = np.fromiter(used, dtype=np.int64)
    inside[graph.sources[chosen]] = True
    inside[graph.targets[chosen]] = True
    sources, targets = graph.sources[graph.edges], graph.targets[graph.edges]
    for _ in range(rings):
        out, back = inside[sources], inside[targets]
        inside[targets[out]] = True
        inside[sources[back]] = True
    return graph.among(np.flatnonzero(inside))


def everything(graph: Graph, used: Sequence[int], rings: int) -> Graph:
    """The whole network: the slowest choice, but nothing is left out."""
    return graph
