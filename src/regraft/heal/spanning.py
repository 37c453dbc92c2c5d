"""The cheapest tree over the neighbours of a gap. Pure.

Where all links cost the same, a tree's cost is the sum over its links of the demand of the classes that the
link separates. A cut tree (Gomory and Hu 1961) is then the cheapest of all: along any other tree the ends of
each link of the cut tree are separated by some link, which carries at least as much (Hu 1974); the proof
needs only that the cuts are symmetric and submodular, so it also holds for classes of many members. A cut
tree takes k − 1 minimum cuts (Gusfield 1990).

Where costs differ or degrees are limited, that tree (or one that keeps the degrees) is improved by exchanging
one link at a time. Complexity: k − 1 minimum cuts (`cuts`), then at most `EXCHANGES` evaluations of
O(k² · classes), fewer with many classes.
"""

from dataclasses import dataclass, field

import numpy as np

from regraft.heal.cuts import cuts_of
from regraft.heal.gap import Gap, sides_of
from regraft.model import Infeasible

Links = list[tuple[int, int]]
EXCHANGES = 24
EVALUATED = 20_000
"""How many classes all evaluations together may look at."""


@dataclass(frozen=True)
class Tree:
    """`exact`: proven to be the cheapest."""

    links: Links = field(default_factory=list)
    cost: float = 0.0
    exact: bool = True


def best_tree(gap: Gap) -> Tree | Infeasible:
    k = len(gap.names)
    if k < 2:
        return Tree()
    if min(gap.capacity) < 1 or sum(gap.capacity) < 2 * (k - 1):
        full = gap.names[gap.capacity.index(min(gap.capacity))]
        return Infeasible("joining takes more links than its neighbours may get", "max_degree", full, True)
    if k == 2:
        return Tree([(0, 1)], gap.cost([(0, 1)]), True)
    links, proven = cut_tree(gap)
    limited = not gap.free and _over(gap, links)
    if limited:
        links = within_degrees(gap)
    cost = gap.cost(links)
    if limited or not gap.uniform:
        links, cost = _exchanged(gap, links, cost)
    links = sorted((min(link), max(link)) for link in links)
    return Tree(links, cost, proven and gap.uniform and not limited)


def cut_tree(gap: Gap) -> tuple[Links, bool]:
    """Gusfield's method: cut each point from its parent; the parent's other children on its side follow
    it."""
    k = len(gap.names)
    cuts = cuts_of(gap)
    parent = [0] * k
    for s in range(1, k):
        t = parent[s]
        side = cuts.side(s, t)
        for i in range(k):
            if i != s and i in side and parent[i] == t:
                parent[i] = s
        if parent[t] in side:
            parent[s], parent[t] = parent[t], s
    return [(s, above) for s, above in enumerate(parent) if s != above], cuts.exact


def within_degrees(gap: Gap) -> Links:
    """A tree within the degree limit: each broker joins where it exchanges most, those with room for one link
    last.

    A broker with room for two or more links never reduces the room for later ones, so all find a place.
    """
    k = len(gap.names)
    together = gap.classes.T @ (gap.classes * gap.demand[:, None]) if len(gap.demand) else np.zeros((k, k))
    order = sorted(range(k), key=lambda i: (gap.capacity[i] < 2, -together[i].sum(), i))
    room = list(gap.capacity)
    placed, links = [order[0]], []
    for i in order[1:]:
        j = max((j for j in placed if room[j] > 0), key=lambda j: (together[i, j] / gap.link_costs[i, j], -j))
        links.append((i, j))
        room[i] -= 1
        room[j] -= 1
        placed.append(i)
    return links


def _over(gap: Gap, links: Links) -> bool:
    degrees = np.bincount(np.array(links).ravel(), minlength=len(gap.names))
    return bool(np.any(degrees > np.array(gap.capacity)))


def _exchanged(gap: Gap, links: Links, cost: float) -> tuple[Links, float]:
    """Exchanges one link at a time while that is cheaper: the dearest first, for the cheapest that reconnects
    the tree."""
    left = max(4, min(EXCHANGES, EVALUATED // max(1, len(gap.demand))))
    improved = True
    while improved and left > 0:
        improved = False
        for number in sorted(range(len(links)), key=lambda n: -gap.link_costs[links[n]]):
            side = sides_of(len(gap.names), links)[number] > 0
            pairs = [(int(a), int(b)) for a in np.flatnonzero(side) for b in np.flatnonzero(~side)]
            pairs.sort(key=lambda pair: float(gap.link_costs[pair]))
            for pair in pairs[: max(2, EXCHANGES // len(links))]:
                other = [*links[:number], pair, *links[number + 1 :]]
                if pair == links[number] or _over(gap, other):
                    continue
                left -= 1
                if (cheaper := gap.cost(other)) < cost - 1e-12:
                    links, cost, improved = other, cheaper, True
                    break
            if left <= 0 or improved:
                break
    return links, cost
