"""The task as the tree planners see it: two trees on the same brokers, in numbers.

Brokers that join are added to the initial tree as the goal tree has them (appended first), brokers
that leave are added to the goal tree as the initial tree has them (detached last): IPITT §IV-B. So
the planners only ever meet two trees over brokers 0..n-1; `ids` gives the names back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from regraft.model import Action, Bounds, Proof, Step

Pair = tuple[int, int]
"""A link between two broker numbers, the smaller first."""
Shift = tuple[int, int, int]
"""shift(i, j, k) in numbers: i-j becomes i-k, guarded by j-k."""


def pair(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


@dataclass(frozen=True)
class Problem:
    """Two trees over the same brokers; `appends` and `detaches` frame the plan between them."""

    ids: tuple[str, ...]
    initial: frozenset[Pair]
    goal: frozenset[Pair]
    appends: tuple[Step, ...] = ()
    detaches: tuple[Step, ...] = ()

    @property
    def size(self) -> int:
        return len(self.ids)

    @cached_property
    def missing(self) -> tuple[Pair, ...]:
        """Goal links that are not there yet."""
        return tuple(sorted(self.goal - self.initial))

    @cached_property
    def removable(self) -> tuple[Pair, ...]:
        """Links that the goal does not have: rem(i, j) of IPITT §III-C."""
        return tuple(sorted(self.initial - self.goal))

    def named(self, steps: Sequence[Sequence[Shift]]) -> tuple[Step, ...]:
        """Steps in numbers, as steps of actions on broker ids."""
        return tuple(
            tuple(Action("shift", tuple(self.ids[broker] for broker in shift)) for shift in step)
            for step in steps
        )


@dataclass(frozen=True)
class Found:
    """A planner's answer in numbers, without the appends and detaches that frame it."""

    steps: Sequence[Sequence[Shift]]
    bounds: Bounds
    proof: Proof | None = None
