"""Makes telemetry records of what happens in a broker.

While all is recorded, the event loop hands over the core's facts as they are, with times for their records,
and the rest is done by the thread that writes them (`gathering`). What is sampled is counted, and its sample
picked, in the event loop (`counting`).
"""

import resource
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from regraft.broker.core import Store
from regraft.broker.core.forwarding import Fact
from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.counting import Counting
from regraft.broker.io.gathering import Batch, Filters, InFull, SeenFacts, gather, interest_records
from regraft.broker.io.round_trips import Probing
from regraft.broker.io.segment_writer import SegmentWriter
from regraft.protocol.telemetry import Health, Interest, InterestChange, Role

if TYPE_CHECKING:
    from regraft.broker.io.server import BrokerServer

_PAGE = resource.getpagesize()
SESSION = "session/"
"""How the key of a stored session begins; brokers of a mesh remember their links as well."""


class _Stored(msgspec.Struct, array_like=True):
    """The first fields of a stored session, on a tree and in a mesh alike."""

    advertisements: dict[str, str]
    subscriptions: dict[str, str]


_decode = msgspec.msgpack.Decoder(_Stored).decode


class Observer:
    """Collects the records of one broker. The event loop gives out their times."""

    def __init__(self, broker: str, telemetry: Telemetry, probing: Probing) -> None:
        self.broker = broker
        self.telemetry = telemetry
        self.probing = probing
        self.writer: SegmentWriter[Batch] = SegmentWriter(broker, telemetry, partial(gather, broker))
        self._counting = Counting(1, self._times)
        """In use while the sample is not everything."""
        self._filters: dict[str, Filters] = {}
        self._last = 0
        """The time of the last record."""
        self._counts = (time.monotonic(), 0, 0)
        self._told = time.monotonic()
        """When interest was told in full."""

    def facts(self, facts: Sequence[Fact], held: int) -> None:
        now, one_in = time.time_ns() // 1000, self.writer.one_in
        if one_in != self._counting.one_in:
            self.flush()
            self._counting = Counting(one_in, self._times)
        if one_in > 1:
            self.writer.refused(self._counting.add(facts, now, held))
        else:
            weight = sum([len(fact.run.seqs) for fact in facts])
            self.writer.offer(SeenFacts(self._times(now, weight), now, held, facts), weight, 1)

    def flush(self) -> None:
        """Hand over what was counted since the last time."""
        if (taken := self._counting.take(time.time_ns() // 1000)) is not None:
            self.writer.offer(taken, taken.weight, taken.one_in)

    def known(self, stored: Mapping[str, bytes]) -> None:
        """The sessions of the previous life. Their interest is recorded again, because a crash may have taken
        the records; what is recorded twice counts from the first time."""
        self.stores(Store(key, value) for key, value in stored.items())

    def stores(self, stores: Iterable[Store]) -> None:
        """Record the filters that clients have added and removed, from what is stored of their sessions."""
        records: list[Interest] = []
        for store in stores:
            if not store.key.startswith(SESSION):
                continue
            client = store.key.removeprefix(SESSION)
            before = self._filters.pop(client, Filters())
            now = _filters(store.value) if store.value is not None else Filters()
            if store.value is not None:
                self._filters[client] = now
            records += self._interest(client, now - before, "added")
            records += self._interest(client, before - now, "removed")
        if records:
            self.flush()  # segments of a broker follow each other in time only if nothing is overtaken
            self.writer.add_interest(records)

    def health(self, server: "BrokerServer", under: str | None = None) -> None:
        """`under`: the change of links in which the broker's part begins or ends now."""
        self.flush()
        core, counters = server.core, server.counters
        assert core is not None
        now, (before, came, left) = time.monotonic(), self._counts
        seconds = max(now - before, 1e-6)
        self._counts = (now, counters.publications_in, counters.messages_out)
        seen, measured = core.inspect(), self.probing.take(server.connections.values())
        record = Health(
            at=self._times(time.time_ns() // 1000, 1),
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
            not_recorded=self.writer.not_recorded,
            transformation=under,
        )
        self.writer.offer(record, 1)
        if under is None:  # a change of links makes more records, but no more probes
            self.probing.probe()
        if now - self._told >= self.telemetry.interest_seconds:
            self._told = now
            self._tell_in_full()

    def close(self) -> None:
        """In another thread, after `flush`."""
        self.writer.close()

    def _tell_in_full(self) -> None:
        """Tell all current interest again, so that a reader that begins now knows it soon."""
        filters = dict(self._filters)
        at = self._times(time.time_ns() // 1000, sum(map(len, filters.values())))
        self.writer.offer_latest(InFull(at, filters))

    def _interest(self, client: str, filters: Filters, change: InterestChange) -> list[Interest]:
        at = self._times(time.time_ns() // 1000, len(filters))
        return list(interest_records(at, self.broker, client, filters, change))

    def _times(self, now: int, count: int) -> int:
        """The first of so many consecutive times that no other record has, as early as possible."""
        first = max(self._last + 1, now)
        self._last = first + count - 1
        return first


def _filters(value: bytes) -> Filters:
    stored = _decode(value)
    filters: set[tuple[Role, str]] = {("publisher", text) for text in stored.advertisements.values()}
    return Filters(filters | {("subscriber", text) for text in stored.subscriptions.values()})


def _memory() -> int:
    """Bytes in use by the process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
