"""Gathers what a broker has seen in an open segment. In the telemetry thread."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from regraft.broker.core.forwarding import Fact
from regraft.broker.io.counting import Sampled, Trace, attributes, publisher_of
from regraft.protocol.telemetry import Health, Interest, InterestChange, Role
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


Batch: TypeAlias = SeenFacts | Sampled | InFull | Health


def gather(broker: str, into: OpenSegment, batch: Batch) -> int:
    """How many records do not fit into the columns of a segment."""
    if type(batch) is SeenFacts:
        return _gather_facts(into, batch)
    if type(batch) is Sampled:
        into.count(batch.counts, batch.at)
        for trace in batch.traces:
            _gather(into, trace)
    elif isinstance(batch, Health):
        into.records([batch])
    elif isinstance(batch, InFull):
        records: list[Interest] = []
        for client, filters in batch.filters.items():
            records += interest_records(batch.at + len(records), broker, client, filters, "added")
        into.records(records)
    return 0


def _gather_facts(into: OpenSegment, batch: SeenFacts) -> int:
    at, failed = batch.at, 0
    for fact in batch.facts:
        run, to = fact.run, fact.to.removeprefix("@")
        number = batch.seen - run.at if fact.kind == "delivery" else batch.held
        try:
            told = publisher_of(fact), run.seqs, run.events, to, number, fact.under
            _gather(into, Trace(at, fact.kind, *told))
        except OverflowError:  # a client may send any number
            failed += len(run.seqs)
        at += len(run.seqs)
    return failed


def _gather(into: OpenSegment, trace: Trace) -> None:
    at, kind, publisher, seqs, contents, to, number, under = trace
    if kind == "publication":
        into.publications(at, publisher, seqs, map(attributes, contents), map(len, contents))
    elif kind == "hop":
        into.hops(at, publisher, seqs, to, number, under)
    else:
        into.deliveries(at, publisher, seqs, to, number)


def interest_records(
    at: int, broker: str, client: str, filters: Filters, change: InterestChange
) -> Iterable[Interest]:
    for number, (role, filter) in enumerate(sorted(filters)):
        yield Interest(at=at + number, broker=broker, client=client, role=role, filter=filter, change=change)
