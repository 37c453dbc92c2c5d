"""Compiled: the tabu search by which a master rearranges its neighbourhood (OCBR §3.2, Figure 3).

The neighbourhood is a small problem of its own: the master, its neighbours, and the traffic as the
master sees it, each member replaced by the neighbour it lies behind (§3.1). What a rearrangement saves
there is what it saves in the whole network.
"""

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_loop import Net, Worth, new_worth, price_loop, price_of, push_around
from regraft.design.ocbr.kernel_tree import (
    NONE,
    Floats,
    Ints,
    Loop,
    Tree,
    adopt,
    exchange,
    find_loop,
    hang_up,
    new_loop,
    orphan,
)

TRIES = 20
"""Links drawn for each move wanted: the loop of Figure 3 has no end once every link is tabu."""


@njit(cache=True, nogil=True)
def tabu_search(net: Net, parent: Ints, iterations: int, moves: int, tenure: int, best: Ints) -> float:
    """Figure 3 from the tree `parent`: fills `best`, returns the change of the cost (0 if none is better).

    A link just removed may not be added, one just added may not be removed, for `tenure` iterations (0:
    to the end of the search, as in the figure). `moves` is the figure's N.
    """
    size, classes = parent.size, net.demand.size
    tree = hang_up(parent, np.diff(net.at_start))
    loop, worth = new_loop(size), new_worth(size, classes)
    added, removed = np.zeros((size, size), np.int64), np.zeros((size, size), np.int64)
    kept = tenure if tenure else iterations + 1
    now, lowest = 0.0, 0.0
    best[:] = parent
    for turn in range(1, iterations + 1):
        one, other, gone, change = _best_move(net, tree, loop, worth, added, removed, turn - kept, moves)
        if one == NONE:
            break
        length, top = find_loop(tree, loop, one, other)
        a, b = loop.path[gone], loop.path[gone + 1]
        exchange(tree, loop, length, top, gone)
        added[min(one, other), max(one, other)] = turn
        removed[min(a, b), max(a, b)] = turn
        now += change
        if now < lowest:
            lowest = now
            best[:] = tree.parent
    return lowest


@njit(cache=True, nogil=True)
def _best_move(
    net: Net, tree: Tree, loop: Loop, worth: Worth, added: Ints, removed: Ints, free: int, moves: int
) -> tuple[int, int, int, float]:
    """Of N random links to add, each with the best link to remove from its loop, the cheapest move."""
    size = tree.parent.size
    best = (NONE, NONE, NONE, np.inf)
    found = 0
    for _ in range(TRIES * moves):
        if found == moves:
            break
        one, other = np.random.randint(size), np.random.randint(size)
        if one == other or tree.parent[one] == other or tree.parent[other] == one:
            continue
        closing = price_of(net, one, other)
        if closing == np.inf or _tabu(removed, one, other, free):
            continue
        length, top = find_loop(tree, loop, one, other)
        price_loop(net, tree, loop, worth, length, top, closing)
        gone = 0
        for k in range(1, length - 1):
            if worth.saved[k] > worth.saved[gone]:
                gone = k
        if _tabu(added, loop.path[gone], loop.path[gone + 1], free):
            continue
        found += 1
        change = worth.saved[length - 1] - worth.saved[gone]
        if change < best[3]:
            best = (one, other, gone, change)
    return best


@njit(cache=True, nogil=True)
def _tabu(moved: Ints, one: int, other: int, free: int) -> bool:
    """Moved at all, and in an iteration after `free`."""
    turn = moved[min(one, other), max(one, other)]
    return bool(turn > 0 and turn > free)


@njit(cache=True, nogil=True)
def neighbourhood(tree: Tree, master: int, brokers: Ints) -> int:
    """Write the master and its neighbours, the topmost first; return how many."""
    count = 0
    if tree.parent[master] != NONE:
        brokers[0] = tree.parent[master]
        count = 1
    brokers[count] = master
    count += 1
    below = tree.child[master]
    while below != NONE:
        brokers[count] = below
        count += 1
        below = tree.after[below]
    return count


