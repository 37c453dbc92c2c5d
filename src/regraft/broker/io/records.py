"""The telemetry records (DESIGN §5), as they stand in the spool: one JSON object on a line."""

from datetime import datetime
from typing import Literal

import msgspec

SCHEMA = 1


class Record(msgspec.Struct, tag_field="kind", frozen=True, gc=False, kw_only=True):
    """`at` is UTC; a broker never gives the same time twice, so equal records are one record."""

    v: int = SCHEMA
    at: datetime
    broker: str


class Sampled(Record, frozen=True, gc=False, kw_only=True):
    """`one_in`: the record stands for so many; it is left out where every publication is recorded."""

    one_in: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def stands_for(self) -> int:
        return 1 if self.one_in is msgspec.UNSET else self.one_in


class Publication(Sampled, tag="publication", frozen=True, gc=False, kw_only=True):
    """At the broker of the publisher."""

    publisher: str
    seq: int
    topic: str | None
    numbers: dict[str, float]
    strings: dict[str, str]
    size: int


class Hop(Sampled, tag="hop", frozen=True, gc=False, kw_only=True):
    """`from` this broker to a neighbour; `queue` is what the broker held then, in bytes.

    `transformation` is the id of the change of links that held the publication up, or sent it again."""

    publisher: str
    seq: int
    from_: str = msgspec.field(name="from")
    to: str
    queue: int
    transformation: str | None = None


class Delivery(Sampled, tag="delivery", frozen=True, gc=False, kw_only=True):
    """A subscriber has confirmed; `latency` in microseconds since its run was published."""

    publisher: str
    seq: int
    subscriber: str
    latency: int


class Interest(Record, tag="interest", frozen=True, gc=False, kw_only=True):
    client: str
    role: Literal["publisher", "subscriber"]
    filter: str
    change: Literal["added", "removed"]


class Health(Record, tag="health", frozen=True, gc=False, kw_only=True):
    """`cpu` in seconds and `memory` in bytes are those of the process; `rates` count since the last one.

    A broker also writes one when it begins to take part in a change of links and when its part is over; then
    `transformation` is the id of the change."""

    cpu: float
    memory: int
    queue: int
    rates: dict[str, float]
    links: dict[str, str]
    not_recorded: int
    transformation: str | None = None
