"""Counts what a broker sees, and picks a sample of it. In the event loop, which so hands over little.

A run of publications costs a few look-ups, however long it is; a thread that did the same would need the
interpreter for it as long, and a place in a queue for each run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from regraft.broker.core.forwarding import Fact
from regraft.protocol import events
from regraft.protocol.sampling import sample
from regraft.segments.columns import LARGEST
from regraft.segments.counting import Counts


class Trace(NamedTuple):
    """Publications of a fact that are recorded. The first record of them has the time `at`; `number` is
    how much the broker held at a hop, the latency of a delivery."""

    at: int
    kind: str
    publisher: str
    seqs: Sequence[int]
    events: Sequence[bytes]
    to: str
    number: int
    under: str | None


class Sampled(NamedTuple):
    """What was seen for a while: `counts` of all of it, and the sample of one in so many. The counts have the
    time `at`."""

    at: int
    one_in: int
    counts: Counts
    traces: Sequence[Trace]

    @property
    def weight(self) -> int:
        """How many records it may become."""
        return len(self.counts) + sum([len(trace.seqs) for trace in self.traces])


class Counting:
    """Of one broker, for as long as the sample is one in so many."""

    def __init__(self, one_in: int, times: Callable[[int, int], int]) -> None:
        """`times`: see `Observer`."""
        self.one_in = one_in
        self._times = times
        self._sample = sample(one_in)
        self._counts = Counts()
        self._traces: list[Trace] = []
        self._head = b""
        """How the event that was looked at last begins."""
        self._topic: str | None = None
        """The topic of that event."""

    def add(self, facts: Sequence[Fact], now: int, held: int) -> int:
        """How many records do not fit into the columns of a segment."""
        failed = 0
        for fact in facts:
            seqs = fact.run.seqs
            try:
                if seqs[-1] > LARGEST:
                    raise OverflowError("the number of a publication has more than 64 bits")
                publisher = publisher_of(fact)
                self._count(fact, publisher, now, held)
                if places := self._sample(publisher, seqs):
                    self._traces.append(self._trace(fact, publisher, places, now, held))
            except OverflowError:  # a client may send any number
                failed += len(seqs)
        return failed

    def take(self, now: int) -> Sampled | None:
        """What there is since the last time; None: nothing."""
        if not len(self._counts):
            return None
        taken = Sampled(self._times(now, 1), self.one_in, self._counts, self._traces)
        self._counts, self._traces = Counts(), []
        return taken

    def _trace(self, fact: Fact, publisher: str, places: list[int], now: int, held: int) -> Trace:
        """Not the fact itself, which would keep all events of its run."""
        run, kind = fact.run, fact.kind
        contents = [run.events[place] for place in places] if kind == "publication" else []
        number = now - run.at if kind == "delivery" else held
        seqs, at = [run.seqs[place] for place in places], self._times(now, len(places))
        return Trace(at, kind, publisher, seqs, contents, fact.to.removeprefix("@"), number, fact.under)

    def _count(self, fact: Fact, publisher: str, now: int, held: int) -> None:
        run, counts = fact.run, self._counts
        if fact.kind == "delivery":
            latency = now - run.at
            counts.deliveries(run.at, len(run.seqs), publisher, fact.to.removeprefix("@"), latency)
        elif fact.kind == "hop":
            counts.hops(now, len(run.seqs), fact.to, held, fact.under)
        elif fact.alike:
            counts.publications(now, len(run.seqs), publisher, self._topic_of(run.events[0]), fact.size)
        else:
            for event in run.events:
                counts.publications(now, 1, publisher, self._topic_of(event), len(event))

    def _topic_of(self, event: bytes) -> str | None:
        """Most events have the same attributes as the one before them: then their first bytes are equal."""
        if not self._head or not event.startswith(self._head):
            topic = attributes(event).get("topic")
            self._topic = topic if isinstance(topic, str) else None
            try:
                self._head = events.head(event)
            except events.NotAnEvent:
                self._head = b""
        return self._topic


def publisher_of(fact: Fact) -> str:
    """In a mesh streams are named `client#life/topic`; the publisher is what stands before the slash."""
    return fact.run.publisher.partition("/")[0]


def attributes(event: bytes) -> Mapping[str, events.Value]:
    try:
        return events.attributes(event)
    except events.NotAnEvent:
        return {}
