"""Compiled: search over all broker trees by exchanging links and rearranging regions.

An exchange adds any possible link and removes the best link of its loop, however long. A rearrangement
takes a connected region of a few brokers and puts the best tree in its place. Exchanges that raise the
cost are accepted as in simulated annealing; at temperature 0 both only descend.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_loop import Net, Worth, price_loop, price_of
from regraft.design.ocbr.kernel_region import Region, best_tree, look_at, tree_cost
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints, Loop, Tree, adopt, exchange, find_loop, orphan

NOTHING = 1e-9
"""Of the cost of what is changed: below it, a gain is rounding."""


class Offers(NamedTuple):
    """Links worth trying: those of broker b are `to[start[b]:start[b + 1]]`."""

    start: Ints
    to: Ints


@njit(cache=True, nogil=True)
def offered(net: Net, offers: Offers, one: int) -> int:
    """A random end for a link at `one`: an offer, else any possible link."""
    count = offers.start[one + 1] - offers.start[one]
    if count and (net.other == np.inf or np.random.random() < 0.9):
        return int(offers.to[offers.start[one] + np.random.randint(count)])
    if net.other < np.inf:
        return int(np.random.randint(net.broker.size))
    return one


@njit(cache=True, nogil=True)
def try_link(
    net: Net, tree: Tree, loop: Loop, worth: Worth, one: int, other: int, heat: float
) -> float:  # fmt: skip
    """Add the link and remove the best of its loop, if that saves or the heat allows it; the change."""
    if one == other or tree.parent[one] == other or tree.parent[other] == one:
        return 0.0
    closing = price_of(net, one, other)
    if closing == np.inf:
        return 0.0
    length, top = find_loop(tree, loop, one, other)
    price_loop(net, tree, loop, worth, length, top, closing)
    gone = 0
    for k in range(1, length - 1):
        if worth.saved[k] > worth.saved[gone]:
            gone = k
    change = worth.saved[length - 1] - worth.saved[gone]
    if change > -NOTHING * abs(worth.saved[gone]) and (
        heat <= 0.0 or np.random.random() >= np.exp(-max(change, 0.0) / heat)
    ):
        return 0.0
    exchange(tree, loop, length, top, gone)
    return float(change)


@njit(cache=True, nogil=True)
def rearrange(net: Net, tree: Tree, loop: Loop, worth: Worth, region: Region, k: int) -> float:
    """Put the best tree in place of the region's first k brokers; the change of the cost."""
    look_at(net, tree, worth, loop.clock, region, k)
    brokers, parents = region.brokers, np.full(k, NONE, np.int64)
    for i in range(1, k):
        for j in range(i):
            if brokers[j] == tree.parent[brokers[i]]:
                parents[i] = j
    before = tree_cost(region, parents, k)
    after = best_tree(region, k)
    if after >= before - NOTHING * abs(before):
        return 0.0
    for i in range(1, k):
        orphan(tree, brokers[i])
    for i in range(1, k):
        adopt(tree, brokers[region.found[i]], brokers[i])
    for i in range(k):
        tree.weight[brokers[i]] = region.hanging[i] if i else tree.weight[brokers[0]]
    for i in range(1, k):
        above = region.found[i]
        while above > 0:
            tree.weight[brokers[above]] += region.hanging[i]
            above = region.found[above]
    return after - before


@njit(cache=True, nogil=True)
def grow(tree: Tree, worth: Worth, region: Region, k: int, most: int) -> int:
    """Extend the region's first k brokers by random neighbours to at most `most`, then put them in order."""
    brokers, place = region.brokers, worth.place
    for i in range(k):
        place[brokers[i]] = i
    for _ in range(3 * most):
        if k >= most:
            break
        b = brokers[np.random.randint(k)]
        near = tree.parent[b]
        if near == NONE or np.random.random() < 0.6:
            children, below = 0, tree.child[b]
            while below != NONE:  # one of the children, all equally likely
                children += 1
                if np.random.randint(children) == 0:
                    near = below
                below = tree.after[below]
        if near != NONE and place[near] == NONE:
            brokers[k] = near
            place[near] = k
            k += 1
    _in_order(tree, place, brokers, k)
    return k


@njit(cache=True, nogil=True)
def _in_order(tree: Tree, place: Ints, brokers: Ints, k: int) -> None:
    """Put every broker after its parent, and remove the marks."""
    done = 0
    while done < k:
        for i in range(done, k):
            above = tree.parent[brokers[i]]
            if above == NONE or place[above] == NONE:
                b = brokers[i]
                brokers[i] = brokers[done]
                brokers[done] = b
                place[b] = NONE
                done += 1


@njit(cache=True, nogil=True)
def around_link(
    net: Net, tree: Tree, loop: Loop, worth: Worth, region: Region, one: int, other: int, most: int
) -> float:
    """Rearrange the loop that a link would close, with neighbours of it, if it is short enough."""
    if one == other or price_of(net, one, other) == np.inf:
        return 0.0
    length, _ = find_loop(tree, loop, one, other)
    if length > most:
        return 0.0
    region.brokers[:length] = loop.path[:length]
    k = grow(tree, worth, region, length, most)
    return rearrange(net, tree, loop, worth, region, k)


@njit(cache=True, nogil=True)
def seed_random(seed: int) -> None:
    """Seed numba's own generator, which all compiled functions of this process share."""
    np.random.seed(seed)


@njit(cache=True, nogil=True)
def search(
    net: Net, tree: Tree, loop: Loop, worth: Worth, region: Region, offers: Offers, plan: Floats, best: Ints
) -> tuple[float, float, int]:
    """Random moves: `plan` is (moves, heat at the start, heat at the end, share of regions).

    Returns the change of the cost, the change at the best tree seen, whose parents are in `best`, and the
    moves done.
    """
    moves, size = int(plan[0]), net.broker.size
    now, lowest = 0.0, 0.0
    most = region.prices.shape[0]
    for move in range(moves):
        heat = plan[1] * (plan[2] / plan[1]) ** (move / moves) if plan[1] > 0.0 else 0.0
        one = np.random.randint(size)
        other = offered(net, offers, one)
        if np.random.random() < plan[3]:
            now += around_link(net, tree, loop, worth, region, one, other, most)
        else:
            now += try_link(net, tree, loop, worth, one, other, heat)
        if now < lowest:
            lowest = now
            best[:] = tree.parent
    return now, lowest, moves