@njit(cache=True, nogil=True)
def contract(net: Net, tree: Tree, worth: Worth, clock: Ints, brokers: Ints, k: int) -> tuple[Net, Ints]:
    """The problem of a region alone, everything else hanging on it; and the memberships that hang on each.

    `brokers` are connected, the first is the topmost. Classes of one place are left out; equal ones are
    not merged, which changes no sum.
    """
    hanging = _hanging(tree, worth, brokers, k)
    heaviest = int(np.argmax(hanging))
    clock[0] += 2
    search = clock[0]
    seen, stack, place = worth.seen, worth.stack, worth.place
    found, entries = 0, 0
    held = np.empty((2, max(1, hanging.sum() - hanging[heaviest])), np.int64)
    for i in range(k):
        if i == heaviest:
            continue
        stack[0], stack[1] = brokers[i], NONE
        high = 2
        while high:
            high -= 2
            b, came = stack[high], stack[high + 1]
            for index in range(net.at_start[b], net.at_start[b + 1]):
                t = net.at[index]
                if seen[t, 0] != search:
                    seen[t, 0], seen[t, 1], seen[t, 2], seen[t, 3] = search, 0, NONE, 0
                    worth.touched[found] = t
                    found += 1
                seen[t, 3] += 1
                if seen[t, 2] != i:
                    seen[t, 2] = i
                    seen[t, 1] += 1
                    held[0, entries], held[1, entries] = i, t
                    entries += 1
            high = push_around(tree, place, stack, high, b, came)
    for i in range(k):
        place[brokers[i]] = NONE
    return _local_net(net, worth, brokers, k, held, entries, found, heaviest), hanging


@njit(cache=True, nogil=True)
def _hanging(tree: Tree, worth: Worth, brokers: Ints, k: int) -> Ints:
    """Memberships that hang on each broker of the region; leaves the region marked in `place`."""
    hanging = np.empty(k, np.int64)
    for i in range(k):
        worth.place[brokers[i]] = i
        hanging[i] = tree.weight[brokers[i]]
    hanging[0] = tree.weight[0]
    for i in range(1, k):
        hanging[worth.place[tree.parent[brokers[i]]]] -= tree.weight[brokers[i]]
    return hanging


@njit(cache=True, nogil=True)
def _local_net(
    net: Net, worth: Worth, brokers: Ints, k: int, held: Ints, entries: int, found: int, heaviest: int
) -> Net:
    """From (place, class) entries, place by place, to the arrays of a `Net`."""
    seen = worth.seen
    demand, members = np.empty(found), np.empty(found, np.int64)
    classes = 0
    for index in range(found):
        t = worth.touched[index]
        rest = 1 if seen[t, 3] < net.members[t] else 0
        crossing = seen[t, 1] + rest > 1
        if crossing:
            demand[classes], members[classes] = net.demand[t], seen[t, 1] + rest
            classes += 1
        seen[t, 2] = classes - 1 if crossing else NONE  # its number in the neighbourhood
        seen[t, 1] = rest
    at_start = np.zeros(k + 1, np.int64)
    at = np.empty(entries + found, np.int64)
    filled, entry = 0, 0
    for i in range(k):
        if i == heaviest:
            for index in range(found):
                t = worth.touched[index]
                if seen[t, 2] != NONE and seen[t, 1]:
                    at[filled] = seen[t, 2]
                    filled += 1
        while entry < entries and held[0, entry] == i:
            if seen[held[1, entry], 2] != NONE:
                at[filled] = seen[held[1, entry], 2]
                filled += 1
            entry += 1
        at_start[i + 1] = filled
    start, near, price = _local_prices(net, brokers, k)
    broker = np.empty(k)
    for i in range(k):
        broker[i] = net.broker[brokers[i]]
    return Net(
        start, near, price, net.other, broker, at_start, at[:filled], members[:classes], demand[:classes]
    )


@njit(cache=True, nogil=True)
def _local_prices(net: Net, brokers: Ints, k: int) -> tuple[Ints, Ints, Floats]:
    """Possible links within the region whose price is not that of any pair."""
    start = np.zeros(k + 1, np.int64)
    near, price = np.empty(k * k, np.int64), np.empty(k * k)
    filled = 0
    for i in range(k):
        for j in range(k):
            if i != j:
                cost = price_of(net, brokers[i], brokers[j])
                if cost != net.other:
                    near[filled], price[filled] = j, cost
                    filled += 1
        start[i + 1] = filled
    return start, near[:filled].copy(), price[:filled].copy()


@njit(cache=True, nogil=True)
def apply(tree: Tree, brokers: Ints, parents: Ints, hanging: Ints, k: int) -> None:
    """Rearrange a region of the tree: `parents` are places, of the first (topmost) broker -1."""
    for i in range(1, k):
        orphan(tree, brokers[i])
    for i in range(1, k):
        adopt(tree, brokers[parents[i]], brokers[i])
        tree.weight[brokers[i]] = hanging[i]
    for i in range(1, k):
        above = parents[i]
        while above > 0:
            tree.weight[brokers[above]] += hanging[i]
            above = parents[above]
