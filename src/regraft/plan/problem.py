"""The task as the tree planners see it: two trees on the same brokers, in numbers.

Brokers that join are added to the initial tree as the goal tree has them (appended first), brokers
that leave are added to the goal tree as the initial tree has them (detached last): IPITT §IV-B. So
the planners only ever meet two trees over brokers 0..n-1; `ids` gives the names back.
"""

from dataclasses import dataclass
from functools import cached_property

from regraft.model import Action, Step

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

    def named(self, steps: list[list[Shift]]) -> tuple[Step, ...]:
        """Steps of shifts in numbers, as steps of actions on broker ids."""
        name = self.ids
        return tuple(
            tuple(Action("shift", (name[i], name[j], name[k])) for i, j, k in step) for step in steps
        )
