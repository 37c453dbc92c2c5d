"""What a broker sees of the traffic, read from telemetry spools as they grow (OCBR §3.1).

A broker sees from which sides a publication comes and to which sides it goes. A side is a neighbour, if
there is a hop from or to it, or the broker itself, if its own clients publish or receive. These sides are
the members of the traffic class as the broker perceives it; it need not know what lies behind a neighbour.

The sender records a hop, so the sides of a broker are found in its own spool and in those of its neighbours.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from regraft.broker.io.spool import DONE, OPEN
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.protocol.telemetry import AnyRecord, Delivery, Hop, Publication

_decode = msgspec.json.Decoder(AnyRecord).decode


class Sighting(NamedTuple):
    """One publication at one broker: when it was first seen, on which sides, and how many it stands for.

    With sampled telemetry one recorded publication stands for `one_in`.
    """

    first: datetime
    sides: frozenset[str]
    one_in: int = 1


class Sightings:
    """What has passed these brokers lately."""

    def __init__(self, brokers: Iterable[str]) -> None:
        self._seen: dict[str, dict[tuple[str, int], Sighting]] = {id: {} for id in brokers}

    def add(self, record: AnyRecord) -> None:
        if isinstance(record, Hop):
            self._note(record.from_, record, record.to)
            self._note(record.to, record, record.from_)
        elif isinstance(record, Publication | Delivery):
            self._note(record.broker, record, record.broker)

    def forget(self, broker: str, before: datetime) -> None:
        self._seen[broker] = {key: each for key, each in self._seen[broker].items() if each.first >= before}

    def view(self, broker: str, near: frozenset[str], since: datetime, until: datetime) -> Traffic:
        """Classes among the broker and its neighbours, of publications first seen in that time.

        A publication with a side that is not a neighbour now passed before the links changed, and is left
        out.
        """
        around = near | {broker}
        return merged(
            TrafficClass(sides, float(one_in))
            for first, sides, one_in in self._seen[broker].values()
            if since <= first < until and len(sides) > 1 and sides <= around
        )

    def _note(self, broker: str, record: Publication | Hop | Delivery, side: str) -> None:
        if (seen := self._seen.get(broker)) is None:
            return
        key = (record.publisher, record.seq)
        first, sides, _ = seen.get(key, Sighting(record.at, frozenset()))
        seen[key] = Sighting(min(first, record.at), sides | {side}, record.stands_for)


class Spools:
    """The records of a folder of spools, each once: `new` yields those since the last time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}
        """How much of each file has been read. Keys have no suffix: a complete file is renamed."""

    def new(self) -> Iterator[AnyRecord]:
        for path in sorted((*self._folder.glob(f"*{DONE}"), *self._folder.glob(f"*{OPEN}"))):
            yield from self._of_file(path)

    def _of_file(self, path: Path) -> Iterator[AnyRecord]:
        name = path.name.removesuffix(OPEN).removesuffix(DONE)
        start = self._read.get(name, 0)
        try:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read()
        except FileNotFoundError:  # renamed because it is complete, or deleted: look again next time
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read[name] = start + len(whole)
        for line in whole.splitlines():
            try:
                yield _decode(line)
            except msgspec.DecodeError:  # `regraft measure` reports invalid records
                continue
