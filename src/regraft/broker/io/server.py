"""The shell of one broker: sockets, timers and files around the core, which decides everything.

The shell tells the core what happens and carries out its effects in order. Everything that one call of the
core sends to one peer leaves as one frame. What the core stores is on the disk before anything that it sends
afterwards leaves; meanwhile the shell continues to read, and what is sent waits.
"""

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from regraft.broker.core import Broker, Close, Core, Dial, Effect, Hangup, Send, Store
from regraft.broker.core.effects import Report
from regraft.broker.core.lease import AnswerLease
from regraft.broker.core.mesh import MeshBroker, MeshSettings
from regraft.broker.core.settings import NEIGHBOURS, neighbours_of
from regraft.broker.io.broker_control import BrokerControl, FailStop
from regraft.broker.io.clock import Clock
from regraft.broker.io.configuration import Address, Configuration
from regraft.broker.io.connection import Connection
from regraft.broker.io.control import Control
from regraft.broker.io.dialling import Dialling
from regraft.broker.io.durable import Durable, Memory, Outgoing
from regraft.broker.io.endpoint import Endpoint
from regraft.broker.io.entrance import FRAMES, Entrance
from regraft.broker.io.fair_queue import FairQueue, prepare
from regraft.broker.io.journal import Journal, file_name, life_by_the_clock
from regraft.broker.io.metrics import Counters, healthz, metrics
from regraft.broker.io.round_trips import Probing
from regraft.filters import Filter
from regraft.model import BadInput, RegraftError
from regraft.protocol.messages import AnyMessage, Bye, ClientHello, LinkHello, Run
from regraft.wire.identity import accepting
from regraft.wire.streams import address_of, listen

if TYPE_CHECKING:
    from regraft.broker.io.telemetry import Observer

log = logging.getLogger("regraft.broker")
TICK_SECONDS = 0.25


