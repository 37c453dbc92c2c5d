"""A broker as master of its own neighbourhood, on the live overlay (OCBR §3): decisions without I/O.

Every Δt the master looks at what it measured itself (§3.1). If a better tree over itself and its
neighbours exists, it asks for a lock on all of them, and when it holds it, has the change made as `shift`
actions. What it saves locally is what the whole network saves, so no word is needed from anyone else.

    RESTING ──Woken, a better tree exists──▶ LOCKING ──Granted──▶ CHANGING ──Done──▶ RESTING
       ▲                                        │ Refused, or the neighbourhood has changed
       └────────────────────────────────────────┘        (a lock that is Lost ends any phase)

Why concurrent masters do not interfere: a change touches only links between locked brokers, so two
changes at once are in disjoint parts of the tree; and a change elsewhere moves no broker from behind one
neighbour of this master to behind another, so what it measured stays true. When its own links change,
measurements of before are dropped (`epoch`).
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


class Phase(Enum):
    RESTING = "resting"
    LOCKING = "locking"
    CHANGING = "changing"


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
    """The brokers are this master's; every `Linked` of before the lock has been delivered."""

    ticket: int


class Refused(NamedTuple):
    """Somebody else holds one of the brokers."""

    ticket: int


class Done(NamedTuple):
    """The proposed actions were carried out, or (not `ok`) taken back."""

    ticket: int
    ok: bool


class Lost(NamedTuple):
    """The lock, asked for or held, is gone; whoever carries actions out checks the ticket."""

    ticket: int


Event = Linked | Measured | Woken | Granted | Refused | Done | Lost


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
    phase: Phase = Phase.RESTING
    neighbours: frozenset[str] = frozenset()
    epoch: int = -1
    view: Traffic | None = None
    ticket: int = 0
    wanted: Propose | None = None
    decided: int = -1
    """The epoch in which `wanted` was decided."""
    history: list[Event] = field(default_factory=list)

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
        if self.phase is not Phase.RESTING or self.view is None:
            return again
        actions, saves = rearrangement(
            self.broker, self.neighbours, self.view, self.costs, self.tabu, self.rng.getrandbits(31)
        )
        if not actions:
            return again
        self.ticket += 1
        self.phase, self.wanted = Phase.LOCKING, Propose(self.ticket, actions, saves)
        self.decided = self.epoch
        return [*again, Lock(self.ticket, self.neighbours | {self.broker})]

    def _granted(self, event: Granted) -> list[Command]:
        if event.ticket != self.ticket or self.phase is Phase.RESTING:
            return [Unlock(event.ticket)]  # late: the lock was given up as lost
        self._must_be(Phase.LOCKING, event)
        if self.decided != self.epoch or self.wanted is None:
            return [*self._rest(), Unlock(event.ticket)]
        self.phase = Phase.CHANGING
        return [self.wanted]

    def _refused(self, event: Refused) -> list[Command]:
        if event.ticket != self.ticket or self.phase is Phase.RESTING:
            return []
        self._must_be(Phase.LOCKING, event)
        return self._rest()

    def _done(self, event: Done) -> list[Command]:
        if event.ticket != self.ticket or self.phase is Phase.RESTING:
            return []
        self._must_be(Phase.CHANGING, event)
        self.view = None  # measured in a neighbourhood that is no more, or that could not be changed
        return [*self._rest(), Unlock(event.ticket)]

    def _lost(self, event: Lost) -> list[Command]:
        if event.ticket == self.ticket and self.phase is not Phase.RESTING:
            self.view = None
            return self._rest()
        return []

    def _rest(self) -> list[Command]:
        self.phase, self.wanted = Phase.RESTING, None
        return []

    def _wake(self) -> Wake:
        """Never in step with the others: two masters that refuse each other would do so for ever."""
        return Wake(self.delta_t * self.rng.uniform(0.8, 1.2))

    def _must_be(self, phase: Phase, event: Event) -> None:
        if self.phase is not phase:
            raise IllegalTransition(
                f"{self.broker}: {event} while {self.phase.value}; before: {self.history}"
            )


_HANDLERS: Mapping[type, Callable[..., list[Command]]] = {
    Linked: Master._linked,
    Measured: Master._measured,
    Woken: Master._woken,
    Granted: Master._granted,
    Refused: Master._refused,
    Done: Master._done,
    Lost: Master._lost,
}
