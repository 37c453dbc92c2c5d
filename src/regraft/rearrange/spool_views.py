"""What a broker sees of the traffic, read from telemetry spools as they grow (OCBR §3.1).

A publication shows itself to a broker on the sides from which it comes and to which it goes: neighbours by
hops, the broker itself by what its own clients publish and receive. Those sides are the members of the
class as the broker perceives it; what lies behind a neighbour it does not know, and need not.

The sender records a hop. So the sides of a broker are found in its own spool and in those of its neighbours.
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
    """Of one publication at one broker: when it was seen first, on which sides, for how many it stands."""

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

        What has a side that is no neighbour now has passed before the links changed, and is left out.
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
        """How far each file has been read, by its name when it is finished."""

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
        except FileNotFoundError:  # finished, and so renamed, or tidied away: the next time
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read[name] = start + len(whole)
        for line in whole.splitlines():
            try:
                yield _decode(line)
            except msgspec.DecodeError:  # `regraft measure` reports what is broken
                continue
