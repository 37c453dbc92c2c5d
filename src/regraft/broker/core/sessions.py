"""Clients: their filters, their publications, how they come and go.

A session lives from the client's first hello until its `Bye`, until it has been away for longer than
allowed, or until another broker has taken it over (`peers.SessionState` draws it). Its filters are stored, so
that a broker that comes back from a crash keeps what its clients are owed.
"""

from collections.abc import Callable, Iterator

import msgspec

from regraft.broker.core.effects import Close, Effect, Send, Store
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.peers import Session, SessionState
from regraft.broker.core.tables import Tables
from regraft.filters import BadFilter, Filter, parse
from regraft.model import BadInput
from regraft.protocol import events
from regraft.protocol.messages import (
    VERSION,
    Advertise,
    ClientHello,
    InPlace,
    Named,
    Refused,
    Run,
    Settled,
    Subscribe,
    Welcome,
    Withdraw,
)
from regraft.protocol.names import is_name

EVERYTHING = "TRUE"
"""The text of the filter that lets every event pass. Not parsed: a broker without filters needs no parser."""
FILTER_BYTES = 2**20
"""Most bytes of all filters of a client: its hello, which names them, must fit into a frame as well."""
FEW_FILTERS = 8
MOST_WINDOW = 65_536
"""The largest window of a client that subscribes, whatever it asks for."""


class StoredSession(msgspec.Struct, array_like=True):
    """What is stored of a session, so that it survives a crash."""

    advertisements: dict[str, str]
    subscriptions: dict[str, str]
    visit: int
    fetching: bool
    distrusts: dict[str, int]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredSession).decode


def is_long(hello: ClientHello) -> bool:
    """Whether it has so many filters that they should be in the tables before it is handled."""
    many = len(hello.advertisements) + len(hello.subscriptions) > FEW_FILTERS
    return many and hello.version == VERSION and is_name(hello.client)


