"""Compiled scoring: the shifts that one step of a greedy plan can choose from.

Every pair of neighbouring links on the path of a goal is looked at, through a hash table since paths
share links. How close a goal is depends on f, the links of its path that stay, and r, its tokens: every
token can pass one staying link per step, and tokens must be merged in the end, so f/r + log2(r) steps or
so remain. See `kernel` for what is made of it.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.plan.kernel_tree import Flags, Floats, Ints, Tree, walk

BASE, MERGE, LINEAR, NOISE, CAUTION, CHOOSY, RECRUIT = range(7)
"""Places in `style`: growth of a goal's weight per step it lacks, weight of the merging term, 1.0 to
count plain path lengths instead, noise on scores, how far a gain must outweigh the loss to other
paths, how close to the best score a shift must be, 1.0 to let paths take in further tokens."""
STYLE_SIZE = 7

_HASH = 0x9E3779B1


class Run(NamedTuple):
    """The state of one greedy run; `weight` of every goal and `style` say what it prefers.

    `merging[r]` is what r tokens on a path add to its need: logarithms are too slow to take each time.
    """

    tree: Tree
    token: Flags
    goals: Ints
    reached: Flags
    weight: Floats
    style: Floats
    merging: Floats


class Pairs(NamedTuple):
    """Pairs of neighbouring links that can shift over each other: an open-addressed table.

    `keys` is low · links + high, -1 where empty; `middle` is the broker that they share; `gain[p, 0]` is
    what the goals gain when the lower link moves over the higher, `gain[p, 1]` the other way round. The
    number of pairs is `filled[0]`. By link: what the paths through it lose when it moves away over a
    staying link or over a token.
    """

    keys: Ints
    middle: Ints
    gain: Floats
    filled: Ints
    loss_staying: Floats
    loss_token: Floats


class Offers(NamedTuple):
    """Shifts to choose from: lowest score first, token `moving` shifts over link `guard` at broker `over`."""

    scores: Floats
    moving: Ints
    guard: Ints
    over: Ints


@njit(cache=True, nogil=True)
def scored_offers(run: Run, total: int) -> Offers:
    """All shifts along the paths of goals that bring the goals closer; `total` is the length of all paths."""
    pairs = new_pairs(run.token.size, total)
    score_pairs(run, pairs)
    if run.style[RECRUIT] > 0.0:
        recruit(run, pairs)
    return list_offers(run, pairs)


@njit(cache=True, nogil=True)
def new_pairs(links: int, total: int) -> Pairs:
    """An empty table that stays sparse when every link of every path makes a pair."""
    size = 64
    while size < 4 * total:
        size *= 2
    return Pairs(
        np.full(size, -1, np.int64),
        np.empty(size, np.int64),
        np.empty((size, 2)),
        np.zeros(1, np.int64),
        np.zeros(links),
        np.zeros(links),
    )


@njit(cache=True, nogil=True, inline="always")
def enter(keys: Ints, middle: Ints, gain: Floats, filled: Ints, key: int, broker: int) -> int:
    """Where the pair of links is in the table; it is entered if it is not there yet."""
    place = (key * _HASH) & (keys.size - 1)
    while keys[place] != key and keys[place] != -1:
        place = (place + 1) & (keys.size - 1)
    if keys[place] == -1:
        keys[place], middle[place] = key, broker
        gain[place, 0], gain[place, 1] = 0.0, 0.0
        filled[0] += 1
    return place


@njit(cache=True, nogil=True, inline="always")
def need(staying: int, tokens: int, style: Floats, merging: Floats) -> float:
    """How far a goal is from done, if its path has this many staying links and tokens."""
    if style[LINEAR] > 0.0:
        return float(staying + tokens)
    many = max(tokens, 1)
    return float(np.exp(style[BASE] * (staying / many + merging[many])))


@njit(cache=True, nogil=True, inline="always")
def stakes(
    staying: int, tokens: int, weight: float, style: Floats, merging: Floats
) -> tuple[float, float, float, float]:
    """What a goal loses by one staying link or one token more, and what it gains by one less.

    A shift along the path takes a link out of it, a token that moves away from the path leaves a longer
    one. A gain includes the loss, since `list_offers` charges it to every shift of the token.
    """
    now = need(staying, tokens, style, merging)
    more_staying = weight * (need(staying + 1, tokens, style, merging) - now)
    more_tokens = weight * (need(staying, tokens + 1, style, merging) - now)
    less_staying = weight * (now - need(staying - 1, tokens, style, merging)) if staying > 0 else 0.0
    less_tokens = weight * (now - need(staying, tokens - 1, style, merging)) if tokens > 1 else 0.0
    return more_staying, more_tokens, less_staying + more_staying, less_tokens + more_tokens


@njit(cache=True, nogil=True)
def score_pairs(run: Run, pairs: Pairs) -> None:
    """Enter every pair of neighbouring links on the path of a goal, with what the goal gains or loses."""
    (ends, _, _, hung, _, path), token, goals, reached, weight, style, merging = run
    keys, middle, gain, filled, loss_staying, loss_token = pairs
    for goal in range(goals.shape[0]):
        if reached[goal]:
            continue
        broker = goals[goal, 0]
        length, tokens = walk(hung, path, broker, goals[goal, 1]), 0
        for at in range(length):
            tokens += token[path[at]]
        more_staying, more_tokens, over_staying, over_token = stakes(
            length - tokens, tokens, weight[goal], style, merging
        )
        for at in range(length):
            link = path[at]
            if token[link]:
                loss_staying[link] += more_staying
                loss_token[link] += more_tokens
            if at > 0 and (token[link] or token[path[at - 1]]):
                low, high = min(link, path[at - 1]), max(link, path[at - 1])
                place = enter(keys, middle, gain, filled, low * token.size + high, broker)
                gain[place, 0] += over_token if token[high] else over_staying
                gain[place, 1] += over_token if token[low] else over_staying
            broker = ends[link, 0] ^ ends[link, 1] ^ broker


@njit(cache=True, nogil=True)
def recruit(run: Run, pairs: Pairs) -> None:
    """Enter pairs of tokens beside each other where the paths would gain by one token more.

    Such a shift takes the first token out of their paths and the second one in, which then helps to pass
    staying links. Ends when the table is half full.
    """
    ends, start, around, token = run.tree.ends, run.tree.start, run.tree.around, run.token
    keys, middle, gain, filled, _, loss_token = pairs
    for link in range(token.size):
        if token[link] and loss_token[link] < 0.0:
            for end in range(2):
                broker = ends[link, end]
                for place in range(start[broker], start[broker + 1]):
                    beside = around[place]
                    if beside != link and token[beside] and 2 * filled[0] < keys.size:
                        key = min(link, beside) * token.size + max(link, beside)
                        enter(keys, middle, gain, filled, key, broker)


@njit(cache=True, nogil=True)
def new_offers(most: int) -> Offers:
    """Space for this many offers."""
    return Offers(
        np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    )


@njit(cache=True, nogil=True)
def first_offers(offers: Offers, count: int) -> Offers:
    """The offers that were written."""
    return Offers(offers.scores[:count], offers.moving[:count], offers.guard[:count], offers.over[:count])


@njit(cache=True, nogil=True)
def list_offers(run: Run, pairs: Pairs) -> Offers:
    """Both shifts of every pair, where a token moves and the gain outweighs the loss; with noise."""
    token, style, links = run.token, run.style, run.token.size
    keys, middle, gain, filled, loss_staying, loss_token = pairs
    offers, count = new_offers(2 * filled[0]), 0
    scores, moving, guard, over = offers
    for place in range(keys.size if filled[0] > 0 else 0):
        if keys[place] >= 0:
            low = keys[place] // links
            high = keys[place] - low * links
            for which in range(2):
                mover, stays = (low, high) if which == 0 else (high, low)
                if token[mover]:
                    loss = loss_token[mover] if token[stays] else loss_staying[mover]
                    score = gain[place, which] - loss
                    if score > style[CAUTION] * abs(loss) + 1e-12:
                        if style[NOISE] > 0.0:
                            score *= np.exp(style[NOISE] * np.random.randn())
                        scores[count], moving[count] = -score, mover
                        guard[count], over[count] = stays, middle[place]
                        count += 1
    return first_offers(offers, count)


@njit(cache=True, nogil=True)
def sliding_offers(run: Run, goal: int) -> Offers:
    """All shifts along the path of one goal, in random order: whatever other goals lose, this one gains."""
    tree, token, path = run.tree, run.token, run.tree.path
    broker = run.goals[goal, 0]
    length = walk(tree.hung, path, broker, run.goals[goal, 1])
    offers, count = new_offers(2 * length), 0
    for at in range(length):
        if at > 0:
            for which in range(2):
                mover, stays = (path[at - 1], path[at]) if which == 0 else (path[at], path[at - 1])
                if token[mover]:
                    offers.scores[count], offers.moving[count] = np.random.rand(), mover
                    offers.guard[count], offers.over[count] = stays, broker
                    count += 1
        broker = tree.ends[path[at], 0] ^ tree.ends[path[at], 1] ^ broker
    return first_offers(offers, count)
