"""What routes cost: rates on edges, loads of switches, longest paths (Content routes (4.2), (4.39))."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.routes.interface import EmbedFilters
from regraft.routes.laid import Laid, lay
from regraft.routes.problem import Problem
from regraft.routes.settings import Settings


class Load(NamedTuple):
    """Events per second over each edge and through each switch."""

    edges: NDArray[np.float64]
    switches: NDArray[np.float64]

    @property
    def data_rate(self) -> float:
        return float(self.edges.sum())


def load_of(problem: Problem, laid: Sequence[Laid]) -> Load:
    """What all contents put on edges and switches; a publisher's switch takes in all that it says."""
    graph = problem.graph
    edges = np.zeros(len(graph.sources))
    switches = np.zeros(graph.vertices)
    for publisher, at in enumerate(problem.publisher_at):
        switches[at] += problem.rates[publisher]
    for one in laid:
        for edge, rate in one.crossing.items():
            edges[edge] += rate
            switches[graph.target_list[edge]] += rate
    return Load(edges, switches)


def longest_path(laid: Sequence[Laid]) -> int:
    """The most edges from a publisher to a subscriber."""
    return max((one.longest for one in laid), default=0)


def false_positives(problem: Problem, laid: Sequence[Laid], exact: EmbedFilters, settings: Settings) -> float:
    """Events per second that cross an edge behind which nobody wants them: what exact filters would save."""
    least = [lay(problem, one.content, one.tree, exact, settings) for one in laid]
    return max(0.0, load_of(problem, laid).data_rate - load_of(problem, least).data_rate)
