"""Publications in a mesh: taken over from neighbours, flooded on, kept until the topic no longer needs us.

Between two neighbours, for one publication:

    Flood      here it is
    Received   I keep it as well
    Confirm    my subscribers have it and all my neighbours on the topic keep it: I need no copy of yours

A copy goes when every interested neighbour has confirmed. `mesh` says why that is enough.
"""

from collections.abc import Callable, Iterable

from regraft.broker.core.effects import Send
from regraft.broker.core.forwarding import Fact
from regraft.broker.core.mesh_checks import check_flood
from regraft.broker.core.mesh_interest import MeshInterest, MeshLink, OwnTopic
from regraft.broker.core.mesh_outbox import Outbox
from regraft.broker.core.mesh_streams import Copy, Stream, Streams, topic_of
from regraft.protocol.messages import Confirm, Flood, Received, Run, Settled


class Flooding:
    """The copies of one broker. `deliver` and `acknowledge` are what its sessions do with them."""

    def __init__(self, interest: MeshInterest, k: int, observe: bool) -> None:
        self.interest = interest
        self.streams = Streams()
        self.k = k
        self.observe = observe
        self.facts: list[Fact] = []
        self.deliver: Callable[[Copy], None] = lambda copy: None
        """Called when a copy is the next one of its stream; fills `local`."""
        self.acknowledge: Callable[[Copy], None] = lambda copy: None
        self.floor: Callable[[str], int] = lambda stream: 0
        """The lowest number that the stream's publisher, if it is here, has not been acknowledged."""
        self.held_up: Callable[[str], bool] = lambda topic: False
        """Whether a topic is under pressure: nothing is acknowledged."""
        self.left: set[str] = set()
        """Topics that are no longer ours, of which copies may remain."""
        self._unacknowledged: dict[tuple[str, int], Copy] = {}
        self.outbox = Outbox(interest, self._flood)

    # Arriving

    def arrive(self, flood: Flood, link: MeshLink) -> None:
        """A neighbour sends publications: keep what is new, and answer."""
        check_flood(flood)
        previous = flood.previous
        for seq, event in zip(flood.seqs, flood.events, strict=True):
            copy = self.take(
                flood.stream, seq, previous, event, flood.at, floor=flood.floor, sender=link.name
            )
            self.outbox.received(link.name, flood.stream, seq)
            if copy is None:
                self.outbox.confirmed(link.name, flood.stream, previous, seq)
            else:
                copy.told.discard(link.name)  # had it heard our confirmation, it would not send
                self._check(copy)
            previous = seq

    def take(
        self,
        name: str,
        seq: int,
        previous: int,
        event: bytes,
        at: int,
        *,
        floor: int = 0,
        sender: str = "",
        source: str = "",
    ) -> Copy | None:
        """The copy that is kept of a publication; None if it has been here or is not wanted."""
        stream = self.streams.by_name.get(name)
        copy = stream.copies.get(seq) if stream is not None else None
        if copy is not None:
            if sender:
                copy.has.add(sender)
            return copy
        topic = topic_of(name)
        if topic not in self.interest.own:
            return None
        if stream is None:
            stream = self._open(name, self.interest.own[topic], previous)
        elif name in self.streams.unsure and not stream.copies:
            self.streams.unsure[name] = self.streams.now
        stream.touched = self.streams.now
        stream.note(seq, floor)
        if stream.position is not None and seq <= stream.position:
            return None
        copy = Copy(stream, seq, previous, event, at)
        copy.source = source
        if sender:
            copy.has.add(sender)
        self.streams.keep(copy)
        if stream.position == 0 and len(stream.copies) == 1 and self.interest.may_begin(stream.name, sender):
            stream.position = previous
        elif stream.position is not None and previous < stream.position:
            stream.expect(copy)
        if source:
            self._unacknowledged[name, seq] = copy
        for neighbour in self.interest.wanting(topic) - copy.has:
            self._offer(copy, neighbour)
        self._advance(stream)
        return copy

    def _open(self, name: str, topic: OwnTopic, previous: int) -> Stream:
        """Open a stream that we do not know. If we may have forgotten it, what came need not be next."""
        unsure = topic.ready and topic.partial and previous > 0
        stream = self.streams.open(name, 0 if topic.ready and not unsure else None)
        if unsure:
            self.streams.unsure[name] = self.streams.now
        return stream

    def _advance(self, stream: Stream) -> None:
        """Pass on to local subscribers what is next, until there is a gap."""
        if stream.position is None:
            return
        while (copy := stream.next.pop(stream.position, None)) is not None:
            stream.position = copy.seq
            self._pass(copy)

    def _pass(self, copy: Copy) -> None:
        copy.passed = True
        self.deliver(copy)
        self._check(copy)

    def start(self, stream: Stream, position: int) -> None:
        """The stream's position is known now, or known better than before."""
        for copy in stream.start_after(position):
            copy.passed = True  # our subscribers had it in our earlier life, or before they came
            self._check(copy)
        self._advance(stream)

    # Neighbours

    def renew(self, link: MeshLink, topics: Iterable[str]) -> None:
        """The neighbour has joined these topics, or been restarted: what it knew of them is void."""
        for topic in topics:
            self.interest.doubt(link, topic)
            for copy in self.streams.copies(topic):
                copy.has.discard(link.name)
                copy.done.discard(link.name)
                copy.told.discard(link.name)

    def open(self, link: MeshLink) -> list[Send]:
        """The neighbour has told all its topics: it gets again whatever it has not confirmed."""
        assert link.connection is not None
        link.open = True
        for topic in sorted(link.topics):
            self.offer_topic(topic, link)
        return [*self.outbox.take_floods(link), Send(link.connection, Settled())]

    def offer_topic(self, topic: str, link: MeshLink) -> None:
        for copy in self.streams.copies(topic):
            if link.name not in copy.done:
                copy.told.discard(link.name)
                self._offer(copy, link.name)
                self._check(copy)

    def rejoin(self, topic: str) -> None:
        """The topic is ours again: neighbours that thought us gone get what is left, and answer once more."""
        for name in self.interest.wanting(topic):
            self.offer_topic(topic, self.interest.links[name])

    def _offer(self, copy: Copy, neighbour: str) -> None:
        if self.interest.links[neighbour].open:
            self.outbox.offer(neighbour, copy)

    def received(self, message: Received, link: MeshLink) -> None:
        stream = self.streams.by_name.get(message.stream)
        for seq in message.seqs:
            if stream is not None and (copy := stream.copies.get(seq)) is not None:
                copy.has.add(link.name)
                self._check(copy)
            else:  # released when the neighbour had left the topic, which it has joined again since
                self.outbox.confirmed(link.name, message.stream, seq - 1, seq)

    def confirmed(self, message: Confirm, link: MeshLink) -> None:
        """The neighbour needs no copy of ours any more."""
        if (stream := self.streams.by_name.get(message.publisher)) is not None:
            ranges = iter(message.ranges)
            for first, last in zip(ranges, ranges, strict=False):
                for copy in stream.within(first, last):
                    copy.has.add(link.name)
                    copy.done.add(link.name)
                    self._check(copy)

    def check_topic(self, topic: str) -> None:
        """The set of interested neighbours has changed."""
        for copy in list(self.streams.copies(topic)):
            self._check(copy)
        if topic not in self.interest.own:
            self.left.add(topic)

    def check_unacknowledged(self) -> None:
        """Connections, or the topics under pressure, have changed."""
        for copy in list(self._unacknowledged.values()):
            self._check(copy)

    # What becomes of a copy

    def delivered(self, copy: Copy, target: str) -> None:
        """A local subscriber has confirmed, or never will."""
        del copy.local[target]
        self._check(copy)

    def disown(self, source: str) -> None:
        """The publisher has gone: its publications need not be acknowledged."""
        for copy in [each for each in self._unacknowledged.values() if each.source == source]:
            copy.source = ""
            del self._unacknowledged[copy.stream.name, copy.seq]
            self._check(copy)

    def publish(self, name: str, seq: int, event: bytes, at: int, source: str) -> bool:
        """A client of ours publishes, or sends again; False if that has been acknowledged."""
        if (name, seq) in self._unacknowledged:
            return True
        stream = self.streams.by_name.get(name)
        previous = stream.before(seq) if stream is not None else 0
        copy = self.take(name, seq, previous, event, at, floor=self.floor(name), source=source)
        if copy is None or copy.acknowledged:
            return False
        if not copy.source:  # a neighbour had it from our earlier life
            copy.source = source
            self._unacknowledged[name, seq] = copy
        self._check(copy)
        return True

    def _check(self, copy: Copy) -> None:
        """Acknowledge, confirm and release the copy, as far as each is due."""
        topic = copy.stream.topic
        wanting = self.interest.wanting(topic)
        if copy.local or (topic in self.interest.own and not copy.passed):
            return
        self._acknowledge(copy, wanting)
        if copy.released or not wanting <= copy.has:
            return
        self._tell(copy, wanting)
        self._release(copy.stream)

    def _tell(self, copy: Copy, wanting: set[str]) -> None:
        """Tell our neighbours that they need not keep it for us."""
        for name in wanting - copy.told:
            if self.interest.links[name].open:
                copy.told.add(name)
                self.outbox.confirmed(name, copy.stream.name, copy.previous, copy.seq)

    def _release(self, stream: Stream) -> None:
        """Release copies that no neighbour needs, from the oldest on: what is kept of a stream has no gaps,
        so that a neighbour that joins gets all after the first of it."""
        wanting = self.interest.wanting(stream.topic)
        staying = stream.topic in self.interest.own
        while stream.order:
            oldest = stream.copies[stream.order[0]]
            if oldest.local or (staying and not oldest.passed):
                return
            if not wanting <= (oldest.done if staying else oldest.has):
                return
            self._tell(oldest, wanting)
            self.streams.release(oldest)
            self._acknowledge(oldest, wanting)

    def _acknowledge(self, copy: Copy, wanting: set[str]) -> None:
        """Acknowledge the copy if it is safe; one that could be released is."""
        if not copy.source or copy.acknowledged or self.held_up(copy.stream.topic):
            return
        if copy.released or self._safe(copy, wanting):
            copy.acknowledged = True
            del self._unacknowledged[copy.stream.name, copy.seq]
            self.acknowledge(copy)

    def _safe(self, copy: Copy, wanting: set[str]) -> bool:
        """Whether k brokers keep it, we among them, and all connected neighbours on the topic do."""
        links = self.interest.links
        there = {name for name in wanting if links[name].connection is not None}
        return there <= copy.has and len(wanting & copy.has) >= min(self.k - 1, len(wanting))

    # Leaving

    def take_sends(self) -> list[Send]:
        sends = self.outbox.take_sends()
        for topic in list(self.left):
            if topic in self.interest.own:
                self.left.discard(topic)
            elif not any(stream.copies for stream in self.streams.on(topic)):
                self.streams.forget(topic)
                self.left.discard(topic)
        return sends

    def _flood(self, batch: list[Copy], link: MeshLink) -> Flood:
        stream = batch[0].stream
        seqs, events = [copy.seq for copy in batch], [copy.event for copy in batch]
        if self.observe:
            run = Run(stream.name, seqs, events, batch[0].at)
            self.facts.append(Fact("hop", run, batch[0].source, link.name))
        floor = max(stream.floor, self.floor(stream.name))
        return Flood(stream.name, batch[0].previous, floor, seqs, events, batch[0].at)
