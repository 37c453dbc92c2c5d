"""The planning task of IPITT §III-B in numbers: propositions F, and how each action touches them.

What the integer program of Appendix A calls pre_f, add_f and del_f, as index arrays.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.plan.linear import Ints
from regraft.plan.operations import (
    Grounded,
    Proposition,
    Truths,
    conn,
    goal_state,
    ground,
    initial_state,
    rem,
)
from regraft.plan.problem import Problem, Shift


class Relation(NamedTuple):
    """Pairs (to[p], action[p]); `to` counts propositions or brokers below `size`."""

    to: Ints
    action: Ints
    size: int


@dataclass(frozen=True)
class PlanningTask:
    """Initial and goal state, grounded actions, and F in a fixed order."""

    brokers: int
    initial: Truths
    goal: Truths
    actions: Sequence[Grounded]
    propositions: tuple[Proposition, ...]

    @cached_property
    def number(self) -> dict[Proposition, int]:
        return {proposition: f for f, proposition in enumerate(self.propositions)}

    @cached_property
    def initially_true(self) -> NDArray[np.bool_]:
        return np.array([f in self.initial for f in self.propositions], dtype=np.bool_)

    @cached_property
    def finally_true(self) -> NDArray[np.bool_]:
        return np.array([f in self.goal for f in self.propositions], dtype=np.bool_)

    @cached_property
    def degrees(self) -> Ints:
        """The degree of each broker in the initial topology."""
        ends = [broker for f in self.initial if f.predicate == "conn" for broker in f.brokers]
        return np.bincount(np.array(ends, dtype=np.int64), minlength=self.brokers)

    @cached_property
    def add_not_pre(self) -> Relation:
        return self._of_propositions(lambda action: action.add - action.pre)

    @cached_property
    def del_not_pre(self) -> Relation:
        return self._of_propositions(lambda action: action.delete - action.pre)

    @cached_property
    def pre_not_del(self) -> Relation:
        return self._of_propositions(lambda action: action.pre - action.delete)

    @cached_property
    def pre_and_del(self) -> Relation:
        return self._of_propositions(lambda action: action.pre & action.delete)

    @cached_property
    def links(self) -> Relation:
        """(b, a): a gives b a link."""
        return self._of_brokers(lambda action: ends_of(action.add))

    @cached_property
    def unlinks(self) -> Relation:
        """(b, a): a takes a link from b."""
        return self._of_brokers(lambda action: ends_of(action.delete))

    @cached_property
    def involved(self) -> Relation:
        """(b, a): b takes part in a."""
        return self._of_brokers(lambda action: sorted(set(ends_of(action.pre | action.add | action.delete))))

    def _of_propositions(self, touched: Callable[[Grounded], Truths]) -> Relation:
        number = self.number
        return self._relation(lambda action: [number[f] for f in touched(action)], len(number))

    def _of_brokers(self, touched: Callable[[Grounded], Iterable[int]]) -> Relation:
        return self._relation(touched, self.brokers)

    def _relation(self, touched: Callable[[Grounded], Iterable[int]], size: int) -> Relation:
        touches = [list(touched(action)) for action in self.actions]
        to = np.fromiter(chain.from_iterable(touches), dtype=np.int64)
        action = np.repeat(np.arange(len(touches)), [len(some) for some in touches])
        # Sets have no fixed order, and what a solver finds depends on the order of its rows.
        order = np.lexsort((action, to))
        return Relation(to[order], action[order], size)


def ends_of(propositions: Truths) -> list[int]:
    """Both brokers of every conn."""
    return [broker for f in propositions if f.predicate == "conn" for broker in f.brokers]


def planning_task(problem: Problem, shifts: Sequence[Shift], every_pair: bool = False) -> PlanningTask:
    """The task over the given shifts.

    F holds what an action, the initial or the goal state mentions (§IV-B). `every_pair` takes conn
    and rem of all pairs of brokers instead, as the figures of Table I do: the additional
    propositions never change.
    """
    actions = [ground("shift", shift, problem.goal) for shift in shifts]
    initial, goal = initial_state(problem), goal_state(problem)
    if every_pair:
        pairs = combinations(range(problem.size), 2)
        propositions = {predicate(i, j) for i, j in pairs for predicate in (conn, rem)}
    else:
        propositions = set(initial | goal).union(*(a.pre | a.add | a.delete for a in actions))
    return PlanningTask(problem.size, initial, goal, actions, tuple(sorted(propositions)))
