"""Where the streams of a mesh broker stand: what it tells neighbours, learns from them, and may forget.

Publishers come and go, so streams that have been quiet for a while are forgotten when there are too many.
A topic of which streams were forgotten is *partial*, and neighbours are told so. When an unknown stream of
such a topic continues in its middle, it is not known whether what came is next: it is taken, but passed on to
subscribers only after `patience`, beginning with the earliest that has come until then.
"""

from collections.abc import Callable, Iterable, Iterator

from regraft.broker.core.mesh_checks import check_positions
from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_interest import MeshInterest, MeshLink
from regraft.broker.core.mesh_outbox import MOST_BYTES
from regraft.broker.core.mesh_streams import Stream, topic_of
from regraft.protocol.messages import Named, Positions

StreamPosition = tuple[str, int, list[int]]
"""A stream and where it stands, as in `Positions`."""


class StreamPositions:
    """The streams of one broker. `most` of them are remembered, and those that are not quiet."""

    def __init__(
        self, interest: MeshInterest, flooding: Flooding, most: int, idle_seconds: float, patience: float
    ) -> None:
        self.interest = interest
        self.flooding = flooding
        self.streams = flooding.streams
        self.most = most
        self.idle_seconds = idle_seconds
        self.patience = patience
        self.here: Callable[[str], bool] = lambda client: False
        """Whether a client is ours: of its streams we must know the last numbers."""

    # Beginning

    def begin(self, topic: str) -> None:
        """It is known where the topic's streams stand, or known better than before."""
        for stream in self.streams.on(topic):
            if stream.name not in self.streams.unsure:
                self._begin(stream)

    def _begin(self, stream: Stream) -> None:
        after = self.interest.begins_after(stream.topic, stream.name)
        if after is None:
            if stream.position is None:
                self.streams.unsure[stream.name] = self.streams.now
            return
        start = max(stream.position or 0, after)
        if stream.position is None and self.interest.own[stream.topic].anew and stream.order:
            start = max(start, stream.copies[stream.order[0]].previous)
        if stream.position is None or start > stream.position:
            self.flooding.start(stream, start)

    def begin_unsure(self) -> None:
        """After `patience`, begin forgotten streams with the earliest publication that has come."""
        unsure = self.streams.unsure
        for name in [each for each, since in unsure.items() if self.streams.now - since >= self.patience]:
            stream = self.streams.by_name[name]
            if stream.order:
                del unsure[name]
                self.flooding.start(stream, stream.copies[stream.order[0]].previous)

    # Telling and learning

    def answers(self, link: MeshLink, topics: Iterable[str]) -> list[Positions]:
        """What to tell a neighbour that is interested in these topics."""
        own = self.interest.own
        asking = [topic for topic in topics if topic in own and not self.interest.is_settled(topic)]
        known = [topic for topic in topics if topic not in asking]
        answers: list[Positions] = []
        for partial in (False, True):
            those = [topic for topic in known if (topic in own and own[topic].partial) == partial]
            answers += self._parts(link, those, partial)
        if asking:
            answers.append(Positions([(topic, link.topics[topic]) for topic in asking], known=False))
        return answers

    def _parts(self, link: MeshLink, topics: list[str], partial: bool) -> Iterator[Positions]:
        """Several topics in one message, or several messages for one topic: none becomes too long."""
        named: list[Named] = []
        streams: list[StreamPosition] = []
        size = 0
        for topic in topics:
            mine = self.streams.on(topic) if topic in self.interest.own else []
            if named and size + sum(map(_size, mine)) > MOST_BYTES:
                yield Positions(named, streams, partial=partial)
                named, streams, size = [], [], 0
            named.append((topic, link.topics[topic]))
            size += len(topic)
            for stream in mine:
                if streams and size > MOST_BYTES:
                    yield Positions(named, streams, partial=partial, last=False)
                    streams, size = [], 0
                streams.append((stream.name, stream.promise, list(stream.numbers)))
                size += _size(stream)
        if named:
            yield Positions(named, streams, partial=partial)

    def learn(self, message: Positions, link: MeshLink) -> None:
        """A neighbour says where streams stand."""
        check_positions(message)
        topics = self.interest.hear_positions(link, message)
        for name, _, numbers in message.streams:
            if (topic := topic_of(name)) in topics:
                own = self.interest.own[topic]
                if own.ready and own.partial and name not in self.streams.by_name:
                    continue  # we have forgotten it: it begins with what comes next
                stream = self.streams.open(name, 0 if own.ready else None)
                for number in numbers:
                    stream.note(number)
        for topic in topics if message.last else ():
            if self.interest.is_ready(topic):
                self.begin(topic)

    # Forgetting

    def forget(self) -> None:
        """Forget quiet streams if there are too many, and some more, so as not to search at every tick."""
        if len(self.streams.by_name) <= self.most:
            return
        spare = len(self.streams.by_name) - self.most * 9 // 10
        quiet = self.streams.quiet(self.streams.now - self.idle_seconds)
        for stream in [each for each in quiet if not self.here(each.name.partition("#")[0])][:spare]:
            self.streams.drop(stream)
            if (own := self.interest.own.get(stream.topic)) is not None:
                own.partial = True


def _size(stream: Stream) -> int:
    """Bytes that it takes in a message, at most."""
    return 4 * len(stream.name) + 9 * len(stream.numbers) + 24
