"""How an agent drives its broker: a small interface, and its implementation for Regraft's own brokers.

For another kind of broker it takes another `Driver`; nothing else depends on the kind. That a broker cannot
be reached, or refuses a change, is a value: the agent continues and asks again.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from regraft.broker.io.control_messages import (
    DRIVING,
    BrokerState,
    ControlAnswer,
    ControlHello,
    ControlRequest,
)
from regraft.deploy.records import LinkChange
from regraft.wire.requests import Away, Caller

Address = tuple[str, int]
CALL_SECONDS = 10.0
CONNECT_SECONDS = 2.0
FRESH_SECONDS = 0.1
"""A state that the broker sent so recently is still valid: the broker sends every change of a stage."""


class Unreachable(NamedTuple):
    """The broker does not answer. It may or may not have done what it was told."""

    reason: str


class RefusedByBroker(NamedTuple):
    """The broker refuses, and has not done it."""

    reason: str


Result: TypeAlias = RefusedByBroker | Unreachable | None


class Driver(Protocol):
    """What an agent needs from a broker. `commit` and `abort` may be repeated at any time."""

    changed: asyncio.Event
    """Set when the state may have changed: a stage, or whether the broker can be reached."""

    async def state(self) -> BrokerState | Unreachable:
        """Only what survives a crash of the broker."""
        ...

    async def prepare(self, change: LinkChange, addresses: Mapping[str, Address]) -> Result:
        """Take part in a change of links. The addresses are those of brokers that it may have to call."""
        ...

    async def commit(self, id: str) -> Result: ...

    async def abort(self, id: str) -> Result: ...

    async def introduce(self, addresses: Mapping[str, Address]) -> Result:
        """Tell the broker where other brokers are now."""
        ...

    async def acquaint(self, candidates: Mapping[str, Address]) -> Result:
        """Tell the broker where brokers are to which it may measure round trips. It calls none of them as a
        neighbour."""
        ...

    async def close(self) -> None: ...


class ControlDriver:
    """Drives a broker by its control endpoint. It connects, and reconnects, when there is a request."""

    def __init__(self, address: Address, token: str) -> None:
        self.changed = asyncio.Event()
        self._latest: tuple[float, BrokerState] | None = None
        self._caller: Caller[ControlAnswer, ControlHello | ControlRequest] = Caller(
            address,
            DRIVING,
            lambda answer: answer.n,
            hello=ControlHello(token),
            connect_seconds=CONNECT_SECONDS,
            heard=self._heard,
            ended=self._ended,
        )

    async def state(self) -> BrokerState | Unreachable:
        now = asyncio.get_running_loop().time()
        if self._latest is not None and now - self._latest[0] < FRESH_SECONDS:
            return self._latest[1]
        answer = await self._ask(ControlRequest(0, "state"))
        if isinstance(answer, Unreachable):
            return answer
        return answer.state if answer.state is not None else Unreachable(answer.refused or "it says nothing")

    async def prepare(self, change: LinkChange, addresses: Mapping[str, Address]) -> Result:
        id, operation, brokers = change
        return await self._tell(ControlRequest(0, "prepare", id, operation, brokers, dict(addresses)))

    async def commit(self, id: str) -> Result:
        return await self._tell(ControlRequest(0, "commit", id))

    async def abort(self, id: str) -> Result:
        return await self._tell(ControlRequest(0, "abort", id))

    async def introduce(self, addresses: Mapping[str, Address]) -> Result:
        return await self._tell(ControlRequest(0, "introduce", addresses=dict(addresses)))

    async def acquaint(self, candidates: Mapping[str, Address]) -> Result:
        return await self._tell(ControlRequest(0, "introduce", candidates=dict(candidates)))

    async def close(self) -> None:
        self._caller.close()

    async def _tell(self, request: ControlRequest) -> Result:
        self._latest = None  # the request may change the state
        answer = await self._ask(request)
        if isinstance(answer, Unreachable):
            return answer
        return RefusedByBroker(answer.refused) if answer.refused else None

    async def _ask(self, request: ControlRequest) -> ControlAnswer | Unreachable:
        """The request gets its number here. Without an answer in time, the next one connects anew."""
        try:
            return await self._caller.call(
                lambda number: msgspec.structs.replace(request, n=number), CALL_SECONDS
            )
        except TimeoutError:
            self._caller.close()
            return Unreachable("no answer in time")
        except Away as fault:
            return Unreachable(str(fault))

    def _heard(self, answer: ControlAnswer) -> None:
        if answer.state is not None:
            self._latest = asyncio.get_running_loop().time(), answer.state
        if not answer.n:
            self.changed.set()

    def _ended(self) -> None:
        self._latest = None
        self.changed.set()
