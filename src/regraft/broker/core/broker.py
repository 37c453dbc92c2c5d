"""One broker on a tree: the shell tells it what happens, and it returns effects to be carried out.

The shell calls `opened`, `received`, `closed` and `tick` with its connections' numbers and the time.
Everything that one call causes leaves in one batch, in this order: tables, answers to clients,
publications, confirmations. So a peer hears of a subscription before any publication that depends on it.
"""

from collections.abc import Iterable, Iterator, Mapping

from regraft.broker.core.change import Change
from regraft.broker.core.claims import Claims
from regraft.broker.core.conversing import Conversing
from regraft.broker.core.effects import Close, Dial, Effect, Send, Store
from regraft.broker.core.forwarding import Fact, Forwarding
from regraft.broker.core.interface import Inspection, inspect
from regraft.broker.core.peers import Link, Session
from regraft.broker.core.relink import Relink
from regraft.broker.core.sessions import Sessions
from regraft.broker.core.settings import (
    NEIGHBOURS,
    TURNED_AWAY,
    BrokerSettings,
    encode_neighbours,
    neighbours_after,
)
from regraft.broker.core.tables import Tables
from regraft.model import BadInput
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    Bye,
    Claim,
    Claimed,
    ClientHello,
    Confirm,
    Flushed,
    Frozen,
    Handover,
    LinkHello,
    Moved,
    Run,
    Settled,
    Subscribe,
    Update,
    Withdraw,
)
from regraft.protocol.names import check_client_name


