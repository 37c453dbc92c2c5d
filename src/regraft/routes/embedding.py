"""Filters on the edges of a tree, from the subscribers backwards (Content routes §5.2.1, §6.2).

The filter of an edge is what the subscribers behind it want, of what the publishers before it advertise. For
the first half, an edge waits until every edge after it has its filter, so the work begins at the subscribers
and pauses at every fork. The second half matters if a tree has several publishers and their events meet. The
result is exact: an edge carries an event only if a subscriber behind it wants it (4.27)–(4.30).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from regraft.filters.dz import DzSet
from regraft.routes.atoms import EventMasks, event_masks
from regraft.routes.interface import Tree
from regraft.routes.problem import Content, Graph, Problem
from regraft.routes.settings import RouteSettings


class Embedded(NamedTuple):
    """The region and the filters of the edges as integers over the atoms of `events`."""

    events: EventMasks
    region: int
    filters: dict[int, int]


def embed(problem: Problem, content: Content, tree: Tree, settings: RouteSettings) -> Mapping[int, DzSet]:
    """The smallest filters: no false positive anywhere in the tree."""
    events, _, filters = embedded(problem, content, tree)
    parts = {mask: events.atoms.part(mask) for mask in set(filters.values())}
    return {edge: parts[mask] for edge, mask in filters.items()}


def embedded(problem: Problem, content: Content, tree: Tree) -> Embedded:
    """`embed`, with the filters as integers."""
    graph = problem.graph
    events = problem.masks
    if not events.atoms.divides(content.region):
        hosts = (problem.advertised, problem.subscribed, problem.subscriber_at, graph.vertices)
        events = event_masks(*hosts, also=(content.region,))
    region = events.atoms.mask(content.region)
    after, before = neighbours(graph, tree)

    def wanted_at_end(edge: int) -> int:
        return events.wants_at[graph.target_list[edge]] & region

    behind = gathered(after, before, wanted_at_end)
    says: dict[int, int] = {}
    for publisher in content.publishers:
        at = problem.publisher_at[publisher]
        says[at] = says.get(at, 0) | events.advertised[publisher] & region
    if len(says) == 1:
        (advertised,) = says.values()
        return Embedded(events, region, {edge: mask & advertised for edge, mask in behind.items()})
    ahead = gathered(before, after, lambda edge: says.get(graph.source_list[edge], 0))
    return Embedded(events, region, {edge: mask & ahead[edge] for edge, mask in behind.items()})


def neighbours(graph: Graph, tree: Tree) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """For each edge those that an event may take after and before it: never back over the same cable."""
    cables = graph.cable_list
    leaving: dict[int, list[int]] = {}
    for edge in sorted(tree):
        leaving.setdefault(graph.source_list[edge], []).append(edge)
    after: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {edge: [] for edge in tree}
    for edge in sorted(tree):
        ways = leaving.get(graph.target_list[edge], ())
        after[edge] = [way for way in ways if cables[way] != cables[edge]]
        for following in after[edge]:
            before[following].append(edge)
    return after, before


def gathered(
    inputs: Mapping[int, Sequence[int]], outputs: Mapping[int, Sequence[int]], own: Callable[[int], int]
) -> dict[int, int]:
    """For each edge the union of its own part and those of its inputs, which are computed first."""
    waiting = {edge: len(found) for edge, found in inputs.items()}
    ready = [edge for edge, count in waiting.items() if not count]
    masks: dict[int, int] = {}
    while ready:
        edge = ready.pop()
        mask = own(edge)
        for each in inputs[edge]:
            mask |= masks[each]
        masks[edge] = mask
        for following in outputs[edge]:
            waiting[following] -= 1
            if not waiting[following]:
                ready.append(following)
    if len(masks) < len(inputs):
        raise ValueError("edges that form a cycle have no filters: cycle detection must come first")
    return masks
