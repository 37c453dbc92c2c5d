"""What a shell may ask of a broker's core, on a tree and in a mesh alike.

A shell knows this Protocol and nothing else of a core; its configuration says which kind it makes.
Every method that returns effects leaves it to the shell to carry them out, in their order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from regraft.broker.core.change import Change
from regraft.broker.core.effects import Effect
from regraft.broker.core.forwarding import Fact
from regraft.broker.core.peers import Link, Session
from regraft.protocol.messages import AnyMessage, ClientHello


class Inspection(NamedTuple):
    """The state of a core at one moment, for metrics, telemetry and agents."""

    links: dict[str, str]
    """Neighbour → up or down."""
    sessions: int
    clients: int
    """Sessions that are connected."""
    subscriptions: int
    advertisements: int
    held_bytes: int
    ready: bool


class CoreSessions(Protocol):
    """The clients' sessions that a core keeps."""

    @property
    def all(self) -> Mapping[str, Session]:
        """By the name under which publications are kept for the session: `@` and the client's name."""

    def expecting(self, hello: ClientHello, now: float) -> Iterator[None]:
        """Put the filters of a hello into the tables, step by step, before it is received."""


class Core(Protocol):
    """One broker without input or output."""

    id: str
    life: int

    @property
    def sessions(self) -> CoreSessions: ...

    @property
    def links(self) -> Mapping[str, Link]:
        """The neighbours, connected or not."""

    @property
    def held_bytes(self) -> int:
        """Bytes of publications that are kept until they are confirmed."""

    def inspect(self) -> Inspection: ...

    def take_facts(self) -> list[Fact]: ...

    # What happens

    def start(self) -> list[Effect]: ...

    def opened(self, connection: int, neighbour: str = "") -> list[Effect]: ...

    def received(self, connection: int, messages: Sequence[AnyMessage], now: float) -> list[Effect]: ...

    def closed(self, connection: int, now: float) -> list[Effect]: ...

    def tick(self, now: float) -> list[Effect]: ...

    # What the agent and healing want

    def prepare(self, change: Change) -> list[Effect]: ...

    def commit(self, change: str) -> list[Effect]: ...

    def abort(self, change: str) -> list[Effect]: ...

    def stages(self) -> dict[str, str]:
        """How far each change of links is here, by its id."""

    def turn_away(self, until: float, now: float) -> list[Effect]:
        """Send the clients to other brokers, as far as this kind of broker can."""


def inspect(
    core: Core, sessions: Iterable[Session], subscriptions: int, advertisements: int, ready: bool
) -> Inspection:
    """The inspection of either kind of core, given what differs between them."""
    up = {name: "down" if link.connection is None else "up" for name, link in core.links.items()}
    there = [session.connection is not None for session in sessions]
    return Inspection(up, len(there), sum(there), subscriptions, advertisements, core.held_bytes, ready)