class Sessions:
    """The clients of one broker."""

    def __init__(self, broker: str, tables: Tables, forwarding: Forwarding, window: int, most: int) -> None:
        self.broker = broker
        self.tables = tables
        self.forwarding = forwarding
        self.window = window
        self.most_filters = most
        self.all = forwarding.sessions
        self.out: list[Effect] = []
        self.dirty: dict[str, Session] = {}
        self.held_back: set[str] = set()
        """Targets of the sessions whose inbox is not empty."""
        self.claim: Callable[[Session], None] = lambda session: None
        """Called when a session comes from another broker."""

    def restore(self, stored: dict[str, bytes], now: float) -> None:
        """After a start: the sessions of the previous life, not connected yet."""
        for key, value in stored.items():
            if not key.startswith("session/"):
                continue
            session = Session(key.removeprefix("session/"), now)
            self.all[session.target] = session
            kept = _decode(value)
            session.visit = kept.visit
            session.broken = kept.visit if kept.advertisements else -1
            session.fetching, session.distrusts = kept.fetching, kept.distrusts
            for id, text in kept.advertisements.items():
                self._add(session, id, text, advertisement=True)
            for id, text in kept.subscriptions.items():
                self._add(session, id, text, advertisement=False)

    # Coming and going

    def expecting(self, hello: ClientHello, now: float) -> Iterator[None]:
        """Put the filters of a long hello into the tables step by step, before the hello is handled.

        The session is there then, not connected, as if its client were away for a moment.
        """
        if not is_long(hello):
            return
        session = self.all.get(f"@{hello.client}")
        if session is None:
            session = self.all[f"@{hello.client}"] = Session(hello.client, now, SessionState.EXPECTED)
        for wanted, advertisement in ((hello.advertisements, True), (hello.subscriptions, False)):
            for id, text in wanted:
                moved = session.state is SessionState.MOVED
                gone = moved or self.all.get(session.target) is not session
                if gone or hello.visit < session.visit:
                    return  # it has moved or ended in the meantime, or the hello will be refused
                self._add(session, id, text, advertisement=advertisement, says=False)
                yield

    def hello(self, connection: int, hello: ClientHello, epoch: int, now: float) -> Session:
        session = self.all.get(f"@{hello.client}")
        before = session.state if session is not None else SessionState.EXPECTED
        known = before not in (SessionState.EXPECTED, SessionState.MOVED)
        if session is not None and before is SessionState.EXPECTED:
            session.become(SessionState.HERE)
        # With consecutive visits, no other broker can have had this client since it was last here.
        continued = known and session is not None and session.visit == hello.visit - 1
        if session is None:
            session = self.all[f"@{hello.client}"] = Session(hello.client, now)
        elif hello.visit < session.visit:
            raise BadInput("hello", f"{hello.client!r} has connected anew since")
        elif session.connection is not None:
            self.out.append(Close(session.connection, "the client has connected anew"))
        session.connection, session.epoch = connection, epoch
        session.window = min(max(1, hello.window), MOST_WINDOW)
        session.visit = hello.visit
        session.moved_at = now
        session.settled = False
        session.inbox.clear()
        session.resent = False
        self.out.append(Send(connection, Welcome(self.broker, self.window, known)))
        self._agree(session, hello.advertisements, advertisement=True)
        self._agree(session, hello.subscriptions, advertisement=False)
        if before is SessionState.MOVED or (hello.home and not continued):
            self.claim(session)
        self.store(session)
        self.forwarding.resume(session)
        return session

    def _agree(self, session: Session, wanted: list[Named], *, advertisement: bool) -> None:
        """Add the filters that the client has and we do not; drop those that it no longer has."""
        filters = session.advertisements if advertisement else session.subscriptions
        names = {id for id, _ in wanted}
        for id in [each for each in filters if each not in names]:
            self._remove(session, id, advertisement=advertisement)
        for id, text in wanted:
            self._add(session, id, text, advertisement=advertisement)

    def end(self, session: Session) -> None:
        """The session is over: its filters go, and what was kept for it."""
        self.remove_filters(session)
        self.forwarding.forget(session.target)
        del self.all[session.target]
        session.become(SessionState.ENDED)
        self.out.append(Store(f"session/{session.client}", None))
        if session.connection is not None:
            self.out.append(Close(session.connection, "the session has ended"))
            session.connection = None  # whatever still comes on it is ignored

    def remove_filters(self, session: Session) -> None:
        for id in list(session.advertisements):
            self._remove(session, id, advertisement=True)
        for id in list(session.subscriptions):
            self._remove(session, id, advertisement=False)

    # Filters

    def advertise(self, session: Session, message: Advertise) -> None:
        if self._add(session, message.id, message.filter, advertisement=True):
            self.store(session)

    def subscribe(self, session: Session, message: Subscribe) -> None:
        if self._add(session, message.id, message.filter, advertisement=False):
            self.store(session)

    def withdraw(self, session: Session, message: Withdraw) -> None:
        if message.id in session.advertisements:
            self._remove(session, message.id, advertisement=True)
        elif message.id in session.subscriptions:
            self._remove(session, message.id, advertisement=False)
        self._say(session, InPlace(message.id))

    def _add(self, session: Session, id: str, text: str, *, advertisement: bool, says: bool = True) -> bool:
        filters = session.advertisements if advertisement else session.subscriptions
        table = self.tables.advertisements if advertisement else self.tables.subscriptions
        add = self.tables.advertise if advertisement else self.tables.subscribe
        name = self._name(session, id)
        if filters.get(id) == text and (known := table.get(name)) is not None:
            add(name, known.filter, session.target)
            return True
        filter = self._allowed(session, id, text, filters)
        if isinstance(filter, str):
            if says:
                self._say(session, Refused(id, filter))
            return False
        filters[id] = text
        add(name, filter, session.target)
        return True

    def _allowed(self, session: Session, id: str, text: str, filters: dict[str, str]) -> Filter | str:
        """The filter, or why the client may not have it."""
        if id not in filters and len(filters) >= self.most_filters:
            return f"a client may have {self.most_filters} filters, this is one more"
        # Characters first: bytes are counted only where that may decide.
        texts = [*session.advertisements.values(), *session.subscriptions.values(), text]
        length = sum(map(len, texts))
        if 4 * length > FILTER_BYTES and sum(len(each.encode()) for each in texts) > FILTER_BYTES:
            return f"a client's filters may have {FILTER_BYTES} bytes in all"
        try:
            return parse(text)
        except BadFilter as fault:
            return str(fault)

    def _remove(self, session: Session, id: str, *, advertisement: bool) -> None:
        self.store(session)
        if advertisement:
            del session.advertisements[id]
            self.tables.unadvertise(self._name(session, id))
        else:
            del session.subscriptions[id]
            self.tables.unsubscribe(self._name(session, id))

    def placed(self) -> None:
        """Tell clients which of their filters are in place."""
        if not self.tables.placed_here:
            return
        placed, self.tables.placed_here = self.tables.placed_here, []
        for entry in dict.fromkeys(placed):
            session = self.all.get(entry.origin)
            if session is not None:
                self._say(session, InPlace(entry.id.rsplit("/", 1)[1]))

    # Publications

    def publish(self, session: Session, run: Run) -> None:
        """Keep the run until all subscribers that may want it are known; `admit` routes it."""
        if run.publisher.partition("#")[0] != session.client:
            raise BadInput("run", f"{run.publisher[:80]!r} is not a publisher of this client")
        if max(map(len, run.check().events)) > events.EVENT_BYTES:
            raise BadInput("run", f"an event may have {events.EVENT_BYTES} bytes, one is longer")
        session.inbox.append(run)
        self.held_back.add(session.target)

    def settle(self, session: Session, message: Settled) -> None:
        """The client has sent everything again; it counts as settled when all of that has been routed."""
        session.resent = True
        self.held_back.add(session.target)

    @property
    def unsettled(self) -> bool:
        """Whether a client may still send something again that is older than all we have of it."""
        return any(
            not session.settled and session.connection is not None and bool(session.advertisements)
            for session in self.all.values()
        )

    def admit(self) -> None:
        """Route what clients have published, if all subscribers that may want it are known."""
        if self.tables.ready:
            for target in sorted(self.held_back):
                if (session := self.all.get(target)) is not None:
                    self._admit(session)
                else:
                    self.held_back.discard(target)

    def _admit(self, session: Session) -> None:
        entries = [self.tables.advertisements[self._name(session, id)] for id in session.advertisements]
        if any(entry.waiting for entry in entries):
            return
        filters = [entry.filter for entry in entries]
        while session.inbox:
            run = session.inbox.popleft()
            for piece in self._advertised(session, run, filters):
                self.forwarding.arrive(piece, session.target)
        self.held_back.discard(session.target)
        if session.resent:
            session.settled, session.broken = True, -1

    def _advertised(self, session: Session, run: Run, filters: list[Filter]) -> Iterator[Run]:
        """The run without those events that may not be published or were not advertised: they are refused."""
        everything = any(filter.text == EVERYTHING for filter in filters)
        if everything and not any(map(events.refusal, run.events)):
            yield run
            return
        allowed = []
        for at, event in enumerate(run.events):
            if reason := events.refusal(event):
                self._say(session, Refused(f"{run.publisher}#{run.seqs[at]}", reason))
                continue
            attributes = events.attributes(event)
            if everything or any(filter.matches(attributes) for filter in filters):
                allowed.append(at)
            else:
                self._say(session, Refused(f"{run.publisher}#{run.seqs[at]}", "not advertised"))
        if len(allowed) == len(run.seqs):
            yield run
        elif allowed:
            seqs, bodies = [run.seqs[at] for at in allowed], [run.events[at] for at in allowed]
            yield Run(run.publisher, seqs, bodies, run.at, run.visit)

    def _name(self, session: Session, id: str) -> str:
        """Unique in the overlay, even while the session moves from one broker to another."""
        return f"{self.broker}/{session.client}/{id}"

    def _say(self, session: Session, message: InPlace | Refused) -> None:
        if session.connection is not None:
            self.out.append(Send(session.connection, message))

    def store(self, session: Session) -> None:
        """The session is to be stored, once for everything that this event changes in it."""
        self.dirty[session.target] = session

    def stores(self) -> list[Effect]:
        if not self.dirty:
            return []
        dirty, self.dirty = self.dirty, {}
        return [self._stored(session) for target, session in dirty.items() if target in self.all]

    def _stored(self, session: Session) -> Store:
        value = _encode(
            StoredSession(
                session.advertisements,
                session.subscriptions,
                session.visit,
                session.fetching,
                session.distrusts,
            )
        )
        return Store(f"session/{session.client}", value)
