"""Publications: where they go, for which peers they are kept, when they are confirmed.

A publication that comes again (because its upstream or the path to it has changed) is recognised by its
number. If it is still held, only the peer that is owed the confirmation changes; if the path has changed,
targets that do not have it yet get it as well. If it is no longer held, it is forwarded once more, so that
all peers downstream can confirm it; clients drop what they have seen.

A publisher that connects again, perhaps elsewhere, sends again everything that is not acknowledged, in
order, on its new visit. As soon as a broker learns that this visit is behind a neighbour, it keeps nothing
of earlier visits for that neighbour. If it released only what has come again from there, then after a crash
the rest, which is later in the stream, could reach a subscriber first, and the subscriber would drop what
comes again as old.
"""

from typing import NamedTuple

from regraft.broker.core.effects import Send
from regraft.broker.core.held import Held, HeldRuns, HeldStream
from regraft.broker.core.peers import Link, Session
from regraft.broker.core.tables import Tables
from regraft.protocol import events
from regraft.protocol.messages import Confirm, Run, Settled

CACHED_ROUTES = 4096
GIVE_UP_AFTER = 64
GIVE_UP_FOR = 4096
"""After GIVE_UP_AFTER events whose attributes had not been seen, the cache learns nothing from the rest of
GIVE_UP_FOR such events."""


class Fact(NamedTuple):
    """Something for the telemetry. `kind` is publication, hop or delivery; `to` is a neighbour or a client.
    `under` is the change of links that concerned the link of a hop. `alike`: all events of a publication's
    run are known to have the same attributes; then `size` is how many bytes they have."""

    kind: str
    run: Run
    source: str
    to: str
    under: str | None = None
    alike: bool = False
    size: int = 0


class Way(NamedTuple):
    """The targets of events. Those that take the very same way have the same attributes."""

    targets: tuple[str, ...]


class Heads:
    """A cache for one source: the way of events by the bytes of their attributes."""

    __slots__ = ("length", "misses", "version", "ways")

    def __init__(self, version: int) -> None:
        self.version = version
        self.ways: dict[bytes, Way] = {}
        self.length = 0
        self.misses = 0


