"""How an agent drives its broker: the one small interface, and that of Regraft's own brokers.

An agent for another kind of broker is another `Driver`; nothing else has to know of it. That a broker can
not be reached, or does not want something, is a value: the agent goes on and asks again.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from regraft.broker.io.control_messages import DRIVING, Answer, BrokerState, Hello, Request
from regraft.deploy.records import Change
from regraft.wire.requests import Away, Caller

Address = tuple[str, int]
CALL_SECONDS = 10.0
CONNECT_SECONDS = 2.0
FRESH_SECONDS = 0.1
"""A state that the broker told so recently is its state: it tells every change of a stage."""


class Unreachable(NamedTuple):
    """The broker does not answer; what it was told may have been done."""

    reason: str


class Refused(NamedTuple):
    """The broker does not want that, and has not done it."""

    reason: str


Result: TypeAlias = Refused | Unreachable | None


class Driver(Protocol):
    """What an agent needs from a broker. `commit` and `abort` may be said again at any time."""

    changed: asyncio.Event
    """Set when the state may be another: a stage, or whether the broker can be reached."""

    async def state(self) -> BrokerState | Unreachable:
        """Only what a crash of the broker does not undo."""
        ...

    async def prepare(self, change: Change, addresses: Mapping[str, Address]) -> Result:
        """Take part in a change of links; the addresses are of brokers that may have to be called."""
        ...

    async def commit(self, id: str) -> Result: ...

    async def abort(self, id: str) -> Result: ...

    async def introduce(self, addresses: Mapping[str, Address]) -> Result:
        """Where other brokers are now."""
        ...

    async def close(self) -> None: ...


class ControlDriver:
    """Drives a broker by its control endpoint; connects when there is something to say, and again."""

    def __init__(self, address: Address, token: str) -> None:
        self.changed = asyncio.Event()
        self._latest: tuple[float, BrokerState] | None = None
        self._caller: Caller[Answer, Hello | Request] = Caller(
            address,
            DRIVING,
            lambda answer: answer.n,
            hello=Hello(token),
            connect_seconds=CONNECT_SECONDS,
            heard=self._heard,
            ended=self._ended,
        )

    async def state(self) -> BrokerState | Unreachable:
        now = asyncio.get_running_loop().time()
        if self._latest is not None and now - self._latest[0] < FRESH_SECONDS:
            return self._latest[1]
        answer = await self._ask(Request(0, "state"))
        if isinstance(answer, Unreachable):
            return answer
        return answer.state if answer.state is not None else Unreachable(answer.refused or "it says nothing")

    async def prepare(self, change: Change, addresses: Mapping[str, Address]) -> Result:
        id, operation, brokers = change
        return await self._tell(Request(0, "prepare", id, operation, brokers, dict(addresses)))

    async def commit(self, id: str) -> Result:
        return await self._tell(Request(0, "commit", id))

    async def abort(self, id: str) -> Result:
        return await self._tell(Request(0, "abort", id))

    async def introduce(self, addresses: Mapping[str, Address]) -> Result:
        return await self._tell(Request(0, "introduce", addresses=dict(addresses)))

    async def close(self) -> None:
        self._caller.close()

    async def _tell(self, request: Request) -> Result:
        self._latest = None  # from now on the state may be another
        answer = await self._ask(request)
        if isinstance(answer, Unreachable):
            return answer
        return Refused(answer.refused) if answer.refused else None

    async def _ask(self, request: Request) -> Answer | Unreachable:
        """The request gets its number here. An endpoint that does not answer is connected anew next time."""
        try:
            return await self._caller.call(
                lambda number: msgspec.structs.replace(request, n=number), CALL_SECONDS
            )
        except TimeoutError:
            self._caller.close()
            return Unreachable("no answer in time")
        except Away as fault:
            return Unreachable(str(fault))

    def _heard(self, answer: Answer) -> None:
        if answer.state is not None:
            self._latest = asyncio.get_running_loop().time(), answer.state
        if not answer.n:
            self.changed.set()

    def _ended(self) -> None:
        self._latest = None
        self.changed.set()
