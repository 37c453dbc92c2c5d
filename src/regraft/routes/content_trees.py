"""A content on its tree with filters, and what all contents cost (Content routes (4.2), (4.39))."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.filters.dz import DzSet
from regraft.routes.embedding import embed as exact
from regraft.routes.interface import EmbedFilters, Tree
from regraft.routes.problem import Content, Problem
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import reached


class ContentTree(NamedTuple):
    """A content on its tree, with the filter of each edge and the events per second that cross it."""

    content: Content
    tree: Tree
    filters: Mapping[int, DzSet]
    crossing: Mapping[int, float]
    longest: int
    """How many edges the longest path has."""


def embed_content(
    problem: Problem, content: Content, tree: Tree, embed: EmbedFilters, settings: RouteSettings
) -> ContentTree:
    """The content on this tree, with filters from `embed`."""
    return with_filters(problem, content, tree, embed(problem, content, tree, settings), embed is exact)


def with_filters(
    problem: Problem, content: Content, tree: Tree, filters: Mapping[int, DzSet], least: bool = False
) -> ContentTree:
    """The content on this tree with these filters. If they are the `least` ones, every event that a filter
    holds also reaches its edge, so the filters before it need not be considered."""
    crossing: dict[int, float] = dict.fromkeys(tree, 0.0)
    longest = 0
    for publisher in content.publishers:
        root, said = problem.publisher_at[publisher], problem.advertised[publisher] & content.region
        known: dict[DzSet, float] = {}
        passing: dict[int, DzSet] = {}
        for edge, depth, before in reached(problem.graph, tree, root):
            part = filters[edge]
            if not least:
                part = passing[edge] = (said if before is None else passing[before]) & part
            longest = max(longest, depth)
            if part not in known:
                known[part] = problem.rate_of(publisher, part)
            crossing[edge] += known[part]
    return ContentTree(content, tree, filters, crossing, longest)


class RouteLoad(NamedTuple):
    """Events per second over each edge and through each switch."""

    edges: NDArray[np.float64]
    switches: NDArray[np.float64]

    @property
    def data_rate(self) -> float:
        return float(self.edges.sum())


def load_of(problem: Problem, content_trees: Sequence[ContentTree]) -> RouteLoad:
    """The load of all contents on edges and switches; a publisher's switch carries all its events."""
    graph = problem.graph
    edges = np.zeros(len(graph.sources))
    switches = np.zeros(graph.vertices)
    for publisher, at in enumerate(problem.publisher_at):
        switches[at] += problem.rates[publisher]
    for one in content_trees:
        for edge, rate in one.crossing.items():
            edges[edge] += rate
            switches[graph.target_list[edge]] += rate
    return RouteLoad(edges, switches)


def longest_path(content_trees: Sequence[ContentTree]) -> int:
    """The most edges from a publisher to a subscriber."""
    return max((one.longest for one in content_trees), default=0)


def false_positives(
    problem: Problem, content_trees: Sequence[ContentTree], exact: EmbedFilters, settings: RouteSettings
) -> float:
    """Events per second that cross an edge although no subscriber behind it wants them."""
    least = [embed_content(problem, one.content, one.tree, exact, settings) for one in content_trees]
    return max(0.0, load_of(problem, content_trees).data_rate - load_of(problem, least).data_rate)