class Broker(Conversing):
    """The core of a broker: routing, reliability, sessions, and its part in changes of links."""

    def __init__(
        self,
        id: str,
        neighbours: Iterable[str],
        settings: BrokerSettings = BrokerSettings(),  # noqa: B008 — a frozen value
        life: int = 1,
        stored: dict[str, bytes] | None = None,
        now: float = 0.0,
    ) -> None:
        super().__init__(id, life, now)
        self.settings = settings
        stored = stored or {}
        self.configured = sorted(neighbours)
        self._links_unknown = settings.fenced and NEIGHBOURS not in stored
        self.tables = Tables(neighbours_after(self.configured, stored.get(NEIGHBOURS)))
        self.forwarding = Forwarding(self.tables, settings.observe)
        self.sessions = Sessions(
            id, self.tables, self.forwarding, settings.window, settings.filters_per_client
        )
        self.claims = Claims(id, self.sessions, self.forwarding)
        self.claims.life = life
        self.sessions.claim = self.claims.begin
        self.relink = Relink(id, self.tables, self.forwarding, stored)
        if settings.joining and not stored:
            self.relink.set_apart(True)
        self.sessions.restore(stored, now)
        self.claims.restore(now)
        self._away_until = 0.0
        self._lives: dict[str, int] = {}
        """The life of each broker that has connected, which is its deputy's if it has one."""
        self._on_link = {
            Update: lambda link, message: self.tables.heard(link.name, message),
            Run: self._link_run,
            Confirm: lambda link, message: self.forwarding.confirmed(message, link.name, link.epoch),
            Settled: lambda link, message: setattr(link, "settled", True),
            Claim: lambda link, message: self.claims.claim(message, link.name),
            Flushed: lambda link, message: self.claims.flushed(message, link.name),
            Handover: lambda link, message: self.claims.handover(message, link.name),
            Claimed: lambda link, message: self.claims.claimed(message, link.name),
            Frozen: self.relink.frozen,
            Moved: self.relink.moved,
        }
        self._on_session = {
            Run: self._client_run,
            Confirm: self._client_confirm,
            Advertise: self.sessions.advertise,
            Subscribe: self.sessions.subscribe,
            Withdraw: self.sessions.withdraw,
            Settled: self.sessions.settle,
            Bye: self._bye,
        }

    # What happens

    def start(self) -> list[Effect]:
        """The first effects: which neighbours to call. Of two neighbours, the smaller id calls."""
        names = [name for name in self.tables.sides if self.id < name and not self.relink.barred(name)]
        effects = [*self._flush(), *[Dial(name) for name in names]]
        if self._links_unknown:  # a deputy has no configuration
            effects.insert(0, Store(NEIGHBOURS, encode_neighbours(self.configured, self.tables.sides)))
        return effects

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        self.now = now
        for session in list(self.forwarding.sessions.values()):
            connection = session.connection
            if connection is None:
                if now - session.left_at > self.settings.session_seconds:
                    self.sessions.end(session)
            elif reason := self._too_slow(session, now - session.moved_at):
                self._refuse(connection, reason)
        self.claims.tick(now, self.settings.session_seconds)
        return self._flush()

    def prepare(self, change: Change) -> list[Effect]:
        """Begin to take part in a change of links: buffer, and connect to the new neighbour."""
        self.relink.prepare(change)
        if self.relink.leaving:
            self._send_all_away("this broker leaves")
        return self._flush()

    def turn_away(self, until: float, now: float) -> list[Effect]:
        """Send the clients elsewhere, with their sessions, and serve none here until the time given."""
        self.now, self._away_until = now, until
        self._send_all_away(TURNED_AWAY)
        return self._flush()

    def commit(self, change: str) -> list[Effect]:
        """Carry the change out; every participant has reported `ready`."""
        self.relink.commit(change)
        return self._flush()

    def abort(self, change: str) -> list[Effect]:
        """Go back to the state before the change was prepared."""
        self.relink.abort(change)
        return self._flush()

    def stages(self) -> dict[str, str]:
        """How far each change of links is here, by its id."""
        return self.relink.stages()

    @property
    def links(self) -> Mapping[str, Link]:
        return self.forwarding.links

    @property
    def held_bytes(self) -> int:
        return self.forwarding.store.bytes

    def inspect(self) -> Inspection:
        tables = self.tables
        counts = (len(tables.subscriptions), len(tables.advertisements))
        return inspect(self, self.forwarding.sessions.values(), *counts, tables.ready)

    def _too_slow(self, session: Session, seconds: float) -> str:
        """Why a client that made no progress for this many seconds is disconnected; empty if it is not."""
        if not session.resent and seconds > self.settings.settle_seconds:
            return "hello: not followed in time by what was unconfirmed, and Settled"
        if session.on_the_way and self.settings.slow_seconds and seconds > self.settings.slow_seconds:
            self.sessions.end(session)
            return f"too slow: nothing confirmed for {seconds:.0f} s; the session has ended"
        return ""

    def take_facts(self) -> list[Fact]:
        """The facts for the telemetry since the last call."""
        facts, self.forwarding.facts = self.forwarding.facts, []
        return facts

    # How it reacts

    def _early(self, connection: int, message: AnyMessage) -> bool:
        return self.relink.early(connection, message)

    def _link_hello(self, connection: int, hello: LinkHello) -> None:
        link = self.forwarding.links.get(hello.broker)
        if self.settings.fenced and hello.life < self._lives.get(hello.broker, 0):
            self._out.append(Close(connection, f"{hello.broker!r} has been replaced by a deputy"))
            return
        if self.relink.barred(hello.broker):
            self._out.append(Close(connection, "a change of links has not been decided"))
            return
        self._lives[hello.broker] = hello.life
        if link is None:
            if not self.relink.expects(hello.broker):
                raise BadInput("hello", f"{hello.broker!r} is not a neighbour of {self.id!r}")
            self._answer(connection, hello)
            self.relink.joined(hello.broker, hello.life, connection)
            return
        if link.connection is not None:
            self._out.append(Close(link.connection, "the neighbour has connected anew"))
        self._answer(connection, hello)
        link.life = hello.life
        self._connect(link, connection)

    def _connect(self, link: Link, connection: int) -> None:
        link.lost(self.now)
        self._epoch += 1
        link.connection, link.epoch = connection, self._epoch
        self._peers[connection] = link
        self.tables.connected(link.name)
        self.claims.reconnected(link.name)
        self.relink.reconnected(link)

    def _client_hello(self, connection: int, hello: ClientHello) -> None:
        check_client_name(hello.client, "hello")
        if reason := self._closed_to_clients():
            self._send_away(connection, reason)
            return
        self._epoch += 1
        self._peers[connection] = self.sessions.hello(connection, hello, self._epoch, self.now)

    def _closed_to_clients(self) -> str:
        """Why no client is served now; empty if clients are."""
        if self.relink.apart:
            return "this broker is not in the overlay"
        if self.relink.leaving:
            return "this broker leaves"
        return TURNED_AWAY if self.now < self._away_until else ""

    def _send_all_away(self, reason: str) -> None:
        for session in self.forwarding.sessions.values():
            if session.connection is not None:
                self._send_away(session.connection, reason)

    def _send_away(self, connection: int, reason: str) -> None:
        self._out += [Send(connection, Bye(reason)), Close(connection, reason)]
        self._over.add(connection)

    def _link_run(self, link: Link, run: Run) -> None:
        self.forwarding.arrive(run.check(), link.name)
        if self.relink.parts:
            self.relink.arrived(run, link.name)

    def _client_run(self, session: Session, run: Run) -> None:
        if not session.resent:
            session.moved_at = self.now
        self.sessions.publish(session, run)

    def _client_confirm(self, session: Session, confirm: Confirm) -> None:
        session.moved_at = self.now
        if len(confirm.ranges) > 2 * session.window:
            raise BadInput(
                "confirm", f"has {len(confirm.ranges)} numbers, {session.window} ranges are allowed"
            )
        self.forwarding.confirmed(confirm, session.target, session.epoch)
        self.claims.confirmed(session.client, confirm.publisher, confirm.ranges)

    def _bye(self, session: Session, bye: Bye) -> None:
        self._hang_up(session)
        if session.target in self.forwarding.sessions:
            self.claims.left(session)
            self.sessions.end(session)

    def _closed(self, connection: int) -> None:
        self.relink.lost(connection)
        peer = self._peers.pop(connection, None)
        if peer is not None and peer.connection == connection:
            peer.lost(self.now)
        neighbour = self._dialled.pop(connection, "")
        link = self.forwarding.links.get(neighbour)
        lost = link is not None and link.connection is None and not self.relink.barred(neighbour)
        if lost or self.relink.expects(neighbour):
            self._out.append(Dial(neighbour))

    # What follows

    def _flush(self) -> list[Effect]:
        """Everything that the last event caused."""
        self.claims.now = self.now
        changed = self._relinked()
        adopted, self.relink.adopted = self.relink.adopted, []
        for connection, link, early in adopted:
            self._connect(link, connection)
            for message in early:
                self._received(connection, message)
        if self._relinked() or changed:
            links = encode_neighbours(self.configured, self.tables.sides)
            self.relink.stores.insert(0, Store(NEIGHBOURS, links))
        if self.tables.has_news:
            self._open_links()
        self.relink.advance()
        if self.sessions.held_back:
            self.sessions.admit()
        self.claims.ask(self._filters_in_place)
        self.claims.answer()
        out: list[Effect] = [*self.relink.stores, *self.sessions.stores(), *self._out]
        self._out, self.relink.stores = [], []
        if self.tables.has_news:
            out += self._updates()
        self.sessions.placed()
        for part in (self.sessions, self.claims, self.relink):
            out += part.out
            part.out = []
        out += self.relink.after
        self.relink.after = []
        out += self.forwarding.take_sends()
        return out

    def _updates(self) -> Iterator[Send]:
        self.tables.has_news = False
        for name, link in self.forwarding.links.items():
            if link.connection is not None and (update := self.tables.update(name)) is not None:
                yield Send(link.connection, update)

    def _relinked(self) -> bool:
        changed, self.relink.changed = self.relink.changed, False
        if changed:
            self.claims.relinked()
        return changed

    def _open_links(self) -> None:
        for name, link in self.forwarding.links.items():
            side = self.tables.sides[name]
            if link.connection is not None and not link.open and side.heard_all:
                self.forwarding.open(link)

    def _filters_in_place(self, session: Session) -> bool:
        name = f"{self.id}/{session.client}/"
        return not any(
            entry.waiting
            for table, ids in (
                (self.tables.advertisements, session.advertisements),
                (self.tables.subscriptions, session.subscriptions),
            )
            for id in ids
            if (entry := table.get(name + id)) is not None
        )
