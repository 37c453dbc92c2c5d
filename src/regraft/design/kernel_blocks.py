"""Compiled: the topics' blocks while links are added (kTCO §V, TC-blocks).

Each topic has a forest in which nodes and blocks alternate: `above[s]` is the block above slot s, `top[b]`
the node above block b, and the nodes below a block stand in a ring (`after`, `before`) that `some[b]` points
into. A link between two trees puts the smaller below the other by a new block, a bridge. A link within a tree
merges the blocks on the path between its ends. Each pair of nodes that comes into one block is reported once,
so all links together cost at most the pairs of each topic. `merged` finds the block that a block has become
part of.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.kernel_components import find
from regraft.design.kernel_levels import Worth, lower
from regraft.design.matrix import Ints, Matrix


class Blocks(NamedTuple):
    tree: Ints  # union-find of slots: which tree
    size: Ints
    above: Ints
    top: Ints
    after: Ints
    before: Ints
    some: Ints
    merged: Ints
    used: Ints  # blocks made so far, per topic
    mark: Ints  # of slots, then of blocks
    stamp: Ints
    path: Ints  # scratch: blocks on the way up, from either end
    members: Ints  # scratch: nodes of the blocks that become one


@njit(cache=True, nogil=True)
def new_blocks(matrix: Matrix) -> Blocks:
    """The blocks before the first link: every node is alone in every topic."""
    slots, topics = matrix.topic_nodes.size, matrix.topic_start.size - 1
    largest = 0
    for t in range(topics):
        largest = max(largest, matrix.topic_start[t + 1] - matrix.topic_start[t])
    none = np.full(slots, -1, np.int64)
    return Blocks(
        np.arange(slots),
        np.ones(slots, np.int64),
        none,
        none.copy(),
        np.arange(slots),
        np.arange(slots),
        none.copy(),
        np.arange(slots),
        np.zeros(topics, np.int64),
        np.zeros(2 * slots, np.int64),
        np.zeros(1, np.int64),
        np.empty(2 * largest + 4, np.int64),
        np.empty(largest + 1, np.int64),
    )


@njit(cache=True, nogil=True)
def block_above(blocks: Blocks, slot: int) -> int:
    block = blocks.above[slot]
    return find(blocks.merged, block) if block >= 0 else -1


@njit(cache=True, nogil=True)
def in_one_block(blocks: Blocks, a: int, b: int) -> bool:
    one, other = block_above(blocks, a), block_above(blocks, b)
    if one >= 0 and (one == other or blocks.top[one] == b):
        return True
    return other >= 0 and blocks.top[other] == a


@njit(cache=True, nogil=True)
def hang_up_at(blocks: Blocks, root: int) -> None:
    """Turn the tree so that this node is its root."""
    x, block = root, block_above(blocks, root)
    after, before = blocks.after[root], blocks.before[root]
    blocks.above[root] = -1
    while block >= 0:
        p = blocks.top[block]
        next_block, next_after, next_before = block_above(blocks, p), blocks.after[p], blocks.before[p]
        if after == x:  # the only node below this block
            blocks.after[p] = blocks.before[p] = p
        else:
            blocks.after[p], blocks.before[p] = after, before
            blocks.before[after] = blocks.after[before] = p
        blocks.some[block], blocks.above[p], blocks.top[block] = p, block, x
        x, block, after, before = p, next_block, next_after, next_before


@njit(cache=True, nogil=True)
def bridge(matrix: Matrix, blocks: Blocks, t: int, a: int, b: int) -> None:
    """A link between two trees: a block of its two ends."""
    one, other = find(blocks.tree, a), find(blocks.tree, b)
    if blocks.size[one] > blocks.size[other]:
        a, b, one, other = b, a, other, one
    blocks.tree[one] = other
    blocks.size[other] += blocks.size[one]
    hang_up_at(blocks, a)
    block = matrix.topic_start[t] + blocks.used[t]
    blocks.used[t] += 1
    blocks.top[block], blocks.some[block], blocks.above[a] = b, a, block
    blocks.after[a] = blocks.before[a] = a


@njit(cache=True, nogil=True)
def _step_up(blocks: Blocks, at: int, place: int) -> tuple[int, int]:
    """Go from a node to the block above, which is written to `path[place]`, and to the node above that.

    Returns the node, or −1 where the tree ends; and what the other path has marked already: a block as
    −2 − block, a node as itself, nothing as −1.
    """
    block = block_above(blocks, at) if at >= 0 else -1
    if block < 0:
        return -1, -1
    mark, stamp, slots = blocks.mark, blocks.stamp[0], blocks.above.size
    if mark[slots + block] == stamp:
        return -1, -2 - block
    mark[slots + block] = stamp
    blocks.path[place] = block
    node = blocks.top[block]
    if mark[node] == stamp:
        return node, node
    mark[node] = stamp
    return node, -1


@njit(cache=True, nogil=True)
def way_up(blocks: Blocks, a: int, b: int) -> tuple[int, int, int, int]:
    """Write the blocks from both ends up to where the ways meet into `path`, b's from the middle on.

    Returns how many of each, the block in which they meet (counted with neither) or −1, and the node
    that stays above all of them. Both ways are walked in turn: neither is walked far beyond the meeting.
    """
    path, middle = blocks.path, blocks.path.size // 2
    blocks.stamp[0] += 1
    blocks.mark[a] = blocks.mark[b] = blocks.stamp[0]
    at_a, at_b, count_a, count_b = a, b, 0, 0
    while True:
        at_a, met = _step_up(blocks, at_a, count_a)
        count_a += at_a >= 0
        if met != -1:
            break
        at_b, met = _step_up(blocks, at_b, middle + count_b)
        count_b += at_b >= 0
        if met != -1:
            break
    if met < 0:
        block = -2 - met
        count_a = _until_block(path, 0, count_a, block)
        return count_a, _until_block(path, middle, count_b, block), block, blocks.top[block]
    if met == a:
        count_a = 0
    elif met == b:
        count_b = 0
    count_a = _until_node(blocks.top, path, 0, count_a, met)
    return count_a, _until_node(blocks.top, path, middle, count_b, met), -1, met


@njit(cache=True, nogil=True)
def _until_block(path: Ints, start: int, count: int, block: int) -> int:
    for place in range(count):
        if path[start + place] == block:
            return place
    return count


@njit(cache=True, nogil=True)
def _until_node(top: Ints, path: Ints, start: int, count: int, node: int) -> int:
    for place in range(count):
        if top[path[start + place]] == node:
            return place + 1
    return count


@njit(cache=True, nogil=True)
def take_in(matrix: Matrix, blocks: Blocks, worth: Worth, known: int, block: int, cut: int) -> int:
    """Add a block's nodes to `members` and report each new pair. `cut` is the node that is there already."""
    nodes, members = matrix.topic_nodes, blocks.members
    count = known
    if blocks.top[block] != cut:
        members[count] = nodes[blocks.top[block]]
        count += 1
    slot = blocks.some[block]
    while True:
        if slot != cut:
            members[count] = nodes[slot]
            count += 1
        slot = blocks.after[slot]
        if slot == blocks.some[block]:
            break
    if cut >= 0:
        for one in range(known):
            if members[one] != nodes[cut]:
                for other in range(known, count):
                    lower(worth, members[one], members[other], 1)
    return count


