"""The endpoint by which an agent drives its broker: see `control_messages` for what is said.

Whoever knows the token may change the broker's links, so it listens where its starter says, which is the
loopback interface, and says nothing to a peer that does not begin with the token. A line that is no request
ends the connection; the broker itself never suffers.
"""

import asyncio
import contextlib
import hmac
import logging
from typing import TYPE_CHECKING

import msgspec

from regraft.broker.core.change import Change
from regraft.broker.io.configuration import Address
from regraft.broker.io.control_messages import LINE_BYTES, Answer, BrokerState, Hello, Request, line
from regraft.broker.io.inside import inside
from regraft.model import BadInput, RegraftError

if TYPE_CHECKING:
    from regraft.broker.io.server import BrokerServer

log = logging.getLogger("regraft.broker")
HELLO_SECONDS = 5.0
PEERS = 16
UNREAD_BYTES = 2**20
"""An agent that reads nothing is not told any more: it will connect again."""
_hello = msgspec.json.Decoder(Hello).decode
_request = msgspec.json.Decoder(Request).decode


class Control:
    """Listens for agents of one broker."""

    def __init__(self, broker: "BrokerServer", token: str) -> None:
        if not token:
            raise BadInput(f"broker {broker.id!r}", "a control endpoint needs a token")
        self._broker = broker
        self._token = token.encode()
        self._agents: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._known: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        try:
            self._server = await asyncio.start_server(self._serve, host, port, limit=LINE_BYTES)
        except (OSError, UnicodeError) as fault:
            reason = getattr(fault, "strerror", None) or fault
            raise BadInput(f"{host}:{port}", f"can not be listened on: {reason}") from None

    @property
    def address(self) -> Address:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Agents see that the broker is gone."""
        if self._server is not None:
            self._server.close()
        for writer, task in list(self._agents.items()):
            task.cancel()
            writer.transport.abort()

    def changed(self) -> None:
        """Something that an agent wants to know has become durable."""
        if self._known:
            answer = Answer(state=self._state())
            self._broker.when_durable(lambda: self._tell_all(answer))

    def _tell_all(self, answer: Answer) -> None:
        for writer in list(self._known):
            self._send(writer, answer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._agents[writer] = task
        try:
            if len(self._agents) <= PEERS and await self._is_known(reader):
                self._known.add(writer)
                writer.write(line(Answer()))
                while data := await reader.readline():
                    self._do(_request(data), writer)
        except (ValueError, OSError, msgspec.DecodeError) as fault:
            log.info("%s: the connection of an agent ends: %s", self._broker.id, fault)
        except asyncio.CancelledError:
            pass  # by `close`
        finally:
            self._known.discard(writer)
            del self._agents[writer]
            writer.close()

    async def _is_known(self, reader: asyncio.StreamReader) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HELLO_SECONDS):
                said = _hello(await reader.readline()).token
            return hmac.compare_digest(said.encode(), self._token)
        return False

    def _do(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answered when what it has caused, and what it tells, is durable."""
        broker, answer = self._broker, Answer(request.n)
        try:
            broker.addresses.update(request.addresses)
            if request.do == "prepare":
                broker.prepare(Change(request.id, request.operation, request.brokers))
            elif request.do == "commit":
                broker.commit(request.id)
            elif request.do == "abort":
                broker.abort(request.id)
            if request.do != "introduce":
                answer = Answer(request.n, state=self._state())
        except BadInput as fault:
            answer = Answer(request.n, refused=fault.rule)
        except RegraftError as fault:  # it has given up: the agent sees that the connection ends
            log.info("%s", fault)
            return
        broker.when_durable(lambda: self._send(writer, answer))

    def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        if writer.is_closing():
            return
        if writer.transport.get_write_buffer_size() > UNREAD_BYTES:
            writer.transport.abort()
            return
        writer.write(line(answer))

    def _state(self) -> BrokerState:
        broker = self._broker
        stages = broker.stages()
        assert broker.core is not None
        seen, counters, connections = inside(broker.core), broker.counters, broker.connections.values()
        return BrokerState(
            broker.core.life,
            broker.address,
            stages,
            seen.links,
            seen.held_bytes,
            seen.sessions,
            seen.clients,
            counters.publications_in,
            counters.bytes_in + sum(each.bytes_in for each in connections),
            counters.bytes_out + sum(each.bytes_out for each in connections),
        )
