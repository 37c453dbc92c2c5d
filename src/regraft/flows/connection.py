"""One switch at the other end of a socket: connect, send phases, read rules back, connect again.

The shell around `openflow.Session`; `changing` has decided what is sent and in which order. If the connection
breaks in the middle of a phase, it is made again, and the switch's part of the phase is sent again from its
beginning, which is harmless (see `changing`) unless the switch has lost its rules: that is a fault.

Every fault of a switch is one line with the switch's name and address in front.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from regraft.flows.openflow.codec import FlowStats, write_flow_mod
from regraft.flows.openflow.session import BarrierDone, Event, HeldRules, MessageFailed, Session, SwitchReady
from regraft.flows.openflow.wire import Garbage
from regraft.flows.rules import Command, FlowMod, Message
from regraft.model import BadInput, RegraftError

CHUNK = 256
"""How many messages are written before waiting until the socket has room again."""


class SwitchFault(RegraftError):
    """A switch is not reachable, does not speak OpenFlow 1.3, refuses a rule, or has lost its rules."""

    def __init__(self, switch: str, address: str, reason: str) -> None:
        super().__init__(f"switch {switch!r} at {address}: {reason}")
        self.switch = switch
        self.reason = reason


class RuleRefused(SwitchFault):
    """The switch works, but refuses a rule."""


class SwitchUnreachable(SwitchFault):
    """No connection, or it was lost too often."""


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds, and how often to try."""

    connect: float = 5.0
    answer: float = 30.0
    attempts: int = 4
    pause: float = 0.25
    """Before the second attempt; doubled each time."""
    drain: float = 0.25
    """How long an event may be on its way from its publisher to its last subscriber."""


class SwitchConnection:
    """Use it as an asynchronous context, and for one phase at a time."""

    def __init__(self, name: str, address: str, patience: Patience) -> None:
        self.name = name
        self.address = address
        self.patience = patience
        self.session = Session()
        self.datapath: int | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> "SwitchConnection":
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def connect(self) -> None:
        """Connect and greet, as often as `patience` allows."""
        pause = self.patience.pause
        for attempt in range(self.patience.attempts):
            if attempt:
                await asyncio.sleep(pause)
                pause *= 2
            try:
                async with asyncio.timeout(self.patience.connect):
                    self._reader, self._writer = await _open(self.address)
                    self.session = Session()
                    await self._greet()
                return
            except (OSError, EOFError, TimeoutError) as fault:
                self.close()
                reason = _words(fault)
            except Garbage as fault:
                self.close()
                raise self._garbage(fault) from None
        raise SwitchUnreachable(self.name, self.address, f"no connection: {reason}")

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def carry_out(self, messages: Sequence[Message], done: Callable[[int], None] | None = None) -> None:
        """Returns when the switch has confirmed all messages; raises for the first that it refuses."""
        for attempt in range(self.patience.attempts):
            try:
                with self._named_faults():
                    if attempt:
                        await self.connect()
                        if not _starts_afresh(messages):
                            await self._check_rules()
                    for stage in _stages(messages):
                        await self._carry_out(stage, done)
                    return
            except (OSError, EOFError) as fault:
                self.close()
                reason = _words(fault)
        raise SwitchUnreachable(self.name, self.address, f"the connection breaks again and again: {reason}")

    async def rules(self) -> list[FlowStats]:
        """Those of our rules that the switch holds, as it reports them."""
        try:
            with self._named_faults():
                return [rule for held in await self._ask(counted=False) for rule in held.rules]
        except (OSError, EOFError) as fault:
            raise SwitchUnreachable(self.name, self.address, _words(fault)) from None

    @contextmanager
    def _named_faults(self) -> Iterator[None]:
        """No answer, or one that is not OpenFlow 1.3, becomes a fault with the switch's name; a broken
        connection is left to the caller, which may try again."""
        try:
            yield
        except TimeoutError:
            self.close()
            raise SwitchUnreachable(self.name, self.address, "does not answer") from None
        except Garbage as fault:
            self.close()
            raise self._garbage(fault) from None

    async def _check_rules(self) -> None:
        """After a lost connection: for a switch that restarted without its rules, the difference is not
        enough."""
        if not sum(held.number for held in await self._ask(counted=True)):
            raise SwitchFault(self.name, self.address, "has lost its rules: install all of them again")

    async def _greet(self) -> None:
        await self._flush()
        while True:
            for event in await self._events():
                if isinstance(event, SwitchReady):
                    self.datapath = event.datapath
                    return

    async def _ask(self, counted: bool) -> list[HeldRules]:
        xid = self.session.ask_rules(counted)
        found: list[HeldRules] = []
        async with asyncio.timeout(self.patience.answer):
            await self._flush()
            while not found or found[-1].more:
                for event in await self._events():
                    if isinstance(event, HeldRules) and event.xid == xid:
                        found.append(event)
                    elif isinstance(event, MessageFailed) and event.xid == xid:
                        raise RuleRefused(self.name, self.address, event.reason)
        return found

    async def _carry_out(self, messages: Sequence[Message], done: Callable[[int], None] | None) -> None:
        sent: dict[int, FlowMod] = {}
        last: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        answers = asyncio.ensure_future(self._answers(sent, last))
        try:
            await self._send(messages, sent, done)
            last.set_result(self.session.barrier())
            await self._flush()
            async with asyncio.timeout(self.patience.answer):
                await answers
        finally:
            if not answers.done():
                answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)

    async def _send(
        self, messages: Sequence[Message], sent: dict[int, FlowMod], done: Callable[[int], None] | None
    ) -> None:
        assert self._writer is not None
        for start in range(0, len(messages), CHUNK):
            batch = messages[start : start + CHUNK]
            parts: list[bytes] = []
            for message in batch:
                if isinstance(message, FlowMod):
                    xid = self.session.next_xid()
                    sent[xid] = message
                    parts.append(write_flow_mod(message, xid))
                else:
                    self.session.barrier()
                    parts.append(self.session.outgoing())
            self._writer.write(b"".join(parts))
            async with asyncio.timeout(self.patience.answer):
                await self._writer.drain()
            if done is not None:
                done(len(batch))

    async def _answers(self, sent: dict[int, FlowMod], last: "asyncio.Future[int]") -> None:
        """Read until the last barrier is answered. Refusals come before it; the first one is raised."""
        refused: MessageFailed | None = None
        while True:
            for event in await self._events():
                if isinstance(event, MessageFailed):
                    refused = refused or event
                elif isinstance(event, BarrierDone) and last.done() and event.xid == last.result():
                    if refused is not None:
                        raise RuleRefused(self.name, self.address, _refusal(refused, sent))
                    return

    async def _events(self) -> list[Event]:
        assert self._reader is not None
        data = await self._reader.read(1 << 16)
        if not data:
            raise EOFError("the switch has closed the connection")
        events = list(self.session.receive(data))
        await self._flush()
        return events

    async def _flush(self) -> None:
        if self._writer is None:
            raise EOFError("the connection is closed")
        if data := self.session.outgoing():
            self._writer.write(data)
            async with asyncio.timeout(self.patience.answer):
                await self._writer.drain()

    def _garbage(self, fault: Garbage) -> SwitchFault:
        return SwitchFault(self.name, self.address, f"does not answer in OpenFlow 1.3: {fault}")


