"""How others control a broker while it runs: the agent that changes its links, and healing.

Every call is carried out by the core, and its effects leave as all others do.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType

from regraft.broker.core import Core, Effect
from regraft.broker.core.change import Change
from regraft.broker.core.lease import AnswerLease
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
    _lease: AnswerLease

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
        """Answers to clients may leave until then (by `time.monotonic`); before the first call, always."""
        for number, messages in self._lease.prolong(until, time.monotonic()).items():
            if (connection := self.connections.get(number)) is not None:
                self._send(connection, messages)

    def send_away(self, seconds: float) -> None:
        """Clients go elsewhere, and are not served here for this long. A mesh keeps its clients."""
        core, now = self._running(), self._clock.now()
        self._change(lambda: core.turn_away(now + seconds, now))

    def call(self, neighbour: str) -> None:
        """The neighbour has another address now: call it there."""
        self._dialling.dial_anew(neighbour)

    # What the agent wants

    def prepare(self, change: Change) -> None:
        """Begin to take part in a change of links; progress is reported to `on_report`."""
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
        """How far each change is here. A crash may undo it until it is durable (`when_durable`)."""
        return self._running().stages()

    def when_durable(self, call: Callable[[], None]) -> None:
        """Call it when everything that the core has stored so far is on the disk."""
        self._durable.pass_on(Outgoing(calls=[call]), [])

    def _running(self) -> Core:
        if self.fault:
            raise RegraftError(f"broker {self.id!r} has given up: {self.fault}")
        assert self.core is not None
        return self.core

    def _change(self, change: Callable[[], Sequence[Effect]]) -> None:
        """A `BadInput` is the agent's to mend; anything else that the core raises is a fault of the core."""
        try:
            self._perform(change())
        except BadInput:
            raise
        except Exception as fault:
            self._core_failed(fault)
            raise


class FailStop:
    """`with fail_stop:` around what the core does; a fault goes to `failed` and no further.

    A fault of the core is the end of its broker, because half of a change may be done. asyncio would only
    close the connection on which the fault showed, or end a task that no other task waits for, and the broker
    would continue from an unknown state.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(fault, Exception):
            self._failed(fault)
            return True
        return False