@njit(cache=True, nogil=True)
def absorb(blocks: Blocks, into: int, block: int) -> None:
    """Put the nodes below `block` below `into`."""
    if into == block:
        return
    blocks.merged[block] = into
    one, other = blocks.some[into], blocks.some[block]
    after_one, after_other = blocks.after[one], blocks.after[other]
    blocks.after[one], blocks.before[after_other] = after_other, one
    blocks.after[other], blocks.before[after_one] = after_one, other


@njit(cache=True, nogil=True)
def fuse(matrix: Matrix, blocks: Blocks, worth: Worth, a: int, b: int) -> None:
    """A link within a tree: the blocks on the path between its ends become one."""
    count_a, count_b, meeting, root = way_up(blocks, a, b)
    path, middle = blocks.path, blocks.path.size // 2
    known, cut = 0, -1
    for place in range(count_a):
        known = take_in(matrix, blocks, worth, known, path[place], cut)
        cut = blocks.top[path[place]]
    if meeting >= 0:
        known = take_in(matrix, blocks, worth, known, meeting, cut)
    for place in range(count_b - 1, -1, -1):
        block = path[middle + place]
        known = take_in(matrix, blocks, worth, known, block, blocks.top[block] if known else -1)
    into = meeting
    if into < 0:
        into = path[0] if count_a else path[middle]
    for place in range(count_a):
        absorb(blocks, into, path[place])
    for place in range(count_b):
        absorb(blocks, into, path[middle + place])
    blocks.top[into] = root


@njit(cache=True, nogil=True)
def add_link(matrix: Matrix, blocks: Blocks, worth: Worth, v: int, w: int) -> None:
    """Add a link in all topics that its ends share."""
    one, other = matrix.node_start[v], matrix.node_start[w]
    last_one, last_other = matrix.node_start[v + 1], matrix.node_start[w + 1]
    while one < last_one and other < last_other:
        t, u = matrix.node_topics[one], matrix.node_topics[other]
        if t == u:
            a, b = matrix.node_slots[one], matrix.node_slots[other]
            if find(blocks.tree, a) != find(blocks.tree, b):
                bridge(matrix, blocks, t, a, b)
                lower(worth, v, w, 1)
            elif not in_one_block(blocks, a, b):
                fuse(matrix, blocks, worth, a, b)
        one += t <= u
        other += u <= t