async def _open(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    kind, _, rest = address.partition(":")
    if kind == "unix":
        return await asyncio.open_unix_connection(rest)
    host, _, port = rest.rpartition(":")
    return await asyncio.open_connection(host.strip("[]"), int(port))


def check_address(address: str, place: str) -> None:
    """Raise `BadInput` if this is neither `unix:PATH` nor `tcp:HOST:PORT`."""
    kind, _, rest = address.partition(":")
    host, _, port = rest.rpartition(":")
    if kind == "unix" and rest:
        return
    if kind == "tcp" and host and port.isdecimal() and 0 < int(port) < 1 << 16:
        return
    raise BadInput(place, f"{address!r} is not an address of a switch: unix:PATH or tcp:HOST:PORT")


def _stages(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Cut before each replacement or deletion that follows additions. A switch confirms a stage before the
    next is sent, so if it refuses a new rule, the old ones are still there."""
    start, adding = 0, False
    for place, message in enumerate(messages):
        if isinstance(message, FlowMod):
            if adding and message.command is not Command.ADD:
                yield messages[start:place]
                start = place
            adding = message.command is Command.ADD
    yield messages[start:]


def _starts_afresh(messages: Sequence[Message]) -> bool:
    return (
        bool(messages) and isinstance(messages[0], FlowMod) and messages[0].command is Command.DELETE_WITHIN
    )


def _refusal(refused: MessageFailed, sent: dict[int, FlowMod]) -> str:
    if refused.xid in sent:
        command, rule = sent[refused.xid]
        return f"{command.name.lower()} {rule}: {refused.reason}"
    return refused.reason


def _words(fault: BaseException) -> str:
    if isinstance(fault, TimeoutError):
        return "no answer in time"
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    return str(fault) or type(fault).__name__
