"""Telemetry records: what brokers write into their segments, one row each.

This is the only definition. Brokers fill these structs; readers derive their columns, the fields that they
require, their limits and the allowed words from them (`record_fields`). So the module must
not know Spark, Arrow or files, and it reads no clock: `at` is filled in by the broker.

A reader accepts more than brokers write, because it also meets records of other versions and other writers.
What it may rely on is written in `extra`, which describes a field and does not validate it: a broker whose
clock was set back records a negative latency, and it is the reader that rejects the record.

| `extra` | meaning |
|---|---|
| `least` | a smaller number is rejected |
| `most` | a larger number is rejected |
| `required` | False: brokers always write the field, and readers do without it |
| `bits` | 32: the number is stored in 32 bits, not 64 |
| `time` | True: microseconds since 1970 (UTC), stored as a time |

A field that may be null or has a default is never required. Fields keep their order in every derived schema.
"""

from typing import Annotated, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

RECORD_VERSION = 1
"""The version of these records. Readers take newer ones as far as they understand them."""

Role: TypeAlias = Literal["publisher", "subscriber"]
InterestChange: TypeAlias = Literal["added", "removed"]
CountOf: TypeAlias = Literal["publication", "hop", "delivery", "latency"]
Time: TypeAlias = Annotated[int, Meta(extra={"time": True})]
Count: TypeAlias = Annotated[int, Meta(extra={"least": 0})]
Amount: TypeAlias = Annotated[int, Meta(extra={"least": 0, "most": 2**53})]
"""A count that is added up: 1,024 of the largest still are a whole number of 64 bits."""
OneIn: TypeAlias = Annotated[int, Meta(extra={"least": 1, "most": 2**21})]
Numbers: TypeAlias = Annotated[dict[str, float], Meta(extra={"required": False})]
Texts: TypeAlias = Annotated[dict[str, str], Meta(extra={"required": False})]


class Record(msgspec.Struct, tag_field="kind", frozen=True, gc=False, kw_only=True):
    """A broker never gives the same time twice, so equal records are one record."""

    v: Annotated[int, Meta(extra={"bits": 32})] = RECORD_VERSION
    at: Time
    broker: str


class Sampled(Record, frozen=True, gc=False, kw_only=True):
    """Where only a sample of publications is recorded, `one_in` says how many the record stands for, and all
    of them are counted besides (`Counted`). It is left out where every publication is recorded."""

    one_in: OneIn | msgspec.UnsetType = msgspec.UNSET


class Publication(Sampled, tag="publication", frozen=True, gc=False, kw_only=True):
    """Written by the broker of the publisher."""

    publisher: str
    seq: Count
    topic: str | None
    numbers: Numbers
    strings: Texts
    size: Amount


class Hop(Sampled, tag="hop", frozen=True, gc=False, kw_only=True):
    """`from` this broker to a neighbour; `queue` is what the broker held then, in bytes.

    `transformation` is the id of the change of links that held the publication up, or sent it again."""

    publisher: str
    seq: Count
    from_: str = msgspec.field(name="from")
    to: str
    queue: Amount
    transformation: str | None = None


class Delivery(Sampled, tag="delivery", frozen=True, gc=False, kw_only=True):
    """A subscriber has confirmed; `latency` in microseconds since its run was published."""

    publisher: str
    seq: Count
    subscriber: str
    latency: Amount


class Interest(Record, tag="interest", frozen=True, gc=False, kw_only=True):
    client: str
    role: Role
    filter: str
    change: InterestChange


class Health(Record, tag="health", frozen=True, gc=False, kw_only=True):
    """`cpu` in seconds and `memory` in bytes are those of the process; `rates` count since the last one.

    `round_trips` to other brokers in microseconds: to neighbours, and to those that were probed since the
    last one. `delivery_rates` of links to neighbours in bytes a second, as far as they are known.

    A broker also writes one when it begins to take part in a change of links and when its part is over; then
    `transformation` is the id of the change."""

    cpu: float
    memory: Count
    queue: Amount
    rates: Numbers
    links: Texts
    round_trips: Numbers
    delivery_rates: Numbers
    not_recorded: Annotated[int, Meta(extra={"required": False})]
    transformation: str | None = None


class Counted(Record, tag="count", frozen=True, gc=False, kw_only=True):
    """How many there were of what a broker records only a sample of. Each is told once, so they add up.

    | `of` | counted by | besides |
    |---|---|---|
    | publication | publisher, topic | `size`: their bytes |
    | hop | `from` (this broker), `to`, `transformation` | `queue`: the largest |
    | delivery | publisher, subscriber | |
    | latency | `bucket` (`latency_buckets`) | `latency`: the sum; `largest` |

    All are counted by the second: `since` is its beginning. As in windows, a delivery counts when its
    publication was made, and everything else when it happened. `one_in` is the sample that was recorded of
    them. `seq` tells counts with the same `at` apart."""

    of: CountOf
    seq: Count
    since: Time
    count: Amount
    one_in: OneIn
    publisher: str | None = None
    topic: str | None = None
    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    transformation: str | None = None
    subscriber: str | None = None
    bucket: Annotated[int, Meta(extra={"least": 0, "most": 4400})] | None = None
    size: Amount | None = None
    queue: Amount | None = None
    latency: Amount | None = None
    largest: Amount | None = None


SECOND = 1_000_000
"""What is counted together, in microseconds."""

AnyRecord: TypeAlias = Publication | Hop | Delivery | Interest | Health | Counted
TRACES = ("publication", "hop", "delivery")
"""The kinds of records that are each about one publication: those of a sample, where there is one."""
KINDS: tuple[type[Record], ...] = get_args(AnyRecord)
"""The structs of all kinds, in the order in which derived schemas list their fields."""
