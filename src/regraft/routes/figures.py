"""What routes cost: rates on edges, loads of switches, longest paths (Content routes (4.2), (4.39))."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.filters.dz import DzSet
from regraft.routes.interface import EmbedFilters
from regraft.routes.problem import Problem
from regraft.routes.settings import Settings
from regraft.routes.tables import Laid


class Load(NamedTuple):
    """Events per second over each edge and through each switch."""

    edges: NDArray[np.float64]
    switches: NDArray[np.float64]

    @property
    def data_rate(self) -> float:
        return float(self.edges.sum())


def load_of(problem: Problem, laid: Sequence[Laid]) -> Load:
    """What all contents put on edges and switches; a publisher's switch takes in all that it says."""
    graph, rates = problem.graph, _Rates(problem)
    edges = np.zeros(len(graph.sources))
    switches = np.zeros(graph.vertices)
    for publisher, at in enumerate(problem.publisher_at):
        switches[at] += problem.rates[publisher]
    for one in laid:
        for edge, rate in _crossing(problem, rates, one).items():
            edges[edge] += rate
            switches[graph.target_list[edge]] += rate
    return Load(edges, switches)


def longest_path(problem: Problem, laid: Sequence[Laid]) -> int:
    """The most edges from a publisher to a subscriber."""
    longest = 0
    for one in laid:
        for root in {problem.publisher_at[publisher] for publisher in one.content.publishers}:
            longest = max([longest, *depths(problem, one, root).values()])
    return longest


def depths(problem: Problem, one: Laid, root: int) -> dict[int, int]:
    """Edge -> how many edges events from the root have crossed after it."""
    graph = problem.graph
    leaving: dict[int, list[int]] = {}
    for edge in one.tree:
        leaving.setdefault(graph.source_list[edge], []).append(edge)
    found = dict.fromkeys(leaving.get(root, ()), 1)
    open_edges = list(found)
    for edge in open_edges:
        for after in leaving.get(graph.target_list[edge], ()):
            if after not in found and graph.cable_list[after] != graph.cable_list[edge]:
                found[after] = found[edge] + 1
                open_edges.append(after)
    return found


def false_positives(problem: Problem, laid: Sequence[Laid], exact: EmbedFilters, settings: Settings) -> float:
    """Events per second that cross an edge behind which nobody wants them: what exact filters would save."""
    least = [Laid(one.content, one.tree, exact(problem, one.content, one.tree, settings)) for one in laid]
    return max(0.0, load_of(problem, laid).data_rate - load_of(problem, least).data_rate)


class _Rates:
    """Events per second of a publisher in a part; the same few are asked for again and again."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[tuple[int, DzSet], float] = {}

    def __call__(self, publisher: int, part: DzSet) -> float:
        key = (publisher, part)
        if (rate := self._known.get(key)) is None:
            rate = self._known[key] = self.problem.rate_of(publisher, part)
        return rate


def _crossing(problem: Problem, rates: _Rates, one: Laid) -> dict[int, float]:
    """What of a content crosses each edge of its tree."""
    roots: dict[int, list[int]] = {}
    for publisher in one.content.publishers:
        roots.setdefault(problem.publisher_at[publisher], []).append(publisher)
    crossing: dict[int, float] = {}
    for root, publishers in roots.items():
        edges = one.filters if len(roots) == 1 else depths(problem, one, root)
        for edge in edges:
            rate = sum(rates(publisher, one.filters[edge]) for publisher in publishers)
            crossing[edge] = crossing.get(edge, 0.0) + rate
    return crossing
