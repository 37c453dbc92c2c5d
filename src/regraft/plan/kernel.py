"""Compiled search for shift plans: one call is one greedy plan, in time linear in the paths it shortens.

The state is a tree in arrays. Links that the goal does not have are *tokens*: only they move
(IPITT §III-C, rem). A missing goal link g is realised when the path between its ends in the current
tree, P(g), has become one link. Each step looks at all those paths, scores every shift along them by
how much it brings the goals closer, and takes shifts in order of score as long as they are compatible:
no link removed twice, no guard removed, a guard not used from both its ends (that gains nothing).

How close a goal is depends on f, the links of P(g) that stay, and r, its tokens: every token can pass
one staying link per step, and tokens must be merged in the end, so f/r + log2(r) steps or so remain.

When that leads nowhere for a while, plain path lengths are counted instead; when nothing shortens
them either, the goal with the shortest path is *slid* into place, one path link per step. That always
ends, so a plan is found for any two trees.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

DONE, TOO_LONG, STUCK = 0, 1, 2
"""How a greedy run ended: goal reached, more steps than allowed, or no shift possible within the limits."""

BASE, MERGE, LINEAR, NOISE, CAUTION, CHOOSY, RECRUIT = range(7)
"""Places in `style`: growth of a goal's weight per step it lacks, weight of the merging term, 1.0 to
count plain path lengths instead, noise on scores, how far a gain must outweigh the loss to other
paths, how close to the best score a shift must be, 1.0 to let paths take in further tokens."""
STYLE_SIZE = 7

PATIENCE = 6
"""Steps without a shorter total length before a simpler way is taken."""

_HASH = 0x9E3779B1


@njit(cache=True, nogil=True)
def hang(ends: Ints, start: Ints, around: Ints, parent: Ints, above: Ints, depth: Ints, queue: Ints) -> None:
    """Hang the tree up at broker 0: parent, link to the parent and depth of every broker."""
    size, links = parent.size, ends.shape[0]
    start[:] = 0
    for link in range(links):
        start[ends[link, 0] + 1] += 1
        start[ends[link, 1] + 1] += 1
    for broker in range(size):
        start[broker + 1] += start[broker]
        queue[broker] = start[broker]
    for link in range(links):
        for side in range(2):
            broker = ends[link, side]
            around[queue[broker]] = link
            queue[broker] += 1
    queue[0], parent[0], above[0], depth[0] = 0, -1, -1, 0
    head, tail = 0, 1
    while head < tail:
        broker = queue[head]
        head += 1
        for place in range(start[broker], start[broker + 1]):
            link = around[place]
            if link != above[broker]:
                below = ends[link, 0] ^ ends[link, 1] ^ broker
                parent[below], above[below], depth[below] = broker, link, depth[broker] + 1
                queue[tail] = below
                tail += 1


@njit(cache=True, nogil=True)
def walk(one: int, other: int, parent: Ints, above: Ints, depth: Ints, path: Ints) -> int:
    """Write the links between two brokers into `path`, in order; return how many."""
    left, right, last = 0, 0, path.size
    while one != other:
        if depth[one] >= depth[other]:
            path[left] = above[one]
            left += 1
            one = parent[one]
        else:
            right += 1
            path[last - right] = above[other]
            other = parent[other]
    for place in range(right):
        path[left + place] = path[last - right + place]
    return left + right


@njit(cache=True, nogil=True, inline="always")
def need(staying: int, tokens: int, style: Floats) -> float:
    """Weight of a goal whose path has so many staying links and tokens."""
    if style[LINEAR] > 0.0:
        return float(staying + tokens)
    many = max(tokens, 1)
    return float(np.exp(style[BASE] * (staying / many + style[MERGE] * np.log2(many))))


@njit(cache=True, nogil=True, inline="always")
def slot(key: int, keys: Ints) -> int:
    """Where `key` is, or belongs, in an open-addressed table."""
    mask = keys.size - 1
    place = (key * _HASH) & mask
    while keys[place] != -1 and keys[place] != key:
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def greedy_plan(
    size: int,
    ends: Ints,
    token: Flags,
    goals: Ints,
    weight: Floats,
    style: Floats,
    max_steps: int,
    max_degree: int,
    exclusive: bool,
    seed: int,
) -> tuple[int, int, Ints, Ints]:
    """One plan: how it ended, its number of steps, its shifts as rows (step, i, j, k), and when each goal was reached.

    `ends` and `token` describe the initial tree and are not changed. `max_degree` 0 means no limit.
    """
    np.random.seed(seed)
    links, wanted = ends.shape[0], goals.shape[0]
    ends, token, style = ends.copy(), token.copy(), style.copy()
    start, around = np.zeros(size + 1, np.int64), np.empty(2 * links, np.int64)
    parent, above = np.empty(size, np.int64), np.empty(size, np.int64)
    depth, queue, path = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size + 1, np.int64)
    loss_staying, loss_token = np.zeros(links), np.zeros(links)
    use, side = np.zeros(links, np.int8), np.zeros(links, np.int64)
    degree, gained, busy = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    for link in range(links):
        degree[ends[link, 0]] += 1
        degree[ends[link, 1]] += 1
    alive, reached = np.arange(wanted), np.zeros(wanted, np.int64)
    shifts, count = np.empty((64 + 8 * wanted, 4), np.int64), 0
    shortest, idle, focus, step = 1 << 60, 0, -1, 0

    while True:
        hang(ends, start, around, parent, above, depth, queue)
        left, total = 0, 0
        for place in range(alive.size):
            goal = alive[place]
            length = walk(goals[goal, 0], goals[goal, 1], parent, above, depth, path)
            if length == 1:
                token[path[0]] = False
                reached[goal] = step
                if goal == focus:
                    focus = -1
                    idle = 0
            else:
                alive[left] = goal
                left += 1
                total += length
        alive = alive[:left]
        if left == 0:
            return DONE, step, shifts[:count], reached
        if step >= max_steps:
            return TOO_LONG, step, shifts[:count], reached
        idle = 0 if total < shortest else idle + 1
        shortest = min(total, shortest)
        if idle >= PATIENCE and style[LINEAR] == 0.0:
            style[LINEAR], style[CAUTION], style[RECRUIT], idle = 1.0, 0.0, 0.0, 0
        step += 1
        use[:] = 0

        # Score every pair of neighbouring links of a path: the token of one moves over the other.
        room = 64
        while room < 4 * total:
            room *= 2
        keys = np.full(room, -1, np.int64)
        gain, middle = np.zeros((room, 2)), np.empty(room, np.int64)
        loss_staying[:] = 0.0
        loss_token[:] = 0.0
        pairs = 0
        if idle < PATIENCE and focus < 0:
            for place in range(left):
                goal = alive[place]
                length = walk(goals[goal, 0], goals[goal, 1], parent, above, depth, path)
                tokens = 0
                for at in range(length):
                    tokens += token[path[at]]
                staying, now = length - tokens, need(length - tokens, tokens, style)
                more_staying = weight[goal] * (need(staying + 1, tokens, style) - now)
                more_tokens = weight[goal] * (need(staying, tokens + 1, style) - now)
                less_staying = weight[goal] * (now - need(staying - 1, tokens, style)) if staying > 0 else 0.0
                less_tokens = weight[goal] * (now - need(staying, tokens - 1, style)) if tokens > 1 else 0.0
                broker = goals[goal, 0]
                for at in range(length):
                    link = path[at]
                    if token[link]:
                        loss_staying[link] += more_staying
                        loss_token[link] += more_tokens
                    if at > 0 and (token[link] or token[path[at - 1]]):
                        low, high = min(link, path[at - 1]), max(link, path[at - 1])
                        found = slot(low * links + high, keys)
                        if keys[found] == -1:
                            keys[found] = low * links + high
                            middle[found] = broker
                            pairs += 1
                        gain[found, 0] += (
                            less_tokens + more_tokens if token[high] else less_staying + more_staying
                        )
                        gain[found, 1] += (
                            less_tokens + more_tokens if token[low] else less_staying + more_staying
                        )
                    broker = ends[link, 0] ^ ends[link, 1] ^ broker
            if style[RECRUIT] > 0.0:
                for link in range(links):
                    if token[link] and loss_token[link] < 0.0:
                        for end in range(2):
                            broker = ends[link, end]
                            for place in range(start[broker], start[broker + 1]):
                                beside = around[place]
                                if beside != link and token[beside] and 2 * pairs < room:
                                    low, high = min(link, beside), max(link, beside)
                                    found = slot(low * links + high, keys)
                                    if keys[found] == -1:
                                        keys[found] = low * links + high
                                        middle[found] = broker
                                        pairs += 1

        scores, moving, guard = (
            np.empty(2 * pairs),
            np.empty(2 * pairs, np.int64),
            np.empty(2 * pairs, np.int64),
        )
        over, offers, best = np.empty(2 * pairs, np.int64), 0, 0.0
        for found in range(room if pairs > 0 else 0):
            if keys[found] >= 0:
                for which in range(2):
                    low, high = keys[found] // links, keys[found] % links
                    mover, stays = (low, high) if which == 0 else (high, low)
                    if token[mover]:
                        loss = loss_token[mover] if token[stays] else loss_staying[mover]
                        score = gain[found, which] - loss
                        if score > style[CAUTION] * abs(loss) + 1e-12:
                            if style[NOISE] > 0.0:
                                score *= np.exp(style[NOISE] * np.random.randn())
                            scores[offers], moving[offers] = -score, mover
                            guard[offers], over[offers] = stays, middle[found]
                            best = max(best, score)
                            offers += 1
        order = np.argsort(scores[:offers])
        if offers == 0 and style[LINEAR] == 0.0:
            style[LINEAR], style[CAUTION], style[RECRUIT], idle = 1.0, 0.0, 0.0, 0
            step -= 1
            continue
        if offers == 0:
            # Slide: only shifts along the path of the goal in focus, the shortest one when there is none.
            if focus < 0:
                fewest = 1 << 60
                for place in range(left):
                    length = walk(goals[alive[place], 0], goals[alive[place], 1], parent, above, depth, path)
                    if length < fewest:
                        fewest, focus = length, alive[place]
            length = walk(goals[focus, 0], goals[focus, 1], parent, above, depth, path)
            scores, moving, guard = (
                np.empty(2 * length),
                np.empty(2 * length, np.int64),
                np.empty(2 * length, np.int64),
            )
            over, broker = np.empty(2 * length, np.int64), goals[focus, 0]
            for at in range(length):
                if at > 0:
                    for which in range(2):
                        mover, stays = (path[at - 1], path[at]) if which == 0 else (path[at], path[at - 1])
                        if token[mover]:
                            scores[offers], moving[offers] = np.random.rand(), mover
                            guard[offers], over[offers] = stays, broker
                            offers += 1
                broker = ends[path[at], 0] ^ ends[path[at], 1] ^ broker
            order = np.argsort(scores[:offers])

        taken = 0
        for place in range(offers):
            offer = order[place]
            if -scores[offer] < style[CHOOSY] * best and best > 0.0:
                break
            mover, stays, j = moving[offer], guard[offer], over[offer]
            if use[mover] != 0 or use[stays] == 1 or (use[stays] == 2 and side[stays] != j):
                continue
            i, k = ends[mover, 0] ^ ends[mover, 1] ^ j, ends[stays, 0] ^ ends[stays, 1] ^ j
            if (
                max_degree > 0
                and degree[k] + (gained[k] & 0xFFFF if gained[k] >> 16 == step else 0) >= max_degree
            ):
                continue
            if (
                max_degree > 0
                and degree[i] + (gained[i] & 0xFFFF if gained[i] >> 16 == step else 0) >= max_degree
            ):
                continue
            if exclusive and (busy[i] == step or busy[j] == step or busy[k] == step):
                continue
            use[mover], use[stays], side[stays] = 1, 2, j
            busy[i], busy[j], busy[k] = step, step, step
            for broker in (i, k):
                gained[broker] = (gained[broker] if gained[broker] >> 16 == step else step << 16) + 1
            if count == shifts.shape[0]:
                longer = np.empty((2 * count, 4), np.int64)
                longer[:count] = shifts
                shifts = longer
            shifts[count, 0], shifts[count, 1], shifts[count, 2], shifts[count, 3] = step - 1, i, j, k
            ends[mover, 0], ends[mover, 1] = i, k
            count += 1
            taken += 1
        if taken == 0:
            return STUCK, step, shifts[:count], reached
        for place in range(count - taken, count):
            degree[shifts[place, 2]] -= 1
            degree[shifts[place, 3]] += 1
