"""A broker as master of its own neighbourhood, on the live overlay (OCBR §3): decisions without I/O.

Every Δt the master looks at what it measured itself (§3.1). If a better tree over itself and its
neighbours exists, it asks for a lock on all of them. When it holds the lock, it has the change made as
`shift` actions. What it saves locally is what the whole network saves, so it need not ask other brokers.

Why concurrent masters do not interfere: a change touches only links between locked brokers, so two changes at
the same time are in disjoint parts of the tree. A change elsewhere moves no broker from behind one neighbour
of this master to behind another, so what the master measured stays true. When its own links change, it drops
what it measured before (`epoch`).
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from regraft.design.ocbr.neighbourhoods import TABU, Tabu
from regraft.design.ocbr.rearrange import Costs, rearrangement
from regraft.model import Action, IllegalTransition
from regraft.model.traffic import Traffic
from regraft.model.transitions import Machine, Transitions


class MasterState(Enum):
    """What a master is doing.

    ● ──▶ RESTING ──Woken, and a better tree exists──▶ LOCKING

    LOCKING ─┬──Granted──▶ CHANGING
             ├──Granted, but the links have changed since the decision──▶ RESTING
             └──Refused, or Lost──▶ RESTING

    CHANGING ──Done, or Lost──▶ RESTING

    Whatever the change led to, the master looks again after the next Δt, at what it has measured by then.
    """

    RESTING = "resting"
    LOCKING = "locking"
    CHANGING = "changing"


_S = MasterState
MASTER_STATES = Transitions(
    {_S.RESTING},
    {
        _S.RESTING: {_S.LOCKING},
        _S.LOCKING: {_S.CHANGING, _S.RESTING},
        _S.CHANGING: {_S.RESTING},
    },
)


class Linked(NamedTuple):
    """The broker's links are these now; `epoch` counts their changes."""

    neighbours: frozenset[str]
    epoch: int


class Measured(NamedTuple):
    """The broker's own view of the traffic, measured while its links were those of `epoch`."""

    view: Traffic
    epoch: int


class Woken(NamedTuple):
    """The time that `Wake` asked for has come."""


class Granted(NamedTuple):
    """This master holds the lock. Every `Linked` from before the lock has been delivered."""

    ticket: int


class Refused(NamedTuple):
    """Another master or a person holds one of the brokers."""

    ticket: int


class Done(NamedTuple):
    """The proposed actions were carried out, or (not `ok`) taken back."""

    ticket: int
    ok: bool


class Lost(NamedTuple):
    """The lock, asked for or held, is gone. The process that carries actions out checks the ticket."""

    ticket: int


TicketAnswer = Granted | Refused | Done | Lost
Event = Linked | Measured | Woken | TicketAnswer
ANSWERED_IN: Mapping[type[TicketAnswer], frozenset[MasterState]] = {
    Granted: frozenset({_S.LOCKING}),
    Refused: frozenset({_S.LOCKING}),
    Done: frozenset({_S.CHANGING}),
    Lost: frozenset({_S.LOCKING, _S.CHANGING}),
}
"""The states in which an answer to the current ticket can arrive."""


class Wake(NamedTuple):
    after: float


class Lock(NamedTuple):
    """Ask for all of these brokers at once, or none."""

    ticket: int
    brokers: frozenset[str]


class Propose(NamedTuple):
    """To be carried out one after the other under the lock; lowers the cost by `saves`."""

    ticket: int
    actions: tuple[Action, ...]
    saves: float


class Unlock(NamedTuple):
    ticket: int


Command = Wake | Lock | Propose | Unlock


@dataclass
class Master:
    """`handle` takes an event and returns what to do; `delta_t` is OCBR's Δt."""

    broker: str
    costs: Costs
    delta_t: float
    rng: random.Random
    tabu: Tabu = TABU
    neighbours: frozenset[str] = frozenset()
    epoch: int = -1
    view: Traffic | None = None
    ticket: int = 0
    wanted: Propose | None = None
    decided: int = -1
    """The epoch in which `wanted` was decided."""
    history: list[Event] = field(default_factory=list)
    """The last events, for the message of a fault."""

    def __post_init__(self) -> None:
        self._states = Machine(MASTER_STATES, MasterState.RESTING, f"master {self.broker}")

    @property
    def state(self) -> MasterState:
        return self._states.state

    def handle(self, event: Event) -> list[Command]:
        self.history = [*self.history[-15:], event]
        return _HANDLERS[type(event)](self, event)

    def _linked(self, event: Linked) -> list[Command]:
        if event.epoch > self.epoch:
            first = self.epoch < 0
            self.neighbours, self.epoch, self.view = event.neighbours, event.epoch, None
            return [self._wake()] if first else []
        return []

    def _measured(self, event: Measured) -> list[Command]:
        if event.epoch == self.epoch:
            self.view = event.view
        return []

    def _woken(self, event: Woken) -> list[Command]:
        again: list[Command] = [self._wake()]
        if self.state is not MasterState.RESTING or self.view is None:
            return again
        actions, saves = rearrangement(
            self.broker, self.neighbours, self.view, self.costs, self.tabu, self.rng.getrandbits(31)
        )
        if not actions:
            return again
        self.ticket += 1
        self._states.become(MasterState.LOCKING)
        self.wanted = Propose(self.ticket, actions, saves)
        self.decided = self.epoch
        return [*again, Lock(self.ticket, self.neighbours | {self.broker})]

    def _granted(self, event: Granted) -> list[Command]:
        if self._is_late(event):
            return [Unlock(event.ticket)]  # the lock was given up as lost before it was granted
        if self.decided != self.epoch or self.wanted is None:
            self._rest()
            return [Unlock(event.ticket)]
        self._states.become(MasterState.CHANGING)
        return [self.wanted]

    def _refused(self, event: Refused) -> list[Command]:
        if not self._is_late(event):
            self._rest()
        return []

    def _done(self, event: Done) -> list[Command]:
        if self._is_late(event):
            return []
        self.view = None  # measured in a neighbourhood that no longer exists, or that could not be changed
        self._rest()
        return [Unlock(event.ticket)]

    def _lost(self, event: Lost) -> list[Command]:
        if not self._is_late(event):
            self.view = None
            self._rest()
        return []

    def _is_late(self, answer: TicketAnswer) -> bool:
        """Whether the answer belongs to a ticket that is over.

        An answer to the current ticket that cannot come in this state is a fault of the shell, and raises.
        """
        if answer.ticket != self.ticket or self.state is MasterState.RESTING:
            return True
        if self.state not in ANSWERED_IN[type(answer)]:
            raise IllegalTransition(
                f"{self.broker}: {answer} while {self.state.value}; before: {self.history}"
            )
        return False

    def _rest(self) -> None:
        self._states.become(MasterState.RESTING)
        self.wanted = None

    def _wake(self) -> Wake:
        """At random, so that masters do not stay in step: two that refuse each other would do so for ever."""
        return Wake(self.delta_t * self.rng.uniform(0.8, 1.2))


_HANDLERS: Mapping[type, Callable[..., list[Command]]] = {
    Linked: Master._linked,
    Measured: Master._measured,
    Woken: Master._woken,
    Granted: Master._granted,
    Refused: Master._refused,
    Done: Master._done,
    Lost: Master._lost,
}
