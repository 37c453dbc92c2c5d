"""Operations as preconditions, add and delete effects: IPITT §III-C.

A state is the set of true propositions. An operation says, for given brokers, which propositions
it needs, makes true and makes false; a new operation is one function here and one entry in
`OPERATIONS`. Links have no direction, so there is one proposition per unordered pair. This file
knows nothing of steps, solvers or costs.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache
from typing import Literal, NamedTuple

from regraft.plan.problem import Pair, Problem, pair


class Proposition(NamedTuple):
    """A predicate applied to brokers: conn (linked), rem (may be unlinked), eq (is in the overlay)."""

    predicate: Literal["conn", "rem", "eq"]
    brokers: Pair


Truths = frozenset[Proposition]
SAME = 2**17
"""Size of the caches: the naive action set asks for each proposition thousands of times."""


@lru_cache(SAME)
def conn(i: int, j: int) -> Proposition:
    """There is a link between i and j; asking for it implies ¬eq(i, j)."""
    return Proposition("conn", link(i, j))


@lru_cache(SAME)
def rem(i: int, j: int) -> Proposition:
    """The link between i and j may be removed: the goal does not have it."""
    return Proposition("rem", link(i, j))


def eq(i: int) -> Proposition:
    """eq(i, i): broker i is part of the overlay. eq of two different brokers is never true."""
    return Proposition("eq", (i, i))


def link(i: int, j: int) -> Pair:
    if i == j:
        raise ValueError(f"a link joins two distinct brokers, not {i} to itself")
    return pair(i, j)


class Grounded(NamedTuple):
    """An action: an operation applied to brokers. `absent` are the negated preconditions."""

    pre: Truths
    add: Truths
    delete: Truths
    absent: Truths = frozenset()


def shift(i: int, j: int, k: int, *, goal: Set[Pair]) -> Grounded:
    """i-j becomes i-k; the guard j-k is there and stays."""
    removed = removable(i, j)
    return Grounded(pre=removed | {conn(j, k)}, add=established(i, k, goal), delete=removed)


def append(i: int, j: int, *, goal: Set[Pair]) -> Grounded:
    """The new broker i is linked to j."""
    return Grounded(
        pre=frozenset({eq(j)}),
        add=established(i, j, goal) | {eq(i)},
        delete=frozenset(),
        absent=frozenset({eq(i), conn(i, j)}),
    )


def detach(i: int, j: int, *, goal: Set[Pair]) -> Grounded:
    """The leaf i is unlinked from j and leaves. The caller makes sure that i is a leaf."""
    gone = removable(i, j) | {eq(i)}
    return Grounded(pre=gone, add=frozenset(), delete=gone)


OPERATIONS: dict[str, Callable[..., Grounded]] = {
    "shift": shift,
    "append": append,
    "detach": detach,
}


def ground(operation: str, brokers: Sequence[int], goal: Set[Pair]) -> Grounded:
    """The action `operation(*brokers)`."""
    return OPERATIONS[operation](*brokers, goal=goal)


@lru_cache(SAME)
def removable(i: int, j: int) -> Truths:
    """What an action needs of the link that it removes, and makes false."""
    return frozenset({conn(i, j), rem(i, j)})


def established(i: int, k: int, goal: Set[Pair]) -> Truths:
    """What an action makes true of the link that it creates: removable unless the goal has it."""
    return frozenset({conn(i, k)}) if link(i, k) in goal else removable(i, k)


def state_of(links: Iterable[Pair], goal: Set[Pair]) -> Truths:
    """The state of a topology, without eq: both trees have the same brokers (§IV-B)."""
    return frozenset[Proposition]().union(*(established(*ends, goal) for ends in links))


def initial_state(problem: Problem) -> Truths:
    """s0 of §III-C."""
    return state_of(problem.initial, problem.goal)


def goal_state(problem: Problem) -> Truths:
    """g of §III-C. No link of the goal is removable, so it names conn only."""
    return state_of(problem.goal, problem.goal)


def applicable(state: Truths, action: Grounded) -> bool:
    return action.pre <= state and not action.absent & state


def result(state: Truths, action: Grounded) -> Truths:
    """γ(s, a) of §III-B, for an action that is applicable."""
    return (state - action.delete) | action.add
