"""What a broker sees of the traffic, read from telemetry as segments come (OCBR §3.1).

A broker sees from which sides a publication comes and to which sides it goes. A side is a neighbour, if
there is a hop from or to it, or the broker itself, if its own clients publish or receive. These sides are
the members of the traffic class as the broker perceives it; it need not know what lies behind a neighbour.

The sender records a hop, so the sides of a broker are found in its own segments and in those of its
neighbours.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from regraft.model.store import Store
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.protocol.sampling import chosen
from regraft.protocol.telemetry import SECOND, AnyRecord, Counted, Delivery, Hop, Publication
from regraft.segments.listing import folders, last_name, names_after
from regraft.segments.names import SegmentName
from regraft.segments.reading import records_of

log = logging.getLogger("regraft.rearrange")


class Sighting(NamedTuple):
    """One publication at one broker: when it was first seen (in microseconds since 1970), and on which
    sides."""

    first: int
    sides: frozenset[str]


class Sightings:
    """What has passed these brokers lately."""

    def __init__(self, brokers: Iterable[str]) -> None:
        self._seen: dict[str, dict[tuple[str, int], Sighting]] = {id: {} for id in brokers}
        self._needed: dict[str, int] = dict.fromkeys(self._seen, 0)
        """What is older is forgotten, broker by broker."""
        self._rates: dict[int, int] = {}
        """Second → how many publications one stands for, by the coarsest sample that was recorded then."""

    def add(self, record: AnyRecord) -> None:
        if isinstance(record, Hop):
            self._note(record.from_, record, record.to)
            self._note(record.to, record, record.from_)
        elif isinstance(record, Publication | Delivery):
            self._note(record.broker, record, record.broker)
        elif isinstance(record, Counted):
            self._rates[record.since] = max(record.one_in, self._rates.get(record.since, 1))

    def forget(self, broker: str, before: int) -> None:
        self._needed[broker] = before
        oldest = min(self._needed.values()) - SECOND
        self._rates = {since: one_in for since, one_in in self._rates.items() if since > oldest}
        self._seen[broker] = {key: each for key, each in self._seen[broker].items() if each.first >= before}

    def view(self, broker: str, near: frozenset[str], since: int, until: int) -> Traffic:
        """Classes among the broker and its neighbours, of publications first seen in that time.

        A publication with a side that is not a neighbour now passed before the links changed, and is left
        out. Only what is in the coarsest sample was recorded by all brokers.
        """
        around = near | {broker}
        one_in = max([1, *(rate for at, rate in self._rates.items() if since - SECOND < at < until)])
        return merged(
            TrafficClass(sides, float(one_in))
            for (publisher, seq), (first, sides) in self._seen[broker].items()
            if since <= first < until and len(sides) > 1 and sides <= around
            if one_in == 1 or chosen(publisher, one_in, seq // one_in) == seq
        )

    def _note(self, broker: str, record: Publication | Hop | Delivery, side: str) -> None:
        if (seen := self._seen.get(broker)) is None:
            return
        key = (record.publisher, record.seq)
        first, sides = seen.get(key, Sighting(record.at, frozenset()))
        seen[key] = Sighting(min(first, record.at), sides | {side})


class Segments:
    """The records of a store, each once: `new` yields those of segments that came since the last time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, SegmentName | None] = {}
        """The last segment of each broker that has been read."""

    def skip(self) -> None:
        """What is in the store now will not be read."""
        for folder in folders(self._store):
            self._read[folder] = last_name(self._store, folder)

    def new(self) -> Iterator[AnyRecord]:
        """Broker by broker, in order. After a `StoreFault`, the next time continues where it came."""
        for folder in folders(self._store):
            for name in names_after(self._store, folder, self._read.get(folder)):
                records = self._records(name)
                self._read[folder] = name
                yield from records

    def _records(self, name: SegmentName) -> list[AnyRecord]:
        try:
            return list(records_of(self._store, name.path))
        except FileNotFoundError:  # removed meanwhile
            return []
        except (pa.ArrowException, ValueError, KeyError, OSError) as fault:
            log.warning("%s is left out: %s", self._store.at(name.path), fault)
            return []
