"""How an agent drives its broker: the one small interface, and that of Regraft's own brokers.

An agent for another kind of broker is another `Driver`; nothing else has to know of it. That a broker can
not be reached, or does not want something, is a value: the agent goes on and asks again.
"""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from regraft.broker.io.control_messages import LINE_BYTES, Answer, BrokerState, Hello, Request, line
from regraft.deploy.records import Change

log = logging.getLogger("regraft.deploy")
Address = tuple[str, int]
CALL_SECONDS = 10.0
CONNECT_SECONDS = 2.0
FRESH_SECONDS = 0.1
"""A state that the broker told so recently is its state: it tells every change of a stage."""
_answer = msgspec.json.Decoder(Answer).decode


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
        self._address = address
        self._token = token
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._latest: tuple[float, BrokerState] | None = None

    async def state(self) -> BrokerState | Unreachable:
        now = asyncio.get_running_loop().time()
        if self._latest is not None and now - self._latest[0] < FRESH_SECONDS:
            return self._latest[1]
        answer = await self._ask(Request(next(self._numbers), "state"))
        if isinstance(answer, Unreachable):
            return answer
        return answer.state if answer.state is not None else Unreachable(answer.refused or "it says nothing")

    async def prepare(self, change: Change, addresses: Mapping[str, Address]) -> Result:
        id, operation, brokers = change
        number = next(self._numbers)
        return await self._tell(Request(number, "prepare", id, operation, brokers, dict(addresses)))

    async def commit(self, id: str) -> Result:
        return await self._tell(Request(next(self._numbers), "commit", id))

    async def abort(self, id: str) -> Result:
        return await self._tell(Request(next(self._numbers), "abort", id))

    async def introduce(self, addresses: Mapping[str, Address]) -> Result:
        return await self._tell(Request(next(self._numbers), "introduce", addresses=dict(addresses)))

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _tell(self, request: Request) -> Result:
        self._latest = None  # from now on the state may be another
        answer = await self._ask(request)
        if isinstance(answer, Unreachable):
            return answer
        return Refused(answer.refused) if answer.refused else None

    async def _ask(self, request: Request) -> Answer | Unreachable:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                writer = await self._connected()
                answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
                self._waiting[request.n] = answered
                writer.write(line(request))
                return await answered
        except TimeoutError:
            self._disconnect()
            return Unreachable("no answer in time")
        except OSError as fault:
            return Unreachable(fault.strerror or str(fault) or type(fault).__name__)
        except ValueError as fault:  # a line without end: that is no broker
            return Unreachable(str(fault))
        finally:
            self._waiting.pop(request.n, None)

    async def _connected(self) -> asyncio.StreamWriter:
        async with self._connecting:
            if self._writer is None:
                async with asyncio.timeout(CONNECT_SECONDS):
                    reader, writer = await asyncio.open_connection(*self._address, limit=LINE_BYTES)
                    writer.write(line(Hello(self._token)))
                    if not await reader.readline():  # who has the wrong token hears nothing
                        writer.close()
                        raise ConnectionRefusedError("the broker does not accept the token")
                self._writer = writer
                self._reading = asyncio.create_task(self._read(reader, writer))
            return self._writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.readline():
                self._heard(_answer(data))
        except (ValueError, OSError, msgspec.DecodeError) as fault:
            log.info("the broker at %s:%d: %s", *self._address, fault)
        finally:
            if self._writer is writer:
                self._disconnect()

    def _heard(self, answer: Answer) -> None:
        if answer.state is not None:
            self._latest = asyncio.get_running_loop().time(), answer.state
        if not answer.n:
            self.changed.set()
        elif (waiting := self._waiting.pop(answer.n, None)) is not None and not waiting.done():
            waiting.set_result(answer)

    def _disconnect(self) -> None:
        """Nobody waits for answers that will not come."""
        writer, self._writer, self._latest = self._writer, None, None
        if writer is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                writer.transport.abort()
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            if not each.done():
                each.set_exception(ConnectionResetError("the connection was lost"))
        self.changed.set()
