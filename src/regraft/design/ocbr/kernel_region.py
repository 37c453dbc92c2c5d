"""Compiled: the best tree over a few brokers, by dynamic programming over their subsets.

`inside[S]` is the demand of the classes whose members are all in S. A link with S on one side carries
D − inside[S] − inside[rest]; a broker is crossed by all classes but those inside one of the parts that
its removal leaves. Both depend only on which brokers are below a link, so the best branch over a set is
built from the best branches over a partition of it: O(k·3^(k−1)) time for k brokers, whatever the number
of classes.

The brokers may be a whole small network (an exact design), or a connected region of a large tree with
everything else hanging on them: then the result is the best rearrangement of that region, of which a
master's neighbourhood (OCBR §3.1) is a special case.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_loop import Net, Worth, price_of, push_around
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints, Tree


class Region(NamedTuple):
    """Scratch for up to `prices.shape[0]` brokers; place 0 is the one that the rest hangs from."""

    brokers: Ints
    hanging: Ints
    """Memberships that hang on each broker outside the region, its own included."""
    prices: Floats
    cost: Floats
    inside: Floats
    branch: Floats
    """[S, w]: the cost of the best branch over S hanging by w."""
    hung: Floats
    """[S, v]: the same with the link from S to v, outside S, and what v is spared."""
    by: Ints
    """[S, v]: the broker of S that the link goes to."""
    parts: Floats
    """[S, v]: S in the best partition into branches, each hanging by v."""
    split: Ints
    """[S, v]: the part of that partition which holds the lowest broker of S."""
    found: Ints
    """Parents by place, as the best tree has them."""


@njit(cache=True, nogil=True)
def new_region(most: int) -> Region:
    sets = 1 << (most - 1) if most else 1
    return Region(
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros((most, most)),
        np.zeros(most),
        np.zeros(2 * sets),
        np.zeros((sets, most)),
        np.zeros((sets, most)),
        np.zeros((sets, most), np.int64),
        np.zeros((sets, most)),
        np.zeros((sets, most), np.int64),
        np.zeros(most, np.int64),
    )


@njit(cache=True, nogil=True)
def enclose(inside: Floats, k: int) -> None:
    """From the demand of exactly S to that of every subset of S."""
    for bit in range(k):
        for s in range(1 << k):
            if s >> bit & 1:
                inside[s] += inside[s ^ (1 << bit)]


@njit(cache=True, nogil=True)
def best_tree(region: Region, k: int) -> float:
    """Fill `found` with the cheapest tree over k brokers; its cost. Sets leave out broker 0: bit i is i + 1.

    `inside` covers all k brokers, bit i is broker i. Infinite if no tree is possible.
    """
    inside, cost, branch, hung, parts = region.inside, region.cost, region.branch, region.hung, region.parts
    everything = (1 << k) - 1
    total = inside[everything]
    parts[0, :k] = 0.0
    for s in range(1, 1 << (k - 1)):
        within, outside = inside[s << 1], inside[everything ^ (s << 1)]
        carried = total - within - outside
        for w in range(1, k):
            if s >> (w - 1) & 1:
                branch[s, w] = parts[s ^ (1 << (w - 1)), w] + cost[w] * (total - outside)
        for v in range(k):
            if v == 0 or not s >> (v - 1) & 1:
                _hang(region, s, v, k, carried, cost[v] * within)
                _partition(hung, parts, region.split, s, v)
    if k == 1:
        region.found[0] = NONE
        return float(cost[0] * total)
    whole = (1 << (k - 1)) - 1
    _read_off(region, k)
    return float(parts[whole, 0] + cost[0] * total)


@njit(cache=True, nogil=True)
def _hang(region: Region, s: int, v: int, k: int, carried: float, spared: float) -> None:
    best, by = np.inf, 1
    for w in range(1, k):
        if s >> (w - 1) & 1:
            # Infinity times zero demand would be NaN; an impossible link must stay impossible.
            price = region.prices[v, w]
            here = region.branch[s, w] + (price * carried if price < np.inf else np.inf)
            if here < best:
                best, by = here, w
    region.hung[s, v] = best - spared
    region.by[s, v] = by


@njit(cache=True, nogil=True)
def _partition(hung: Floats, parts: Floats, split: Ints, s: int, v: int) -> None:
    low = s & -s
    rest = s ^ low
    best, choice = hung[s, v], s
    more = rest
    while more:  # `more` stays with v's other branches, the rest goes with the lowest broker
        here = hung[s ^ more, v] + parts[more, v]
        if here < best:
            best, choice = here, s ^ more
        more = (more - 1) & rest
    parts[s, v] = best
    split[s, v] = choice


@njit(cache=True, nogil=True)
def _read_off(region: Region, k: int) -> None:
    """Parents from the choices, without recursion: pairs of (set, the broker it hangs by)."""
    sets = np.empty(2 * k, np.int64)
    above = np.empty(2 * k, np.int64)
    region.found[0] = NONE
    sets[0], above[0] = (1 << (k - 1)) - 1, 0
    high = 1
    while high:
        high -= 1
        s, v = sets[high], above[high]
        if s == 0:
            continue
        part = region.split[s, v]
        w = region.by[part, v]
        region.found[w] = v
        sets[high], above[high] = s ^ part, v
        sets[high + 1], above[high + 1] = part ^ (1 << (w - 1)), w
        high += 2


@njit(cache=True, nogil=True)
def tree_cost(region: Region, parents: Ints, k: int) -> float:
    """The cost of a given tree over the region: parents by place, children after parents or not."""
    inside = region.inside
    everything = (1 << k) - 1
    total = inside[everything]
    below = np.zeros(k, np.int64)
    for v in range(k):
        w = v
        while w != NONE:
            below[w] |= 1 << v
            w = parents[w]
    cost = 0.0
    for v in range(k):
        cost += region.cost[v] * total
        if parents[v] != NONE:
            within, outside = inside[below[v]], inside[everything ^ below[v]]
            cost += region.prices[parents[v], v] * (total - within - outside)
            cost -= region.cost[v] * outside + region.cost[parents[v]] * within
    return cost


@njit(cache=True, nogil=True)
def look_at(net: Net, tree: Tree, worth: Worth, clock: Ints, region: Region, k: int) -> None:
    """Fill prices, costs and `inside` for the first k `brokers`: connected, each after its parent."""
    brokers, hanging, place, inside = region.brokers, region.hanging, worth.place, region.inside
    for i in range(k):
        place[brokers[i]] = i
        region.cost[i] = net.broker[brokers[i]]
        hanging[i] = tree.weight[brokers[i]]
        for j in range(i):
            price = price_of(net, brokers[i], brokers[j])
            region.prices[i, j], region.prices[j, i] = price, price
    hanging[0] = tree.weight[0]
    for i in range(1, k):
        hanging[place[tree.parent[brokers[i]]]] -= tree.weight[brokers[i]]
    heaviest = 0
    for i in range(1, k):
        if hanging[i] > hanging[heaviest]:
            heaviest = i
    inside[: 1 << k] = 0.0
    found = _masks(net, tree, worth, clock, region, k, heaviest)
    for index in range(found):
        t = worth.touched[index]
        mask = worth.seen[t, 1]
        if worth.seen[t, 3] < net.members[t]:
            mask |= 1 << heaviest
        inside[mask] += net.demand[t]
    for i in range(k):
        inside[1 << i] = 0.0  # classes of one place cost the same in every tree
        place[brokers[i]] = NONE
    enclose(inside, k)


@njit(cache=True, nogil=True)
def _masks(net: Net, tree: Tree, worth: Worth, clock: Ints, region: Region, k: int, heaviest: int) -> int:
    """Which places of the region each class has members at, the heaviest left out."""
    stack, seen = worth.stack, worth.seen
    clock[0] += 2
    search = clock[0]
    found = 0
    for i in range(k):
        if i == heaviest:
            continue
        bit = 1 << i
        stack[0], stack[1] = region.brokers[i], NONE
        high = 2
        while high:
            high -= 2
            b, came = stack[high], stack[high + 1]
            for index in range(net.at_start[b], net.at_start[b + 1]):
                t = net.at[index]
                if seen[t, 0] != search:
                    seen[t, 0], seen[t, 1], seen[t, 3] = search, bit, 1
                    worth.touched[found] = t
                    found += 1
                else:
                    seen[t, 1] |= bit
                    seen[t, 3] += 1
            high = push_around(tree, worth.place, stack, high, b, came)
    return found
