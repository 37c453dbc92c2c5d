"""Makes telemetry records of what happens in a broker.

The event loop hands over batches of the core's facts as they are; cutting them into records, sampling and
reading attributes is done by the thread that writes them.
"""

import resource
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from regraft.broker.core import Store
from regraft.broker.core.forwarding import Fact
from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.round_trips import Probing
from regraft.broker.io.spool import Spool
from regraft.protocol import events
from regraft.protocol.messages import Run
from regraft.protocol.sampling import sample
from regraft.protocol.telemetry import (
    Delivery,
    Health,
    Hop,
    Interest,
    InterestChange,
    Publication,
    Record,
    Role,
)

if TYPE_CHECKING:
    from regraft.broker.io.server import BrokerServer

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE = resource.getpagesize()
SESSION = "session/"
"""How the key of a stored session begins; brokers of a mesh remember their links as well."""


class _Filters(msgspec.Struct, array_like=True):
    """The first fields of a stored session, on a tree and in a mesh alike."""

    advertisements: dict[str, str]
    subscriptions: dict[str, str]


_decode = msgspec.msgpack.Decoder(_Filters).decode


class SeenFact(NamedTuple):
    """A fact, when it was seen (microseconds since the epoch) and how much the broker held then."""

    at: int
    held: int
    fact: Fact


class Observer:
    """Collects the records of one broker."""

    def __init__(self, broker: str, telemetry: Telemetry, probing: Probing) -> None:
        self.broker = broker
        self.telemetry = telemetry
        self.probing = probing
        self.one_in = telemetry.one_in if telemetry.mode == "sampled" else 1
        self._stands_for = self.one_in if self.one_in > 1 else msgspec.UNSET
        self.spool: Spool[SeenFact | Record] = Spool(file_name(broker), telemetry, self._records)
        self._filters: dict[str, set[tuple[Role, str]]] = {}
        self._last = 0
        """The time of the last record."""
        self._counts = (time.monotonic(), 0, 0)

    def facts(self, facts: Sequence[Fact], held: int) -> None:
        at = time.time_ns() // 1000
        weight = sum(len(fact.run.seqs) for fact in facts)
        self.spool.offer([SeenFact(at, held, fact) for fact in facts], weight)

    def known(self, stored: dict[str, bytes]) -> None:
        """The sessions of the previous life. Their interest is recorded again, because a crash may have taken
        the records; what is recorded twice counts from the first time."""
        self.stores(Store(key, value) for key, value in stored.items())

    def stores(self, stores: Iterable[Store]) -> None:
        """Record the filters that clients have added and removed, from what is stored of their sessions."""
        records: list[Interest] = []
        for store in stores:
            if not store.key.startswith(SESSION):
                continue
            before = self._filters.get(store.key, set())
            now = _filters(store.value) if store.value is not None else set()
            if store.value is None:
                self._filters.pop(store.key, None)
            else:
                self._filters[store.key] = now
            client = store.key.removeprefix(SESSION)
            records += [self._interest(client, *each, "added") for each in sorted(now - before)]
            records += [self._interest(client, *each, "removed") for each in sorted(before - now)]
        self.spool.add_interest(records)

    def health(self, server: "BrokerServer", under: str | None = None) -> None:
        """`under`: the change of links in which the broker's part begins or ends now."""
        core, counters = server.core, server.counters
        assert core is not None
        now, (before, came, left) = time.monotonic(), self._counts
        seconds = max(now - before, 1e-6)
        self._counts = (now, counters.publications_in, counters.messages_out)
        seen, measured = core.inspect(), self.probing.take(server.connections.values())
        record = Health(
            at=self._time(time.time_ns() // 1000),
            broker=self.broker,
            cpu=time.process_time(),
            memory=_memory(),
            queue=seen.held_bytes,
            rates={
                "publications_in": round((counters.publications_in - came) / seconds, 3),
                "messages_out": round((counters.messages_out - left) / seconds, 3),
            },
            links=seen.links,
            round_trips=measured.round_trips,
            delivery_rates=measured.delivery_rates,
            not_recorded=self.spool.not_recorded,
            transformation=under,
        )
        self.spool.offer([record], 1)
        if under is None:  # a change of links makes more records, but no more probes
            self.probing.probe()

    def close(self) -> None:
        self.spool.close()

    # In the telemetry thread

    def _records(self, batch: Sequence[SeenFact | Record]) -> Iterator[Record]:
        for each in batch:
            if isinstance(each, Record):
                yield each
            else:
                yield from self._of_fact(each)

    def _of_fact(self, seen: SeenFact) -> Iterator[Record]:
        kind, run, _, to, under = seen.fact
        broker = self.broker
        # In a mesh streams are named `client#life/topic`; the publisher is what stands before the slash.
        publisher = run.publisher.partition("/")[0]
        for seq, event in self._kept(publisher, run):
            at = self._time(seen.at)
            if kind == "publication":
                yield self._publication(at, publisher, seq, event)
            elif kind == "hop":
                yield Hop(
                    at=at,
                    broker=broker,
                    publisher=publisher,
                    seq=seq,
                    from_=broker,
                    to=to,
                    queue=seen.held,
                    transformation=under,
                    one_in=self._stands_for,
                )
            else:
                latency = seen.at - run.at
                subscriber = to.removeprefix("@")
                yield Delivery(
                    at=at,
                    broker=broker,
                    publisher=publisher,
                    seq=seq,
                    subscriber=subscriber,
                    latency=latency,
                    one_in=self._stands_for,
                )

    def _kept(self, publisher: str, run: Run) -> Iterable[tuple[int, bytes]]:
        pairs = zip(run.seqs, run.events, strict=True)
        if self.one_in <= 1:
            return pairs
        in_sample = sample(publisher, self.one_in)
        return (pair for pair in pairs if in_sample(pair[0]))

    def _publication(self, at: datetime, publisher: str, seq: int, event: bytes) -> Publication:
        try:
            attributes = events.attributes(event)
        except events.NotAnEvent:
            attributes = {}
        topic = attributes.get("topic")
        return Publication(
            at=at,
            broker=self.broker,
            publisher=publisher,
            seq=seq,
            topic=topic if isinstance(topic, str) else None,
            numbers={
                key: value
                for key, value in attributes.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            },
            strings={key: value for key, value in attributes.items() if isinstance(value, str)},
            size=len(event),
            one_in=self._stands_for,
        )

    def _interest(self, client: str, role: Role, filter: str, change: InterestChange) -> Interest:
        at = self._time(time.time_ns() // 1000)
        return Interest(at=at, broker=self.broker, client=client, role=role, filter=filter, change=change)

    def _time(self, microseconds: int) -> datetime:
        """A time that no other record has, as early as possible."""
        self._last = max(self._last + 1, microseconds)
        return _EPOCH + timedelta(microseconds=self._last)


def file_name(broker: str) -> str:
    """A broker's id as a part of file names."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):x}" for c in broker)


def _filters(value: bytes) -> set[tuple[Role, str]]:
    stored = _decode(value)
    filters: set[tuple[Role, str]] = {("publisher", text) for text in stored.advertisements.values()}
    return filters | {("subscriber", text) for text in stored.subscriptions.values()}


def _memory() -> int:
    """Bytes in use by the process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
