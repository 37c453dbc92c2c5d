"""What clients of a mesh broker publish, and what of it has been acknowledged.

A publication waits until an advertisement that it matches is in place on its topic; one that is not an event,
has no topic or was not advertised is refused.
"""

from collections import deque
from collections.abc import Callable

from regraft.broker.core.effects import Send
from regraft.broker.core.forwarding import Fact
from regraft.broker.core.mesh_checks import check_run
from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_streams import TOPIC, Copy, stream_of
from regraft.broker.core.peers import Session
from regraft.protocol import events
from regraft.protocol.events import Value
from regraft.protocol.messages import Confirm, Refused, Run


class UnfinishedNumbers:
    """The numbers of one publisher that have not been acknowledged or refused."""

    def __init__(self) -> None:
        self.numbers: deque[int] = deque()
        self.last = 0
        self._finished: set[int] = set()

    def begin(self, seq: int) -> bool:
        """Whether the number is new."""
        if seq <= self.last:
            return False
        self.last = seq
        self.numbers.append(seq)
        return True

    def finish(self, seq: int) -> None:
        if self.numbers and seq >= self.numbers[0]:
            self._finished.add(seq)
        while self.numbers and self.numbers[0] in self._finished:
            self._finished.discard(self.numbers.popleft())

    @property
    def floor(self) -> int:
        return self.numbers[0] if self.numbers else self.last + 1


WhyNot = Callable[[Session, str, dict[str, Value]], str | None]
"""Why a client may not publish on a topic what has these attributes; None if it has to wait."""


class Publishing:
    """The publications of one broker's clients."""

    def __init__(
        self,
        sessions: dict[str, Session],
        flooding: Flooding,
        why_not: WhyNot,
        say: Callable[[Session, Refused], None],
    ) -> None:
        self.all = sessions
        self.flooding = flooding
        self.why_not = why_not
        self.say = say
        self._publishing: dict[str, UnfinishedNumbers] = {}
        self._acknowledged: dict[tuple[str, str], list[int]] = {}
        flooding.acknowledge = self.acknowledge
        flooding.floor = self.floor

    def publish(self, session: Session, run: Run) -> None:
        """Keep the run until its topics can be published on; `admit` takes it then."""
        check_run(session, run)
        session.inbox.append(run)

    def admit(self) -> bool:
        """Take what clients published, each client's in order, as far as its topics can be published on;
        returns whether something still waits."""
        for session in self.all.values():
            while session.inbox and self._admit(session, session.inbox[0]):
                session.inbox.popleft()
        return any(session.inbox for session in self.all.values())

    def _admit(self, session: Session, run: Run) -> bool:
        """Whether all of the run could be taken; the rest stays in the inbox."""
        for at, (seq, event) in enumerate(zip(run.seqs, run.events, strict=True)):
            topic, reason = _topic(event)
            if not reason:
                reason = self.why_not(session, topic, events.attributes(event))
            if reason:
                self._open(run.publisher).begin(seq)
                self._open(run.publisher).finish(seq)
                self.say(session, Refused(f"{run.publisher}#{seq}", reason))
            elif reason is None:
                session.inbox[0] = Run(run.publisher, run.seqs[at:], run.events[at:], run.at)
                return False
            else:
                self._publish(session, Run(run.publisher, [seq], [event], run.at), topic)
        return True

    def _publish(self, session: Session, run: Run, topic: str) -> None:
        seq = run.seqs[0]
        name = stream_of(run.publisher, topic)
        new = self._open(run.publisher).begin(seq)
        if new and self.flooding.observe:
            self.flooding.facts.append(
                Fact("publication", run, session.target, "", alike=True, size=len(run.events[0]))
            )
        if not self.flooding.publish(name, seq, run.events[0], run.at, session.target):
            self._finish(session.target, run.publisher, seq)

    def acknowledge(self, copy: Copy) -> None:
        self._finish(copy.source, copy.stream.name.partition("/")[0], copy.seq)

    def _finish(self, target: str, publisher: str, seq: int) -> None:
        self._open(publisher).finish(seq)
        ranges = self._acknowledged.setdefault((target, publisher), [])
        if ranges and ranges[-1] + 1 == seq:
            ranges[-1] = seq
        else:
            ranges += (seq, seq)

    def _open(self, publisher: str) -> UnfinishedNumbers:
        """The open numbers of the publisher. Of each client, two lives are remembered."""
        if (publishing := self._publishing.get(publisher)) is None:
            client = publisher.partition("#")[0] + "#"
            for old in [each for each in self._publishing if each.startswith(client)][:-1]:
                del self._publishing[old]
            publishing = self._publishing[publisher] = UnfinishedNumbers()
        return publishing

    def floor(self, stream: str) -> int:
        publishing = self._publishing.get(stream.partition("/")[0])
        return publishing.floor if publishing is not None else 0

    def take_sends(self) -> list[Send]:
        """The acknowledgements."""
        acknowledged, self._acknowledged = self._acknowledged, {}
        sends = []
        for (target, publisher), ranges in acknowledged.items():
            session = self.all.get(target)
            if session is not None and session.connection is not None:
                sends.append(Send(session.connection, Confirm(publisher, ranges)))
        return sends

    def forget(self, client: str) -> None:
        """The client's session has ended."""
        for publisher in [each for each in self._publishing if each.partition("#")[0] == client]:
            del self._publishing[publisher]


def _topic(event: bytes) -> tuple[str, str | None]:
    """The topic of an event, or why it may not be published."""
    if reason := events.refusal(event):
        return "", reason
    topic = events.attributes(event).get(TOPIC)
    if not isinstance(topic, str) or not topic:
        return "", f"an event in a mesh has a string attribute {TOPIC!r}"
    return topic, ""
