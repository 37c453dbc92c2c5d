"""One broker of a mesh: topic-based routing in a k-topic-connected overlay (kTCO §I–IV).

To the shell and to clients it is what `broker.Broker` is on a tree. A publication's topic is its string
attribute `topic`; it is flooded over the brokers interested in the topic (because a client of theirs
subscribes to it or publishes on it) and recognised by its stream (publisher and topic) and number. Each
carries the number of its predecessor in the stream, so that every broker sees a gap: it is passed on to
neighbours at once, but to local subscribers only after its predecessor.

**What is kept where.** A broker that takes a publication keeps a copy, says `Received`, and sends it to
its other neighbours on the topic. It says `Confirm` to its neighbours when its own subscribers have
confirmed and all its neighbours on the topic have the publication. It drops its copy when all of them
have confirmed to it. What a neighbour said in an earlier life is void: it gets all copies again, those
included that it had confirmed. A publisher is acknowledged when its broker's own subscribers have
confirmed, every connected neighbour on the topic has the publication, and k brokers in all keep it (all
of the topic, if there are fewer). Sessions, their filters and the neighbours' topics are stored, so that
a broker that comes back keeps for neighbours that are away; publications are only in memory.

**Why fewer than k crashes lose nothing.** Count a broker as failed from its crash until it again has all
acknowledged publications that brokers of its topics still keep. Let P be the brokers that have had an
acknowledged publication, N those of the topic that have not, and F the brokers of P with a neighbour in N.
F separates P∖F from N, hence |F| ≥ k by k-connectedness, unless P∖F is empty; then F = P, and |P| ≥ k by
the rule of acknowledgement. So at least one of F has not failed; it keeps its copy, because a neighbour
has not confirmed, and floods it: P grows until N is empty. A broker that comes back is no longer counted
as failed when it has the publication again, so at no time are k of F without it. Its own subscribers lose
nothing either: as long as they lack the publication it has not confirmed, and all its neighbours keep it
for it. (k brokers or fewer on a topic are a clique: P is then all of them, and one survivor serves all
that come back.)

**Why order survives.** A broker that comes back asks its neighbours where the streams stand and begins
each after the smallest answer; each neighbour sends all after its own answer. Clients drop what they have
seen. A first broker that comes back learns the numbers of its publishers' streams in the same way: those
of acknowledged publications are known to k brokers and those that were not acknowledged come again from
the publisher, so every publication gets the predecessor that it had.

**What is given up.** Memory: while a broker is away or slow, its neighbours on the topic keep all that it
has not confirmed, and their neighbours what it has not received; of every stream (two lives of each
publisher on each topic) position and last numbers are remembered, until there are more than `streams` and
it has been quiet for `idle_seconds` (`mesh_positions`). Beyond `held_bytes` the topics are stopped at
their publishers (`mesh_pressure`). Bandwidth: a publication crosses every link of the topic's overlay at
least once. Availability: publishers wait while fewer than k − 1 neighbours on the topic are there (or
all, if they are fewer), and a broker that comes back waits for all but k − 2 neighbours.

**Limits.** k or more failures at once may lose what was acknowledged; a broker that left a topic, its
clients having withdrawn, no longer counts as a survivor. When every broker of a topic has failed, its
streams begin anew. So does one that was forgotten: a gap in it that lasts longer than it may be quiet,
and `patience` after it continues, is not seen. Order is per publisher and topic. Sessions do not move to
other brokers.

**Who is connected.** The argument needs a topic that is k-connected among the brokers that have it; the
brokers see to it that filters are called in place only on topics that are `connected` times connected
(`mesh_membership`, decision 23). If a topic is only connected and k is 2, one crash at a time still loses
nothing, as long as the broker comes back. Let f be the one that crashes, and w a neighbour of it that has
not had a publication. If f had it, f has not confirmed to those that have it and from which, or to which,
it went: they keep it, and there is one at least, because two brokers kept it when it was acknowledged. They
send it again when f is back. But w waits for f, where k-connectedness would have found another way.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regraft.broker.core.change import Change
from regraft.broker.core.conversing import Conversing
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Send, Store
from regraft.broker.core.forwarding import Fact
from regraft.broker.core.interface import Inspection, inspect
from regraft.broker.core.mesh_changes import MeshChanges
from regraft.broker.core.mesh_checks import check_known, check_roster
from regraft.broker.core.mesh_delivery import MeshDelivery
from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_interest import MeshInterest, MeshLink
from regraft.broker.core.mesh_membership import Membership
from regraft.broker.core.mesh_positions import StreamPositions
from regraft.broker.core.mesh_pressure import Pressures
from regraft.broker.core.mesh_roster import Rosters
from regraft.broker.core.mesh_sessions import MeshSessions
from regraft.broker.core.peers import Session
from regraft.broker.core.settings import NEIGHBOURS, BrokerSettings, neighbours_after
from regraft.model import BadInput
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    Bye,
    ClientHello,
    Confirm,
    Flood,
    Known,
    LinkHello,
    Positions,
    Pressure,
    Received,
    Roster,
    Run,
    Settled,
    Subscribe,
    Update,
    Withdraw,
)
from regraft.protocol.names import check_client_name


@dataclass(frozen=True)
class MeshSettings(BrokerSettings):
    """Limits of a broker, and what is promised in a mesh."""

    k: int = 2
    """How many brokers keep what is acknowledged: fewer than k failures at once lose nothing."""
    connected: int = 1
    """How connected a topic has to be, among the brokers that have it, to be in place."""
    held_bytes: int = 64 * 2**20
    """When copies take more than this, publishers are stopped."""
    patience: float = 1.0
    """How long a topic whose brokers are all new to it waits for a broker that is not."""
    streams: int = 10_000
    """If there are more, those are forgotten that have been quiet for `idle_seconds`."""
    idle_seconds: float = 60.0


class MeshBroker(Conversing):
    """The core of a broker in a mesh."""

    def __init__(
        self,
        id: str,
        neighbours: Iterable[str],
        settings: BrokerSettings = MeshSettings(),  # noqa: B008 — a frozen value
        life: int = 1,
        stored: dict[str, bytes] | None = None,
        now: float = 0.0,
    ) -> None:
        mesh = settings if isinstance(settings, MeshSettings) else MeshSettings(**vars(settings))
        super().__init__(id, life, now)
        self.settings = mesh
        stored = stored or {}
        configured = sorted(neighbours)
        near = neighbours_after(configured, stored.get(NEIGHBOURS))
        self.interest = MeshInterest(near, mesh.k, mesh.patience)
        self.changes = MeshChanges(id, configured, self.interest.links, stored)
        self.flooding = Flooding(self.interest, mesh.k, mesh.observe)
        self.positions = StreamPositions(
            self.interest, self.flooding, mesh.streams, mesh.idle_seconds, mesh.patience
        )
        self.delivery = MeshDelivery(self.flooding)
        self.rosters = Rosters(id, life, self.interest.links, mesh.k)
        self.membership = Membership(self.interest, self.rosters, mesh.connected, self.flooding.check_topic)
        self.sessions = MeshSessions(
            id, self.membership, self.flooding, self.delivery, mesh.window, mesh.filters_per_client
        )
        self.positions.here = lambda client: f"@{client}" in self.sessions.all
        self.pressures = Pressures(id, life, mesh.held_bytes)
        self.flooding.held_up = lambda topic: topic in self.pressures.topics
        self.interest.restore(stored)
        self.sessions.restore(stored, now)
        self.membership.restore(stored)
        self._on_link = {
            Update: self._update,
            Positions: lambda link, message: self.positions.learn(message, link),
            Flood: lambda link, message: self.flooding.arrive(message, link),
            Received: lambda link, message: self.flooding.received(message, link),
            Confirm: lambda link, message: self.flooding.confirmed(message, link),
            Settled: lambda link, message: setattr(link, "settled", True),
            Pressure: self._pressure,
            Roster: self._roster,
            Known: self._known,
        }
        self._on_session = {
            Run: self.sessions.publishing.publish,
            Confirm: self.delivery.confirmed,
            Advertise: self.sessions.advertise,
            Subscribe: self.sessions.subscribe,
            Withdraw: self.sessions.withdraw,
            Settled: lambda session, message: None,
            Bye: self._bye,
        }

    # What happens

    def start(self) -> list[Effect]:
        """The first effects: which neighbours to call. Of two neighbours, the smaller id calls."""
        return [Dial(name) for name in self.interest.links if self.id < name] + self._flush()

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        self._at(now)
        self.positions.forget()
        for session in list(self.delivery.sessions.values()):
            if session.connection is None and now - session.left_at > self.settings.session_seconds:
                self.sessions.end(session)
        self.sessions.explain(now)
        return self._flush()

    def prepare(self, change: Change) -> list[Effect]:
        """Begin to take part in a change of links: nothing has to stop for it."""
        self._out += self.changes.prepare(change, self.needs_link)
        return self._flush()

    def commit(self, change: str) -> list[Effect]:
        """Carry the change out; both ends have reported `ready`."""
        operation, other = self.changes.about(change)
        if not (stores := self.changes.commit(change)):
            return []
        self._out += stores
        return self.link(other) if operation == "link" else self.unlink(other)

    def abort(self, change: str) -> list[Effect]:
        """As if the change had never been prepared."""
        self._out += self.changes.abort(change)
        return self._flush()

    def stages(self) -> dict[str, str]:
        """How far each change of links is here, by its id."""
        return self.changes.stages()

    def turn_away(self, until: float, now: float) -> list[Effect]:
        """Sessions of a mesh do not move: its clients stay."""
        return []

    def link(self, neighbour: str) -> list[Effect]:
        """The overlay gets a link to this neighbour."""
        if neighbour not in self.interest.links:
            self.interest.links[neighbour] = MeshLink(neighbour)
            self.membership.relinked()
            if self.id < neighbour:
                self._out.append(Dial(neighbour))
        return self._flush()

    def unlink(self, neighbour: str) -> list[Effect]:
        """The overlay loses the link to this neighbour: nothing is kept for it any more."""
        link = self.interest.links.get(neighbour)
        if link is None:
            return self._flush()
        topics, connection = sorted(link.topics), link.connection
        self._out.append(Hangup(neighbour))
        if connection is not None:
            del self._peers[connection]
            self._over.add(connection)
            self._out.append(Close(connection, "no longer a neighbour"))
        self.interest.unlink(link)
        self.membership.relinked()
        self._out.append(Store(f"link/{neighbour}", None))
        for topic in topics:
            self.flooding.check_topic(topic)
        if (word := self.pressures.void(neighbour)) is not None:
            self._spread(word, "")
        return self._flush()

    def needs_link(self, neighbour: str) -> str:
        """A topic that would not be connected, among the brokers that have it, without this link; empty if
        there is none. The link to a neighbour that is away is never needed: it may be removed because the
        neighbour will not come back."""
        link = self.interest.links[neighbour]
        connected = self.membership.connected
        shared = sorted(link.topics.keys() & self.interest.own) if link.connection is not None else []
        return next((each for each in shared if not connected.survives(each, self.id, neighbour)), "")

    @property
    def links(self) -> Mapping[str, MeshLink]:
        return self.interest.links

    @property
    def held_bytes(self) -> int:
        return self.flooding.streams.bytes

    def inspect(self) -> Inspection:
        sessions = self.delivery.sessions.values()
        subscriptions = sum(len(each.subscriptions) for each in sessions)
        advertisements = sum(len(each.advertisements) for each in sessions)
        ready = all(topic.ready for topic in self.interest.own.values())
        return inspect(self, sessions, subscriptions, advertisements, ready)

    def take_facts(self) -> list[Fact]:
        """The facts for the telemetry since the last call."""
        facts, self.flooding.facts = self.flooding.facts, []
        return facts

    # How it reacts

    def _at(self, now: float) -> None:
        self.now = self.flooding.streams.now = now

    def _link_hello(self, connection: int, hello: LinkHello) -> None:
        link = self.interest.links.get(hello.broker)
        if link is None:
            raise BadInput("hello", f"{hello.broker!r} is not a neighbour of {self.id!r}")
        if link.connection is not None:
            self._out.append(Close(link.connection, "the neighbour has connected anew"))
        self._answer(connection, hello)
        link.lost()
        self._epoch += 1
        link.connection, link.epoch = connection, self._epoch
        self._peers[connection] = link
        if link.life != hello.life:
            link.life = hello.life
            self.flooding.renew(link, {*self.flooding.streams.by_topic, *self.interest.own})
        self._out += [Send(connection, roster) for roster in self.rosters.everything()]
        self._out.append(Send(connection, self.interest.everything()))
        self._out += [Send(connection, word) for word in self.pressures.told.values()]

    def _client_hello(self, connection: int, hello: ClientHello) -> None:
        check_client_name(hello.client, "hello")
        self._epoch += 1
        self._peers[connection] = self.sessions.hello(connection, hello, self._epoch, self.now)

    def _update(self, link: MeshLink, update: Update) -> None:
        assert link.connection is not None
        joined, gone = self.interest.heard(link, update)
        if joined or gone:
            self._out.append(self.interest.remembered(link))
        self.flooding.renew(link, joined)
        named = [topic for topic, _ in update.subscriptions]
        self._out += [Send(link.connection, answer) for answer in self.positions.answers(link, named)]
        if update.all_subscriptions:
            self._out += self.flooding.open(link)
        else:
            for topic in joined:
                self.flooding.offer_topic(topic, link)
        for topic in sorted(gone):
            self.flooding.check_topic(topic)

    def _roster(self, link: MeshLink, roster: Roster) -> None:
        check_roster(roster)
        neighbour = self.interest.links.get(roster.broker)
        if not self.rosters.heard(roster, link.name) or neighbour is None:
            return
        topics = self.rosters.entries[roster.broker].topics
        joined, gone = self.interest.heard_elsewhere(
            neighbour, {topic: mark for topic, (mark, _) in topics.items()}
        )
        if joined or gone:
            self._out.append(self.interest.remembered(neighbour))
        self.flooding.renew(neighbour, joined)
        for topic in sorted(gone):
            self.flooding.check_topic(topic)

    def _known(self, link: MeshLink, message: Known) -> None:
        check_known(message)
        self.rosters.known(message)

    def _pressure(self, link: MeshLink, word: Pressure) -> None:
        if (news := self.pressures.hear(word)) is not None:
            self._spread(news, link.name if news is word else "")

    def _spread(self, word: Pressure, source: str) -> None:
        """Pass it on; publishers may be free again."""
        self._send_all(word, source)
        self.flooding.check_unacknowledged()

    def _bye(self, session: Session, bye: Bye) -> None:
        self._hang_up(session)
        self.sessions.end(session)

    def _closed(self, connection: int) -> None:
        peer = self._peers.pop(connection, None)
        if peer is not None and peer.connection == connection:
            peer.lost(self.now)
            if isinstance(peer, MeshLink):
                self.flooding.check_unacknowledged()
                for topic in sorted(peer.topics):
                    if self.interest.is_ready(topic):
                        self.positions.begin(topic)
        neighbour = self._dialled.pop(connection, "")
        link = self.interest.links.get(neighbour)
        if link is not None and link.connection is None:
            self._out.append(Dial(neighbour))

    # What follows

    def _flush(self) -> list[Effect]:
        """Everything that the last event caused: topics, answers to clients, publications, confirmations."""
        self._follow_topics()
        self.positions.begin_unsure()
        self.sessions.placed()
        while self.sessions.publishing.admit() and self.membership.has_news:
            self._follow_topics()  # something was published on topics that its client had not named
            self.sessions.placed()
        weighed = self.pressures.weigh(self.flooding.streams.bytes, self.interest.own)
        if weighed is not None:
            self._spread(weighed, "")
        out: list[Effect] = [*self.membership.take_stores(), *self.sessions.stores(), *self._out]
        out += self.changes.take_done()
        self._out = []
        out += self.sessions.out
        self.sessions.out = []
        out += self.delivery.take_sends()
        out += self.flooding.take_sends()
        out += self.sessions.publishing.take_sends()
        return out

    def _follow_topics(self) -> None:
        """Act on what has changed in our topics, and in which brokers have them."""
        for topic in self.interest.newly_ready(self.now):
            self.positions.begin(topic)
            if self.interest.is_settled(topic):
                self._tell_positions(topic)
        known = self.rosters.take_known()
        self.membership.judge(self.now)
        for topic in self.membership.take_settled():
            self._tell_positions(topic)
        if (change := self.interest.change()) is not None:
            self._send_all(change)
        for roster, source in self.rosters.take_rosters():
            self._send_all(roster, source)
        for name, message in known:  # after the rosters: a neighbour that hears it has heard them
            link = self.interest.links.get(name)
            if link is not None and link.connection is not None:
                self._out.append(Send(link.connection, message))

    def _send_all(self, message: AnyMessage, source: str = "") -> None:
        """Send it to all connected neighbours except the one that it came from."""
        for link in self.interest.links.values():
            if link.connection is not None and link.name != source:
                self._out.append(Send(link.connection, message))

    def _tell_positions(self, topic: str) -> None:
        """Tell neighbours on the topic where its streams stand; they were told that we did not know."""
        for name in sorted(self.interest.wanting(topic)):
            link = self.interest.links[name]
            if link.open and link.connection is not None:
                self._out += [Send(link.connection, each) for each in self.positions.answers(link, [topic])]
