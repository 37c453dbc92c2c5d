"""The endpoint by which an agent controls its broker; `control_messages` has the messages.

A peer that knows the token may change the broker's links. So the endpoint listens only where the broker's
configuration says, which is the loopback interface, and says nothing to a peer that does not begin with the
token. A line that is not a request ends the connection; the broker itself is never harmed.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from regraft.broker.core.change import Change
from regraft.broker.io.configuration import Address
from regraft.broker.io.control_messages import (
    DRIVEN,
    GREETED,
    BrokerState,
    ControlAnswer,
    ControlHello,
    ControlRequest,
)
from regraft.model import BadInput, RegraftError
from regraft.wire.frames import BadFrame
from regraft.wire.identity import same_secret
from regraft.wire.streams import Stream, address_of, listen

if TYPE_CHECKING:
    from regraft.broker.io.server import BrokerServer

log = logging.getLogger("regraft.broker")
HELLO_SECONDS = 5.0
PEERS = 16
UNREAD_BYTES = 2**20
"""An agent that leaves more unread is disconnected: it will connect again."""


class AgentConnection(Stream[ControlHello | ControlRequest, ControlAnswer]):
    """The connection of an agent; it has an `id` when it has shown that it knows the token."""

    def __init__(self, control: "Control") -> None:
        super().__init__(GREETED, control.agents, patience=HELLO_SECONDS, most_unsent=UNREAD_BYTES)
        self._control = control

    def opened(self) -> None:
        if len(self._control.agents) > PEERS:
            self.close()

    def heard(self, message: ControlHello | ControlRequest) -> None:
        if isinstance(message, ControlRequest):
            self._control.do(message, self)
        elif same_secret(self._control.token, message.token):
            self.introduced("agent", DRIVEN)
            self.send(ControlAnswer())
        else:
            self.close()

    def garbled(self, fault: BadFrame) -> None:
        log.info("%s: the connection of an agent ends: %s", self._control.broker.id, fault)
        self.close()


class Control:
    """Listens for agents of one broker."""

    def __init__(self, broker: "BrokerServer", token: str) -> None:
        if not token:
            raise BadInput(f"broker {broker.id!r}", "a control endpoint needs a token")
        self.token = token
        self.agents: set[AgentConnection] = set()
        self.broker = broker
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        self._server = await listen(lambda: AgentConnection(self), (host, port))

    @property
    def address(self) -> Address:
        assert self._server is not None
        return address_of(self._server)

    def close(self) -> None:
        """Agents see that the broker is gone."""
        if self._server is not None:
            self._server.close()
        for agent in list(self.agents):
            agent.abort()

    def changed(self) -> None:
        """Something has changed that agents want to know: tell them when it is durable."""
        if any(agent.id for agent in self.agents):
            answer = ControlAnswer(state=self._state())
            self.broker.when_durable(lambda: self._tell_all(answer))

    def _tell_all(self, answer: ControlAnswer) -> None:
        for agent in list(self.agents):
            if agent.id:
                agent.send(answer)

    def do(self, request: ControlRequest, agent: AgentConnection) -> None:
        """Carry out the request; the answer leaves when what it caused, and what it tells, is durable."""
        broker, answer = self.broker, ControlAnswer(request.n)
        try:
            broker.addresses.update(request.addresses)
            if request.candidates and broker.observer is None:
                raise BadInput(f"broker {broker.id!r}", "records no telemetry")
            broker.candidates.update(request.candidates)
            if request.do == "prepare":
                broker.prepare(Change(request.id, request.operation, request.brokers))
            elif request.do == "commit":
                broker.commit(request.id)
            elif request.do == "abort":
                broker.abort(request.id)
            if request.do != "introduce":
                answer = ControlAnswer(request.n, state=self._state())
        except BadInput as fault:
            answer = ControlAnswer(request.n, refused=fault.rule)
        except RegraftError as fault:  # the broker has given up: the agent sees that the connection ends
            log.info("%s", fault)
            return
        broker.when_durable(lambda: agent.send(answer))

    def _state(self) -> BrokerState:
        broker = self.broker
        stages = broker.stages()
        assert broker.core is not None
        seen, counters, connections = broker.core.inspect(), broker.counters, broker.connections.values()
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
