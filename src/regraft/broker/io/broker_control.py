"""How others control a broker while it runs: the agent that changes its links, and healing.

Every call is carried out by the core; what comes of it leaves as everything does.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from regraft.broker.core import Core, Effect
from regraft.broker.core.change import Change
from regraft.broker.core.lease import Lease
from regraft.broker.io.clock import Clock
from regraft.broker.io.connection import Connection
from regraft.broker.io.dialling import Dialling
from regraft.broker.io.durable import Durable, Outgoing
from regraft.model import BadInput, RegraftError
from regraft.protocol.messages import AnyMessage


class BrokerControl(ABC):
    """The part of `BrokerServer` that others call."""

    core: Core | None
    fault: str
    connections: dict[int, Connection]
    _clock: Clock
    _dialling: Dialling
    _durable: Durable
    _lease: Lease

    @property
    @abstractmethod
    def id(self) -> str: ...

    @abstractmethod
    def _perform(self, effects: Sequence[Effect]) -> None: ...

    @abstractmethod
    def _send(self, connection: Connection, messages: list[AnyMessage]) -> None: ...

    @abstractmethod
    def _begun(self, change: str) -> None:
        """The broker takes part in a change of links from now on."""

    @abstractmethod
    def _core_failed(self, fault: BaseException) -> None: ...

    # What healing wants

    @property
    def neighbours(self) -> set[str]:
        return set(self._running().links)

    def lease(self, until: float) -> None:
        """Answers to clients may leave until then (`time.monotonic`); before the first call, always."""
        for number, messages in self._lease.prolong(until, time.monotonic()).items():
            if (connection := self.connections.get(number)) is not None:
                self._send(connection, messages)

    def send_away(self, seconds: float) -> None:
        """Clients go elsewhere, and are not served here for this long. A mesh keeps its clients."""
        core, now = self._running(), self._clock.now()
        self._change(lambda: core.turn_away(now + seconds, now))

    def call(self, neighbour: str) -> None:
        """There is another address for it now."""
        self._dialling.dial_anew(neighbour)

    # What the agent wants

    def prepare(self, change: Change) -> None:
        """Begin to take part in a change of links; what comes of it is reported to `on_report`."""
        core = self._running()
        self._change(lambda: core.prepare(change))
        self._begun(change.id)

    def commit(self, change: str) -> None:
        core = self._running()
        self._change(lambda: core.commit(change))

    def abort(self, change: str) -> None:
        core = self._running()
        self._change(lambda: core.abort(change))

    def stages(self) -> dict[str, str]:
        """How far each change is here; true for good only when it is durable (`when_durable`)."""
        return self._running().stages()

    def when_durable(self, call: Callable[[], None]) -> None:
        """After all that was wanted stored until now is on the disk."""
        self._durable.pass_on(Outgoing(calls=[call]), [])

    def _running(self) -> Core:
        if self.fault:
            raise RegraftError(f"broker {self.id!r} has given up: {self.fault}")
        assert self.core is not None
        return self.core

    def _change(self, change: Callable[[], Sequence[Effect]]) -> None:
        """What the core refuses is the agent's to mend; anything else is a fault of the core."""
        try:
            self._perform(change())
        except BadInput:
            raise
        except Exception as fault:
            self._core_failed(fault)
            raise
