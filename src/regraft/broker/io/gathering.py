"""Gathers what a broker has seen in an open segment: samples, counts, reads. In the telemetry thread."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from regraft.broker.core.forwarding import Fact
from regraft.protocol import events
from regraft.protocol.messages import Run
from regraft.protocol.sampling import sample
from regraft.protocol.telemetry import Health, Interest, InterestChange, Role
from regraft.segments.columns import LARGEST
from regraft.segments.writing import OpenSegment

Filters: TypeAlias = frozenset[tuple[Role, str]]
"""Of one client."""


class SeenFacts(NamedTuple):
    """Facts that were seen at the same time, and how much the broker held then. The first record of them has
    the time `at`. In microseconds since 1970."""

    at: int
    seen: int
    held: int
    facts: Sequence[Fact]


class InFull(NamedTuple):
    """The filters of all clients; the first record of them has the time `at`."""

    at: int
    filters: Mapping[str, Filters]


Batch: TypeAlias = SeenFacts | InFull | Health


class Gathering:
    """Of one broker."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._sampled, self._sample = 1, sample(1)
        """One publication in so many is recorded; which ones."""
        self._run: Run | None = None
        self._places: list[int] = []
        """The run that was looked at last, and its places that are in the sample."""
        self._head = b""
        """How the event that was looked at last begins."""
        self._topic: str | None = None
        """The topic of that event."""

    def gather(self, into: OpenSegment, batch: Batch) -> int:
        """How many records do not fit into the columns of a segment."""
        if type(batch) is SeenFacts:
            return self._gather_facts(into, batch)
        if isinstance(batch, Health):
            into.records([batch])
        elif isinstance(batch, InFull):
            records: list[Interest] = []
            for client, filters in batch.filters.items():
                records += interest_records(batch.at + len(records), self._broker, client, filters, "added")
            into.records(records)
        return 0

    def _gather_facts(self, into: OpenSegment, batch: SeenFacts) -> int:
        at, failed = batch.at, 0
        for fact in batch.facts:
            run = fact.run
            # In a mesh streams are named `client#life/topic`; the publisher is what stands before the slash.
            publisher = run.publisher.partition("/")[0]
            seqs, contents = run.seqs, run.events
            try:
                if into.one_in > 1:
                    if seqs[-1] > LARGEST:
                        raise OverflowError("the number of a publication has more than 64 bits")
                    self._count(into, at, publisher, fact, batch)
                    places = self._recorded(into.one_in, publisher, run)
                    seqs, contents = [seqs[place] for place in places], [contents[place] for place in places]
                if fact.kind == "publication" and seqs:
                    into.publications(at, publisher, seqs, map(_attributes, contents), map(len, contents))
                elif fact.kind == "hop" and seqs:
                    into.hops(at, publisher, seqs, fact.to, batch.held, fact.under)
                elif seqs:
                    into.deliveries(at, publisher, seqs, fact.to.removeprefix("@"), batch.seen - run.at)
            except OverflowError:  # a client may send any number
                failed += len(run.seqs)
            at += len(run.seqs)
        return failed

    def _recorded(self, one_in: int, publisher: str, run: Run) -> list[int]:
        """The places of the run that are in the sample. A run is met again with each hop and delivery."""
        if self._sampled != one_in:
            self._sampled, self._sample, self._run = one_in, sample(one_in), None
        if run is not self._run:
            self._run, self._places = run, self._sample(publisher, run.seqs)
        return self._places

    def _count(self, into: OpenSegment, at: int, publisher: str, fact: Fact, batch: SeenFacts) -> None:
        run, counts = fact.run, into.counts
        into.latest = max(into.latest, at)
        if fact.kind == "publication":
            if fact.alike:
                topic = self._topic_of(run.events[0])
                counts.publications(at, len(run.seqs), publisher, topic, fact.size)
            else:
                for event in run.events:
                    counts.publications(at, 1, publisher, self._topic_of(event), len(event))
        elif fact.kind == "hop":
            counts.hops(at, len(run.seqs), fact.to, batch.held, fact.under)
        else:
            latency = batch.seen - run.at
            counts.deliveries(run.at, len(run.seqs), publisher, fact.to.removeprefix("@"), latency)

    def _topic_of(self, event: bytes) -> str | None:
        """Most events have the same attributes as the one before them: then their first bytes are equal."""
        if not self._head or not event.startswith(self._head):
            topic = _attributes(event).get("topic")
            self._topic = topic if isinstance(topic, str) else None
            try:
                self._head = events.head(event)
            except events.NotAnEvent:
                self._head = b""
        return self._topic


def interest_records(
    at: int, broker: str, client: str, filters: Filters, change: InterestChange
) -> Iterable[Interest]:
    for number, (role, filter) in enumerate(sorted(filters)):
        yield Interest(at=at + number, broker=broker, client=client, role=role, filter=filter, change=change)


def _attributes(event: bytes) -> Mapping[str, events.Value]:
    try:
        return events.attributes(event)
    except events.NotAnEvent:
        return {}
