"""What brokers tell of traffic of which each records a sample of its own."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta

from tests.measure import oracle
from tests.measure.telemetry import START, Record

from regraft.protocol.latency_buckets import bucket_of
from regraft.protocol.sampling import chosen

TRACES = ("publication", "hop", "delivery")
Rate = Callable[[str, int], int]
"""Broker, microseconds since START → one publication in so many is recorded there and then."""
SECOND = 1_000_000


def in_sample(record: Record, one_in: int) -> bool:
    seq: int = record["seq"]
    return chosen(record["publisher"], one_in, seq // one_in) == seq


def told(truth: Iterable[Record], rate: Rate) -> list[Record]:
    """The records and the counts. A broker that records everything counts nothing."""
    found: list[Record] = []
    counts: Counter[tuple[tuple[str, object], ...]] = Counter()
    more: dict[tuple[tuple[str, object], ...], Counter[str]] = {}

    def count(record: Record, of: str, one_in: int, key: Record, sums: Record) -> None:
        since = oracle.window(record, SECOND)
        whole = tuple(
            ({"broker": record["broker"], "of": of, "since": since, "one_in": one_in} | key).items()
        )
        counts[whole] += 1
        held = more.setdefault(whole, Counter())
        for name, value in sums.items():
            held[name] = max(held[name], value) if name in ("queue", "largest") else held[name] + value

    for record in truth:
        one_in = rate(record["broker"], oracle.micros(record)) if record["kind"] in TRACES else 1
        if one_in == 1:
            found.append(record)
            continue
        if in_sample(record, one_in):
            found.append(record | {"one_in": one_in})
        if record["kind"] == "publication":
            key = {name: record[name] for name in ("publisher", "topic")}
            count(record, "publication", one_in, key, {"size": record["size"]})
        elif record["kind"] == "hop":
            key = {name: record[name] for name in ("from", "to", "transformation")}
            count(record, "hop", one_in, key, {"queue": record["queue"]})
        else:
            key = {name: record[name] for name in ("publisher", "subscriber")}
            count(record, "delivery", one_in, key, {})
            latency = record["latency"]
            sums = {"latency": latency, "largest": latency}
            count(record, "latency", one_in, {"bucket": bucket_of(latency)}, sums)
    end = max((record["at"] for record in found), default=START)
    for number, (whole, times) in enumerate(counts.items()):
        same = {"v": 1, "kind": "count", "at": end, "seq": number, "count": times}
        fields = dict(whole) | {"since": START + timedelta(microseconds=int(str(dict(whole)["since"])))}
        found.append(same | fields | dict(more[whole]))
    return found


ENDS = ("publication", "delivery", "latency")


def comparable(
    truth: Iterable[Record], records: Iterable[Record], width: int, kinds: tuple[str, ...] = ENDS
) -> list[Record]:
    """Of the publications and deliveries, those in the coarsest sample of each window in which something of
    these kinds is told, standing for as many."""
    coarsest: Counter[int] = Counter()
    for each in records:
        if each.get("of", each["kind"]) not in kinds:
            continue
        start = oracle.window(each, width)
        coarsest[start] = max(coarsest[start], oracle.stands_for(each))
    return [
        each | {"one_in": one_in}
        for each in oracle.of(truth, "publication", "delivery")
        if (one_in := coarsest[oracle.window(each, width)] or 1) == 1 or in_sample(each, one_in)
    ]
