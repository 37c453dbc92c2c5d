"""How a broker is steered while it runs: by the agent that changes its links, and by healing.

Every call is carried out by the core; what comes of it leaves as everything does.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from regraft.broker.core import Broker, Effect
from regraft.broker.core.change import Change
from regraft.broker.core.lease import Lease
from regraft.broker.io.clock import Clock
from regraft.broker.io.connection import Connection
from regraft.broker.io.dialling import Dialling
from regraft.broker.io.durable import Durable, Outgoing
from regraft.broker.io.inside import Core, links_of
from regraft.broker.io.mesh_changes import MeshChanges
from regraft.model import BadInput, RegraftError
from regraft.protocol.messages import AnyMessage


class Steered(ABC):
    """The part of `BrokerServer` that others call."""

    core: Core | None
    fault: str
    connections: dict[int, Connection]
    _clock: Clock
    _dialling: Dialling
    _durable: Durable
    _lease: Lease
    _mesh_changes: MeshChanges

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
        return set(links_of(self._running()))

    def lease(self, until: float) -> None:
        """Answers to clients may leave until then (`time.monotonic`); before the first call, always."""
        for number, messages in self._lease.prolong(until, time.monotonic()).items():
            if (connection := self.connections.get(number)) is not None:
                self._send(connection, messages)

    def send_away(self, seconds: float) -> None:
        """Clients go elsewhere, and are not served here for so long. A mesh keeps its clients."""
        core, now = self._running(), self._clock.now()
        if isinstance(core, Broker):
            self._change(lambda: core.turn_away(now + seconds, now))

    def call(self, neighbour: str) -> None:
        """There is another address for it now."""
        self._dialling.dial_anew(neighbour)

    # What the agent wants

    def prepare(self, change: Change) -> None:
        """Begin to take part in a change of links; what comes of it is reported to `on_report`."""
        core = self._running()
        if isinstance(core, Broker):
            self._change(lambda: core.prepare(change))
        else:
            self._change(lambda: self._mesh_changes.prepare(change, core))
        self._begun(change.id)

    def commit(self, change: str) -> None:
        core = self._running()
        if isinstance(core, Broker):
            self._change(lambda: core.commit(change))
        else:
            self._change(lambda: self._mesh_changes.commit(change, core))

    def abort(self, change: str) -> None:
        core = self._running()
        if isinstance(core, Broker):
            self._change(lambda: core.abort(change))
        else:
            self._change(lambda: self._mesh_changes.abort(change))

    def stages(self) -> dict[str, str]:
        """How far each change is here; true for good only when it is durable (`when_durable`)."""
        core = self._running()
        if isinstance(core, Broker):
            return core.relink.stages()
        self._change(lambda: self._mesh_changes.settle(core))
        return self._mesh_changes.stages()

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
