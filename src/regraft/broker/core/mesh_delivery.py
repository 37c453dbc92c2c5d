"""Local subscribers of a mesh broker: which of them want a publication, and what their windows allow.

To its subscribers a stream is a publisher: `client#life/topic`. Order holds within it, and the client
recognises what it has seen by its highest number in it.
"""

from regraft.broker.core.effects import Send
from regraft.broker.core.forwarding import Fact
from regraft.broker.core.mesh_checks import check_confirm
from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_outbox import MOST_BYTES, MOST_TOGETHER
from regraft.broker.core.mesh_streams import Copy
from regraft.broker.core.peers import Session
from regraft.filters import Filter
from regraft.protocol import events
from regraft.protocol.messages import Confirm, Run


class MeshDelivery:
    """What is on the way to the clients of one broker."""

    def __init__(self, flooding: Flooding) -> None:
        self.flooding = flooding
        self.sessions: dict[str, Session] = {}
        self._waking: dict[str, Session] = {}
        """Sessions to which something may be sent now."""
        self._filters: dict[str, dict[tuple[str, str], Filter]] = {}
        """By topic: the filters of local subscribers, by target and id."""
        flooding.deliver = self.deliver

    def subscribe(self, topic: str, session: Session, id: str, filter: Filter) -> None:
        self._filters.setdefault(topic, {})[session.target, id] = filter

    def unsubscribe(self, topic: str, session: Session, id: str) -> None:
        filters = self._filters[topic]
        del filters[session.target, id]
        if not filters:
            del self._filters[topic]

    def subscribed(self, topic: str) -> bool:
        return topic in self._filters

    def deliver(self, copy: Copy) -> None:
        """The copy is the next one of its stream: queue it for the subscribers that want it."""
        filters = self._filters.get(copy.stream.topic)
        if not filters:
            return
        attributes = events.attributes(copy.event)
        for (target, _), filter in filters.items():
            if target not in copy.local and filter.matches(attributes):
                copy.local[target] = 0
                session = self.sessions[target]
                if session.connection is not None:
                    session.queue.append((copy.stream.name, copy.seq, copy.seq))
                    self._waking[target] = session

    def resume(self, session: Session) -> None:
        """The client is connected again: it gets everything that it has not confirmed."""
        session.queue.clear()
        session.on_the_way = 0
        self._waking[session.target] = session
        for stream in self.flooding.streams.by_name.values():
            session.queue.extend(
                (stream.name, seq, seq) for seq in stream.order if session.target in stream.copies[seq].local
            )

    def _drain(self, session: Session, connection: int) -> list[Send]:
        """Send the client what its window allows."""
        sends: list[Send] = []
        batch: list[Copy] = []
        size = 0
        while session.queue and session.on_the_way < session.window:
            name, seq, _ = session.queue.popleft()
            stream = self.flooding.streams.by_name.get(name)
            copy = stream.copies.get(seq) if stream is not None else None
            if copy is None or copy.local.get(session.target, session.epoch) == session.epoch:
                continue
            full = len(batch) >= MOST_TOGETHER or size + len(copy.event) > MOST_BYTES
            if batch and (batch[0].stream is not copy.stream or full):
                sends.append(Send(connection, _run(batch)))
                batch, size = [], 0
            copy.local[session.target] = session.epoch
            session.on_the_way += 1
            batch.append(copy)
            size += len(copy.event)
        if batch:
            sends.append(Send(connection, _run(batch)))
        return sends

    def confirmed(self, session: Session, confirm: Confirm) -> None:
        """The client is done with what it was sent on this connection."""
        check_confirm(session, confirm)
        stream = self.flooding.streams.by_name.get(confirm.publisher)
        if stream is None:
            return
        self._waking[session.target] = session
        ranges = iter(confirm.ranges)
        for first, last in zip(ranges, ranges, strict=False):
            for copy in stream.within(first, last):
                if copy.local.get(session.target) == session.epoch:
                    session.on_the_way -= 1
                    if self.flooding.observe:
                        fact = Fact("delivery", _run([copy]), copy.source, session.target)
                        self.flooding.facts.append(fact)
                    self.flooding.delivered(copy, session.target)

    def forget(self, session: Session) -> None:
        """This client will never confirm anything again."""
        for topic in list(self.flooding.streams.by_topic):
            for copy in list(self.flooding.streams.copies(topic)):
                if session.target in copy.local:
                    self.flooding.delivered(copy, session.target)

    def take_sends(self) -> list[Send]:
        waking, self._waking = self._waking, {}
        sends: list[Send] = []
        for session in waking.values():
            if session.connection is not None:
                sends += self._drain(session, session.connection)
        return sends


def _run(batch: list[Copy]) -> Run:
    return Run(
        batch[0].stream.name,
        [copy.seq for copy in batch],
        [copy.event for copy in batch],
        batch[0].at,
    )