class Forwarding:
    """The publications of one broker; what is to be sent collects in `sends`."""

    def __init__(self, tables: Tables, observe: bool) -> None:
        self.tables = tables
        self.store = HeldRuns()
        self.links: dict[str, Link] = {name: Link(name) for name in tables.sides}
        self.sessions: dict[str, Session] = {}
        self.sends: list[Send] = []
        self.observe = observe
        self.facts: list[Fact] = []
        self.under: dict[str, str] = {}
        """Neighbour → the change that concerns the link to it at present (`relink`)."""
        self._confirms: dict[tuple[str, str, int], list[int]] = {}
        self._routes: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._routed_at = -1
        self._heads: dict[str, Heads] = {}

    # Arriving

    def arrive(self, run: Run, source: str) -> None:
        """A run from a neighbour or a local client."""
        stream = self.store.stream(run.publisher)
        if run.visit > stream.visits.get(source, 0):
            self._visited(stream, source, run.visit)
        if run.seqs[0] > stream.seen and run.visit == stream.latest:
            stream.seen = run.seqs[-1]
            for piece, targets, alike in self._split(run, source):
                self.hold(piece, source, targets, alike=alike)
            return
        for at, seq in enumerate(run.seqs):
            if stream.find(seq) is None:
                stream.seen = max(stream.seen, seq)
                self.hold(run.one(at), source, *self._in_time(stream, run.one(at), source))
            else:
                self._again(stream.within(seq, seq)[0], source, run.one(at))

    def _visited(self, stream: HeldStream, peer: str, visit: int) -> None:
        """The publisher is behind this peer, on this visit: nothing of earlier visits is sent there."""
        stream.visits[peer] = visit
        stream.latest = max(stream.latest, visit)
        if peer not in self.links:
            return  # a client, which publishes and may subscribe
        for held in stream:
            if peer in held.waiting and held.run.visit < visit:
                held.overtaken = max(held.overtaken, (visit, peer))
                self.release(held, peer)

    def _in_time(self, stream: HeldStream, run: Run, source: str) -> tuple[tuple[str, ...], tuple[int, str]]:
        """The targets that do not get it on a later visit anyway; the latest such visit, and its peer."""
        targets = self.targets(run.events[0], source)
        late = [each for each in targets if stream.later(each, run.visit, source)]
        overtaken = max(((stream.visits[each], each) for each in late), default=(0, ""))
        return tuple(each for each in targets if each not in late), overtaken

    def _again(self, held: Held, source: str, run: Run) -> None:
        """The run comes from `source` as well, perhaps because its publisher is at another broker now.

        The later visit decides which way is downstream: two brokers that got it from different sides
        must not wait for each other, and one of them must.
        """
        known = source in held.sources
        if run.visit < held.run.visit or (known and run.visit == held.run.visit):
            if not known:
                held.sources.insert(0, source)
            return
        held.sources = [*(each for each in held.sources if each != source), source]
        held.run = run
        if source in self.links:
            held.waiting.pop(source, None)
        targets, overtaken = self._in_time(self.store.stream(run.publisher), run, source)
        held.overtaken = max(held.overtaken, overtaken)
        for target in dict.fromkeys([*targets, *held.waiting]):
            if target not in held.waiting or target in self.links:  # a neighbour must learn the new way
                held.waiting[target] = 0
                self.offer(held, target)
        if not held.waiting:
            self.complete(held)

    def hold(
        self,
        run: Run,
        source: str,
        targets: tuple[str, ...],
        overtaken: tuple[int, str] = (0, ""),
        *,
        alike: bool = False,
    ) -> None:
        """Keep the run for its targets and send it to those that can take it."""
        held = Held(run, [source], dict.fromkeys(targets, 0), overtaken=overtaken)
        if self.observe and source in self.sessions:
            self.facts.append(Fact("publication", run, source, "", alike=alike, size=held.size))
        if not targets:
            return self._confirm(held)
        self.store.keep(held)
        for target in targets:
            self.offer(held, target)
        return None

    def _split(self, run: Run, source: str) -> list[tuple[Run, tuple[str, ...], bool]]:
        """Cut the run where the targets change. True: the events of the piece have the same attributes."""
        if not self.tables.index.attributes:
            return [(run, self.targets(run.events[0], source), len(run.seqs) == 1)]
        ways = self._ways(run.events, source)
        first = ways[0]
        if all(way is first for way in ways):
            return [(run, first.targets, True)]
        pieces = []
        start = 0
        for end in range(1, len(ways) + 1):
            if end == len(ways) or ways[end] != ways[start]:
                alike = all(way is ways[start] for way in ways[start:end])
                pieces.append((run.part(slice(start, end)), ways[start].targets, alike))
                start = end
        return pieces

    def _ways(self, run: list[bytes], source: str) -> list[Way]:
        """The way of each event.

        Many events have the same attributes, byte for byte: an event that begins like a known one takes the
        same way without being decoded. Where all events differ, this is given up for a while.
        """
        heads = self._heads_from(source)
        known, length = heads.ways, heads.length
        ways = []
        for event in run:
            way = known.get(event[:length])
            if way is None:
                way = Way(self.targets(event, source))
                heads.misses += 1
                if heads.misses % GIVE_UP_FOR < GIVE_UP_AFTER:
                    head = events.head(event)
                    known[head], length = way, len(head)
            ways.append(way)
        heads.length = length
        return ways

    def _heads_from(self, source: str) -> "Heads":
        heads = self._heads.get(source)
        if heads is None or heads.version != self.tables.version or len(heads.ways) > CACHED_ROUTES:
            heads = self._heads[source] = Heads(self.tables.version)
        return heads

    def targets(self, event: bytes, source: str) -> tuple[str, ...]:
        """All peers that want the event, except the neighbour that it came from."""
        index = self.tables.index
        if self._routed_at != self.tables.version or len(self._routes) > CACHED_ROUTES:
            self._routes.clear()
            self._routed_at = self.tables.version
        read = index.attributes
        values = events.attributes(event) if read else {}
        key = (source, *[_typed(values.get(name)) for name in read])
        way = self._routes.get(key)
        if way is None:
            wanted = {self.tables.by_key[each].origin for each in index.match(values)}
            if source in self.links:
                wanted.discard(source)
            # Clients last: the run is cut where a client's window ends, and links should take it whole.
            way = tuple(sorted(wanted, key=lambda target: (target in self.sessions, target)))
            self._routes[key] = way
        return way

    # Leaving

    def offer(self, held: Held, target: str) -> None:
        """Send the run to the target, if it can take it now; it is kept either way."""
        if (link := self.links.get(target)) is not None:
            if link.open and not link.frozen and link.connection is not None:
                held.waiting[target] = link.epoch
                self.sends.append(Send(link.connection, held.run))
                if self.observe:
                    under = self.under.get(target)
                    self.facts.append(Fact("hop", held.run, held.sources[0], target, under))
            return None
        session = self.sessions[target]
        run = held.run
        if session.connection is not None:
            session.queue.append((run.publisher, run.seqs[0], run.seqs[-1]))
            self.drain(session)
        return None

    def drain(self, session: Session) -> None:
        """Send the client what its window allows."""
        if session.claiming or session.connection is None:
            return
        while session.queue and session.on_the_way < session.window:
            publisher, first, last = session.queue.popleft()
            stream = self.store.stream(publisher)
            for held in stream.within(first, last):
                room = session.window - session.on_the_way
                if held.waiting.get(session.target, session.epoch) == session.epoch:
                    continue
                if session.doubts(held.run) and session.target not in held.trusted:
                    self.release(held, session.target)
                    continue
                if room < len(held.run.seqs):
                    session.queue.appendleft((publisher, held.run.seqs[room], last))
                    if room:
                        self._deliver(stream.within(held.run.seqs[0], held.run.seqs[room - 1])[0], session)
                    return
                self._deliver(held, session)

    def _deliver(self, held: Held, session: Session) -> None:
        assert session.connection is not None
        held.waiting[session.target] = session.epoch
        session.on_the_way += len(held.run.seqs)
        self.sends.append(Send(session.connection, held.run))

    def open(self, link: Link) -> None:
        """The neighbour's table is complete: send what it has not confirmed, then `Settled`."""
        assert link.connection is not None
        link.open = True
        self.send_again(link)
        self.sends.append(Send(link.connection, Settled()))

    def send_again(self, link: Link) -> None:
        for held in self.store.waiting_for(link.name):
            self.offer(held, link.name)

    def send_unsent(self, link: Link) -> None:
        for held in self.store.waiting_for(link.name):
            if held.waiting[link.name] != link.epoch:
                self.offer(held, link.name)

    def rename(self, old: str, new: str) -> None:
        """Neighbour `new` takes the place of `old`: it gets what `old` had not confirmed."""
        del self.links[old]
        self.links[new] = Link(new)
        for held in self.store:
            held.rename(old, new)
            if held.waiting.pop(old, None) is not None:
                held.waiting[new] = 0
        self.succeed(old, new)

    def succeed(self, old: str, new: str) -> None:
        """What was behind neighbour `old`, or part of it, is behind `new` now."""
        for stream in self.store.streams.values():
            if old in stream.visits:
                stream.visits[new] = max(stream.visits[old], stream.visits.get(new, 0))

    def resume(self, session: Session) -> None:
        """The client is connected again: it gets everything that it has not confirmed."""
        session.queue.clear()
        session.on_the_way = 0
        for held in self.store.waiting_for(session.target):
            run = held.run
            session.queue.append((run.publisher, run.seqs[0], run.seqs[-1]))
        self.drain(session)

    # Confirming

    def confirmed(self, confirm: Confirm, target: str, epoch: int) -> None:
        """A neighbour or a client has confirmed what it was sent on this connection."""
        stream = self.store.busy.get(confirm.publisher)
        if stream is None:
            return
        session = self.sessions.get(target)
        later = False
        ranges = iter(confirm.ranges)
        for first, last in zip(ranges, ranges, strict=False):
            for held in stream.within(first, last):
                if held.waiting.get(target) != epoch or held.run.visit > confirm.visit:
                    continue
                if session is not None:
                    session.on_the_way -= len(held.run.seqs)
                    if self.observe:
                        self.facts.append(Fact("delivery", held.run, held.sources[0], target))
                elif held.run.visit < confirm.visit:
                    later, held.overtaken = True, max(held.overtaken, (confirm.visit, target))
                self.release(held, target)
        if session is not None:
            self.drain(session)
        elif later and confirm.visit > stream.visits.get(target, 0):
            self._visited(stream, target, confirm.visit)

    def release(self, held: Held, target: str) -> None:
        """The target no longer needs the run."""
        del held.waiting[target]
        if not held.waiting:
            self.complete(held)

    def forget(self, target: str) -> None:
        """This target will never confirm anything again."""
        self._heads.pop(target, None)
        for held in self.store.waiting_for(target):
            self.release(held, target)

    def complete(self, held: Held) -> None:
        self.store.release(held)
        self._confirm(held)

    def _confirm(self, held: Held) -> None:
        first, last = held.run.seqs[0], held.run.seqs[-1]
        for source in held.sources:
            key = source, held.run.publisher, held.confirms(source)
            ranges = self._confirms.setdefault(key, [])
            if ranges and ranges[-1] + 1 == first:
                ranges[-1] = last
            else:
                ranges += (first, last)

    def take_sends(self) -> list[Send]:
        """What has to be sent: publications first, then confirmations."""
        sends, self.sends = self.sends, []
        confirms, self._confirms = self._confirms, {}
        for (source, publisher, visit), ranges in confirms.items():
            peer = self.links.get(source) or self.sessions.get(source)
            if peer is not None and peer.connection is not None:
                sends.append(Send(peer.connection, Confirm(publisher, ranges, visit)))
        return sends


def _typed(value: object) -> object:
    """Python holds 1, 1.0 and True equal; filters do not."""
    return (value.__class__, value) if value.__class__ is not str else value
