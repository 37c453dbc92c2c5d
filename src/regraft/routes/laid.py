"""A content on its tree: filters, and the events per second that cross each edge (Content routes (4.2))."""

from collections.abc import Mapping
from typing import NamedTuple

from regraft.filters.dz import DzSet
from regraft.routes.embedding import embed as exact
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
    return with_filters(problem, content, tree, embed(problem, content, tree, settings), embed is exact)


def with_filters(
    problem: Problem, content: Content, tree: Tree, filters: Mapping[int, DzSet], least: bool = False
) -> Laid:
    """These filters; if they are the least, all that one holds comes to it."""
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
    return Laid(content, tree, filters, crossing, longest)
