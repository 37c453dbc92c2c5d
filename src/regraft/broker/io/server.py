"""The shell of one broker: sockets, timers and files around the core, which decides everything.

What happens is told to the core; its effects are carried out in order. Everything that one call of the
core sends to one peer leaves as one frame. What the core wants stored is on the disk before anything that
it sends afterwards leaves; meanwhile reading goes on, and what is sent waits.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

import msgspec

from regraft.broker.core import Broker, Close, Dial, Effect, Hangup, Send, Store
from regraft.broker.core.messages import AnyMessage, ClientHello, LinkHello
from regraft.broker.io.admission import refusal
from regraft.broker.io.configuration import Address, Configuration
from regraft.broker.io.connection import Connection
from regraft.broker.io.dialling import Dialling
from regraft.broker.io.durable import Durable, Outgoing
from regraft.broker.io.endpoint import Endpoint
from regraft.broker.io.journal import Journal
from regraft.broker.io.metrics import Counters, healthz, metrics
from regraft.broker.io.telemetry import Observer
from regraft.broker.io.tls import accepting

log = logging.getLogger("regraft.broker")
TICK_SECONDS = 0.25


class BrokerServer:
    """A broker that runs. `addresses` may be filled in until `start`; neighbours are dialled there."""

    def __init__(self, configuration: Configuration, addresses: Mapping[str, Address]) -> None:
        self.configuration = configuration
        self.counters = Counters()
        self.connections: dict[int, Connection] = {}
        self.core: Broker | None = None
        self.observer: Observer | None = None
        self._next = 1
        self._dialling = Dialling(self._new_connection, addresses, configuration.tls)
        self._journal: Journal | None = None
        self._durable: Durable | None = None
        self._listener: asyncio.Server | None = None
        self._endpoint: Endpoint | None = None
        self._beating: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        return self.configuration.broker

    # Life

    async def listen(self) -> Address:
        """Take the port; connections wait until `start`."""
        tls = self.configuration.tls
        self._listener = await asyncio.get_running_loop().create_server(
            self._new_connection,
            self.configuration.host,
            self.configuration.port,
            ssl=accepting(tls) if tls is not None else None,
            start_serving=False,
            backlog=1024,
        )
        return self.address

    @property
    def address(self) -> Address:
        assert self._listener is not None
        host, port = self._listener.sockets[0].getsockname()[:2]
        return host, port

    @property
    def metrics_address(self) -> Address | None:
        return self._endpoint.address if self._endpoint is not None else None

    async def start(self) -> None:
        """Read the journal, call the neighbours, let peers in."""
        config = self.configuration
        if self._listener is None:
            await self.listen()
        assert self._listener is not None
        if config.state is not None:
            self._journal = Journal(config.state / f"{_file_name(self.id)}.journal")
        stored = dict(self._journal.values) if self._journal else {}
        life = self._journal.life if self._journal else time.time_ns() // 1000
        settings = msgspec.structs.replace if False else config.settings
        if config.telemetry is not None:
            self.observer = Observer(self.id, config.telemetry)
        self.core = Broker(self.id, config.neighbours, settings, life, stored, time.monotonic())
        self._durable = Durable(self._journal, self._send_all)
        if config.metrics is not None:
            self._endpoint = Endpoint({"/metrics": lambda: metrics(self), "/healthz": lambda: healthz(self)})
            await self._endpoint.start(*config.metrics)
        await self._listener.start_serving()
        self._perform(self.core.start())
        self._beating = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        """Gracefully: what is already decided leaves, then connections end."""
        if self._beating is not None:
            self._beating.cancel()
        if self._listener is not None:
            self._listener.close()
        await self._dialling.stop()
        if self._durable is not None:
            await self._durable.finish()
        for connection in list(self.connections.values()):
            connection.close("the broker stops")
        ending = [connection.ended for connection in self.connections.values()]
        if ending:
            await asyncio.wait(ending, timeout=1.0)
        for connection in list(self.connections.values()):
            connection.abort()
        if self._endpoint is not None:
            await self._endpoint.stop()
        if self.observer is not None:
            await asyncio.to_thread(self.observer.close)
        if self._journal is not None:
            self._journal.close()
        await asyncio.sleep(0)
