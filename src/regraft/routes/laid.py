"""A content on its tree: filters, and the events per second that cross each edge (Content routes (4.2))."""

from collections.abc import Mapping
from typing import NamedTuple

from regraft.filters.dz import DzSet
from regraft.routes.interface import EmbedFilters, Tree
from regraft.routes.problem import Content, Problem
from regraft.routes.settings import Settings
from regraft.routes.shared_tree import reached


class Laid(NamedTuple):
    """A content on its tree, with the filter of each edge and what crosses it."""

    content: Content
    tree: Tree
    filters: Mapping[int, DzSet]
    crossing: Mapping[int, float]
    longest: int
    """Edges of the longest path."""


def lay(problem: Problem, content: Content, tree: Tree, embed: EmbedFilters, settings: Settings) -> Laid:
    """Embed the filters, and see what that lets through."""
    filters = embed(problem, content, tree, settings)
    crossing: dict[int, float] = dict.fromkeys(tree, 0.0)
    longest = 0
    roots: dict[int, list[int]] = {}
    for publisher in content.publishers:
        roots.setdefault(problem.publisher_at[publisher], []).append(publisher)
    for root, publishers in roots.items():
        known: dict[DzSet, float] = {}
        for edge, depth in reached(problem.graph, tree, root):
            filter, longest = filters[edge], max(longest, depth)
            if filter not in known:
                known[filter] = sum(problem.rate_of(publisher, filter) for publisher in publishers)
            crossing[edge] += known[filter]
    return Laid(content, tree, filters, crossing, longest)