class BrokerServer(BrokerControl):
    """A running broker. The `addresses` of possible neighbours can be filled in at any time."""

    def __init__(
        self, configuration: Configuration, addresses: dict[str, Address], memory: Memory | None = None
    ) -> None:
        """`memory` instead of the journal in `configuration.state`."""
        self.configuration = configuration
        self.addresses = addresses
        self.candidates: dict[str, Address] = {}
        """Where brokers listen that may be probed (`round_trips`) and are called only if `addresses` has
        them."""
        self.counters = Counters()
        self.connections: dict[int, Connection] = {}
        self.core: Core | None = None
        self.observer: Observer | None = None
        self.fault = ""
        """Why the broker has given up, if it has."""
        self.failed = asyncio.Event()
        self.on_report: Callable[[Report], None] = lambda report: None
        self.on_neighbour: Callable[[str, bool], None] = lambda neighbour, there: None
        """Called when a neighbour has connected, and when the connection to it is lost."""
        self._fail_stop = FailStop(self._core_failed)
        self._next = 1
        self._fair_queue = FairQueue()
        self._clock = Clock()
        self._dialling = Dialling(self._new_connection, addresses, configuration.tls)
        self._memory = memory
        self._lease = AnswerLease()
        self._durable = Durable(None, self._leave)
        self._listener: asyncio.Server | None = None
        self._endpoint: Endpoint | None = None
        self._control: Control | None = None
        self._beating: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        return self.configuration.broker

    @property
    def address(self) -> Address:
        assert self._listener is not None
        return address_of(self._listener)

    @property
    def metrics_address(self) -> Address | None:
        return self._endpoint.address if self._endpoint is not None else None

    @property
    def control_address(self) -> Address | None:
        return self._control.address if self._control is not None else None

    # Life

    async def listen(self) -> Address:
        """Take the port; connections wait until `start`."""
        self._listener = await listen(
            self._new_connection,
            (self.configuration.host, self.configuration.port),
            accepting(self.configuration.tls),
            handshake_seconds=self.configuration.allowed.hello_seconds,
            start=False,
        )
        return self.address

    async def start(self) -> None:
        """Restore what was stored, let peers in, and call the neighbours."""
        config = self.configuration
        if self._listener is None:
            await self.listen()
        assert self._listener is not None
        if self._memory is None and config.state is not None:
            self._memory = Journal(config.state / f"{file_name(self.id)}.journal", config.kind)
        stored = dict(self._memory.values) if self._memory is not None else {}
        life = self._memory.life if self._memory is not None else life_by_the_clock()
        self._durable = Durable(self._memory, self._leave, self._memory_failed)
        try:
            if config.telemetry is not None:
                probing = Probing(self.id, self.addresses, self.candidates, config.telemetry.probes)
                from regraft.broker.io.telemetry import Observer  # noqa: PLC0415 — loads Arrow: 40 MB

                telemetry = dataclasses.replace(config.telemetry, outbox=config.outbox)
                self.observer = Observer(self.id, telemetry, probing)
                self.observer.known(stored)
            self.core = self._new_core(life, stored)
        except (msgspec.DecodeError, BadInput) as fault:
            if self._memory is None:
                raise
            raise BadInput(str(self._memory), f"not what this broker remembers: {fault}") from None
        if config.metrics is not None:
            self._endpoint = Endpoint({"/metrics": lambda: metrics(self), "/healthz": lambda: healthz(self)})
            await self._endpoint.start(*config.metrics)
        if config.control is not None:
            self._control = Control(self, config.control_token)
            await self._control.start(*config.control)
        await self._listener.start_serving()
        self._perform(self.core.start())
        self._beating = asyncio.create_task(self._beat())
        self._beating.add_done_callback(self._beat_ended)

    def _new_core(self, life: int, stored: dict[str, bytes]) -> Core:
        config = self.configuration
        settings = dataclasses.replace(config.settings, observe=config.telemetry is not None)
        near: Sequence[str] = sorted(config.neighbours)
        if config.remembered and NEIGHBOURS in stored:
            near = neighbours_of(stored[NEIGHBOURS])
        if config.kind == "mesh":
            if not isinstance(settings, MeshSettings):
                settings = MeshSettings(**vars(settings), connected=config.connected)
            return MeshBroker(self.id, near, settings, life, stored, self._clock.now())
        return Broker(self.id, near, settings, life, stored, self._clock.now())

    async def stop(self) -> None:
        """Stop in order: what the core has decided leaves, then connections end."""
        self._accept_no_more()
        await self._dialling.stop()
        await self._durable.finish()
        for connection in list(self.connections.values()):
            connection.close("the broker stops")
        if ending := [connection.ended for connection in self.connections.values()]:
            await asyncio.wait(ending, timeout=1.0)
        for connection in list(self.connections.values()):
            connection.abort()
        if self._endpoint is not None:
            await self._endpoint.stop()
        if self.observer is not None:
            await self.observer.probing.stop()
            self.observer.flush()
            await asyncio.to_thread(self.observer.close)
        await asyncio.sleep(0)
        await self._durable.finish()
        if self._memory is not None:
            self._memory.close()

    def _memory_failed(self, fault: Exception) -> None:
        """Give up: a broker that cannot store would promise what a crash undoes."""
        if isinstance(fault, OSError | RegraftError):
            self.give_up(f"the journal cannot be written: {fault}")
        else:
            self._core_failed(fault)

    def _beat_ended(self, beating: asyncio.Task[None]) -> None:
        """A broker without its ticks only looks alive: give up if they fail."""
        if not beating.cancelled() and (fault := beating.exception()) is not None:
            self._core_failed(fault)

    def _core_failed(self, fault: BaseException) -> None:
        self.give_up(f"{type(fault).__name__} in the core: {fault}", fault)

    def give_up(self, reason: str, fault: BaseException | None = None) -> None:
        """End at once and for good: peers find another way, or this broker after a restart."""
        if self.fault:
            return
        self.fault = reason
        log.critical("%s: %s", self.id, self.fault, exc_info=fault)
        self._accept_no_more()
        self._dialling.hangup_all()
        for connection in list(self.connections.values()):
            connection.abort()
        self.failed.set()

    def _accept_no_more(self) -> None:
        """No ticks, no new connections and no agents from now on."""
        if self._beating is not None:
            self._beating.cancel()
        if self._listener is not None:
            self._listener.close()
        if self._control is not None:
            self._control.close()

    # What connections tell

    def _new_connection(self, neighbour: str = "", entrance: Entrance = FRAMES) -> Connection:
        self._next += 1
        allowed = self.configuration.allowed
        return Connection(self, self._next, allowed, neighbour, self._fair_queue, entrance)

    def connected(self, connection: Connection) -> None:
        assert self.core is not None
        if self.fault:
            connection.abort()
            return
        self.connections[connection.number] = connection
        self.counters.accepted += 1
        if len(self.connections) > self.configuration.allowed.connections:
            # Not a refusal: the peer may try again later, or elsewhere.
            connection.send([Bye(f"this broker has {self.configuration.allowed.connections} connections")])
            connection.close("too many connections")
            return
        with self._fail_stop:
            self._perform(self.core.opened(connection.number, connection.neighbour))

    def ahead(self, connection: Connection, message: AnyMessage, filters: list[Filter]) -> Iterator[None]:
        """Parse filters, and put those of a hello into the tables, so that handling it takes no time."""
        if connection.hello is None and not self._admitted(connection, message):
            return
        yield from prepare(message, filters)
        if isinstance(message, ClientHello) and message is connection.hello and self.core is not None:
            with self._fail_stop:
                yield from self.core.sessions.expecting(message, self._clock.now())

    def said(self, connection: Connection, messages: list[AnyMessage]) -> None:
        assert self.core is not None
        if self.fault:
            return
        if connection.hello is None and not self._admitted(connection, messages[0]):
            return
        self.counters.messages_in += len(messages)
        self.counters.publications_in += sum([len(each.seqs) for each in messages if type(each) is Run])
        if isinstance(connection.hello, ClientHello):
            connection.usage.published(messages)
            if excess := connection.usage.excess(self.configuration):
                connection.refuse(excess)
                self._expel(connection)
                return
        with self._fail_stop:
            self._perform(self.core.received(connection.number, messages, self._clock.now()))

    def gone(self, connection: Connection) -> None:
        if self.connections.pop(connection.number, None) is None or self.core is None:
            return
        self.counters.bytes_in += connection.bytes_in
        self.counters.bytes_out += connection.bytes_out
        if connection.reason:
            self.counters.refused += 1
            log.info("%s closed connection %d: %s", self.id, connection.number, connection.reason)
        if self.fault:
            return
        if isinstance(connection.hello, LinkHello):
            self.on_neighbour(connection.hello.broker, False)
        if connection.takes_too_much:
            self._expel(connection)
        with self._fail_stop:
            self._perform(self.core.closed(connection.number, self._clock.now()))

    def _expel(self, connection: Connection) -> None:
        """End the session as if the client had said goodbye: it takes too much, so nothing is kept for it."""
        assert self.core is not None
        with self._fail_stop:
            self._perform(self.core.received(connection.number, [Bye()], self._clock.now()))

    def _admitted(self, connection: Connection, first: AnyMessage) -> bool:
        """Whether the peer may talk to the core. (The core refuses a first message that is not a hello.)"""
        if isinstance(first, LinkHello | ClientHello):
            assert connection.transport is not None
            certificate = connection.transport.get_extra_info("peercert")
            if reason := connection.entrance.refusal(first, certificate, self.configuration):
                connection.refuse(reason)
                return False
            if isinstance(first, ClientHello) and self._is_full(first.client):
                connection.send([Bye(f"this broker has {self.configuration.allowed.sessions} sessions")])
                connection.close("too many sessions")
                return False
            connection.introduced(first)
            if isinstance(first, LinkHello):
                self.on_neighbour(first.broker, True)
        return True

    def _is_full(self, client: str) -> bool:
        assert self.core is not None
        sessions = self.core.sessions.all
        return len(sessions) >= self.configuration.allowed.sessions and f"@{client}" not in sessions

    # What the core wants

    def _perform(self, effects: Sequence[Effect]) -> None:
        out = Outgoing()
        sends = out.sends
        stores: list[Store] = []
        for effect in effects:
            if isinstance(effect, Send):
                if (messages := sends.get(effect.connection)) is None:
                    messages = sends[effect.connection] = []
                messages.append(effect.message)
            elif isinstance(effect, Store):
                stores.append(effect)
            elif isinstance(effect, Close):
                out.closes.append(effect)
            elif isinstance(effect, Dial):
                self._dialling.dial(effect.neighbour)
            elif isinstance(effect, Hangup):
                self._dialling.hangup(effect.neighbour)
            else:
                out.reports.append(effect)
        if self.observer is not None:
            self._observe(self.observer, stores, out.reports)
        self._durable.pass_on(out, stores)

    def _leave(self, out: Outgoing) -> None:
        for number, messages in out.sends.items():
            if (connection := self.connections.get(number)) is None:
                continue
            if type(connection.hello) is not ClientHello:
                self._send(connection, messages)
            elif answers := self._lease.admitted(number, messages, time.monotonic()):
                self._send(connection, answers)
        for close in out.closes:
            if (connection := self.connections.get(close.connection)) is not None:
                connection.close(close.reason)
        for report in out.reports:
            self.on_report(report)
        if out.reports and self._control is not None:
            self._control.changed()
        for call in out.calls:
            call()

    def _send(self, connection: Connection, messages: list[AnyMessage]) -> None:
        self.counters.messages_out += len(messages)
        if isinstance(hello := messages[0], LinkHello):
            messages[0] = msgspec.structs.replace(hello, token=self.configuration.tokens.brokers)
        elif type(connection.hello) is ClientHello:
            self.counters.refusals += connection.usage.answered(messages)
        connection.send(messages)

    def _observe(self, observer: "Observer", stores: list[Store], reports: Sequence[Report]) -> None:
        assert self.core is not None
        if facts := self.core.take_facts():
            observer.facts(facts, self.core.held_bytes)
        if stores:
            observer.stores(stores)
        for change, stage in reports:
            if stage != "ready":
                observer.health(self, change)

    def _begun(self, change: str) -> None:
        if self.observer is not None:
            self.observer.health(self, change)

    # Time

    async def _beat(self) -> None:
        config = self.configuration
        every = config.allowed.heartbeat_seconds
        step = min(TICK_SECONDS, every)
        since_beat = since_health = 0.0
        while True:
            before = time.monotonic()
            await asyncio.sleep(step)
            self._clock.paused(step, time.monotonic() - before)
            assert self.core is not None
            self._perform(self.core.tick(self._clock.now()))
            if self.observer is not None:
                self.observer.flush()
            since_beat += step
            since_health += step
            if since_beat >= every:
                since_beat = 0.0
                self._lease.keep(self.connections)
                for connection in list(self.connections.values()):
                    connection.beat(every)
            if self.observer is not None and since_health >= self.observer.telemetry.health_seconds:
                since_health = 0.0
                self.observer.health(self)
