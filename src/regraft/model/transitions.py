"""State machines as tables: which states may follow which, and one place that refuses everything else.

A machine is an Enum of states, one `Transitions` table, and a `Machine` for each thing that is in one of the
states. The module that owns the table draws it in its docstring; a test compares the drawing with the table
(`tests/diagrams.py` says how to draw).

A transition that the table does not have is a fault of Regraft, so it raises `IllegalTransition` with the
states that led there. The state does not change.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Generic, TypeVar

from regraft.model.errors import IllegalTransition

KEPT = 10
"""How many states a machine remembers, the current one included."""
S = TypeVar("S", bound=Enum)


class Transitions(Generic[S]):
    """`start`: the states that a machine may begin in. `table`: one row for each state."""

    def __init__(self, start: Iterable[S], table: Mapping[S, Iterable[S]]) -> None:
        self.start = frozenset(start)
        self.table = {state: frozenset(following) for state, following in table.items()}
        known = self.start.union(*self.table.values())
        every = set(type(next(iter(self.table))))
        if self.table.keys() != every or not known <= every:
            raise ValueError(f"the table has rows for {sorted(each.name for each in self.table)} only")

    def __getitem__(self, state: S) -> frozenset[S]:
        return self.table[state]

    def checked(self, history: tuple[S, ...], state: S, owner: str) -> S:
        """The state, if it may follow the last one of the history.

        For a record that is stored elsewhere, the history is the state that was read.
        """
        if state not in self.table[history[-1]]:
            path = " → ".join(str(each.value) for each in history)
            raise IllegalTransition(f"{owner}: {path} cannot become {state.value}")
        return state


class Machine(Generic[S]):
    """The state of one thing, and the states before it. `owner` names the thing in faults."""

    def __init__(self, transitions: Transitions[S], state: S, owner: str) -> None:
        if state not in transitions.start:
            raise IllegalTransition(f"{owner} cannot begin as {state.value}")
        self._transitions, self._owner = transitions, owner
        self.history: tuple[S, ...] = (state,)

    @property
    def state(self) -> S:
        return self.history[-1]

    def become(self, state: S) -> None:
        """The only way to another state."""
        self._transitions.checked(self.history, state, self._owner)
        self.history = (*self.history[1 - KEPT :], state)
