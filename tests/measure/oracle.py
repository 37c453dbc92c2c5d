"""Every table computed again, in plain Python, as simply as possible, to check the transforms against.

Rows are tuples in the order of the columns, times in microseconds since the start of the tests."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest
from tests.measure.telemetry import START, WIDTH, Record

from regraft.filters import parse

Row = tuple[Any, ...]
BINS, CHOICES = 64, 32


def micros(record: Record) -> int:
    """Since START; times before it do not occur."""
    delta = record["at"] - START
    whole: int = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return whole


def window(record: Record, width: int) -> int:
    at = micros(record) - (record["latency"] if record["kind"] == "delivery" else 0)
    if record["kind"] == "count":
        at = micros({"at": record["since"]})
    return at - at % width


def of(records: Iterable[Record], *kinds: str) -> list[Record]:
    return [record for record in records if record["kind"] in kinds]


def stands_for(record: Record) -> int:
    return int(record.get("one_in") or 1)


def error(records: Iterable[Record]) -> float:
    """The standard error of how many publications there were, if each of these was in the sample with the
    probability 1/N and counts for N, with the variance N² (1 - 1/N)."""
    return math.sqrt(sum(stands_for(each) ** 2 * (1 - 1 / stands_for(each)) for each in records))


def traffic_classes(records: list[Record], width: int) -> list[Row]:
    members, delivered, demand = defaultdict(set), {}, Counter[Row]()
    published = defaultdict(list)
    for each in of(records, "publication", "delivery"):
        key = (window(each, width), each["publisher"], each["seq"])
        members[key].add(each["broker"])
        if each["kind"] == "delivery":
            delivered[key] = each
    for key, each in delivered.items():
        demand[key[0], tuple(sorted(members[key]))] += stands_for(each)
        published[key[0], tuple(sorted(members[key]))].append(each)
    return [(*key, count, 1, error(published[key])) for key, count in demand.items()]


def local_views(classes: list[Row], neighbours: dict[str, list[str]]) -> list[Row]:
    """Walks from each member to the broker, over the links of a tree."""

    def side(broker: str, member: str) -> str:
        if broker == member:
            return broker
        way = [[broker]]
        for path in way:
            if path[-1] == member:
                return path[1]
            way += [[*path, near] for near in neighbours[path[-1]] if near not in path]
        raise AssertionError(member)

    demand: Counter[Row] = Counter()
    variance: dict[Row, float] = defaultdict(float)
    for start, members, count, _, error in classes:
        for broker in neighbours:
            seen = {side(broker, member) for member in members}
            if len(seen) > 1 or seen == {broker}:
                demand[start, broker, tuple(sorted(seen))] += count
                variance[start, broker, tuple(sorted(seen))] += error**2
    return [(*key, count, math.sqrt(variance[key])) for key, count in demand.items()]


def interest(records: list[Record], width: int) -> list[Row]:
    changes = defaultdict(list)
    for each in of(records, "interest"):
        key = (each["broker"], each["client"], each["role"], each["filter"])
        changes[key].append((micros(each), each["change"]))
    found: list[Row] = []
    for key, all_of_it in changes.items():
        since: int | None = None
        held, first = False, True
        for at, change in sorted(all_of_it):
            if change == "added" and not held:
                since, held = at, True
            elif change == "removed" and (held or first):
                found += _held(key, since, at, width)
                since, held = None, False
            first = False
        if held:
            found += _held(key, since, None, width)
    return found


def _held(key: tuple[str, ...], since: int | None, until: int | None, width: int) -> list[Row]:
    begin = since if since is not None else until
    assert begin is not None
    topics: list[str | None] = [
        part.split("'")[1] for part in key[3].split(" AND ") if part.startswith("topic = ")
    ]
    return [(begin - begin % width, *key, topic, since, until) for topic in topics or [None]]


def topic_popularity(records: list[Record], width: int) -> list[Row]:
    reached = Counter(
        (window(each, width), each["publisher"], each["seq"]) for each in of(records, "delivery")
    )
    table: dict[Row, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for each in of(records, "publication"):
        start = window(each, width)
        count = reached[start, each["publisher"], each["seq"]]
        for place, more in enumerate((1, each["size"], count, int(count > 0))):
            table[start, each["topic"]][place] += more
    return [(*key, *numbers, 0.0) for key, numbers in table.items()]


def publisher_rates(records: list[Record], width: int) -> list[Row]:
    table: dict[Row, list[Record]] = defaultdict(list)
    for each in of(records, "publication"):
        table[window(each, width), each["publisher"], each["broker"]].append(each)
    found: list[Row] = []
    for key, mine in table.items():
        count, size = len(mine), sum(each["size"] for each in mine)
        found.append((*key, count, size, count / (width / 1e6)))
    return found


def overlap(records: list[Record], width: int) -> list[Row]:
    made, got = Counter[Row](), Counter[Row]()
    for each in of(records, "publication"):
        made[window(each, width), each["publisher"]] += 1
    for each in of(records, "delivery"):
        got[window(each, width), each["publisher"], each["subscriber"], each["broker"]] += 1
    shares = {key: count / made[key[:2]] if made[key[:2]] else None for key, count in got.items()}
    return [(*key, count, count / (width / 1e6), shares[key]) for key, count in got.items()]


def link_load(records: list[Record], width: int) -> list[Row]:
    hops, moved = Counter[Row](), Counter[Row]()
    for each in of(records, "hop"):
        key = (window(each, width), each["from"], each["to"])
        hops[key] += 1
        moved[key] += each["transformation"] is not None
    return [(*key, count, count / (width / 1e6), moved[key]) for key, count in hops.items()]


def link_costs(records: list[Record], width: int) -> list[Row]:
    trips: dict[Row, list[float]] = defaultdict(list)
    rates: dict[Row, list[float]] = defaultdict(list)
    up: set[Row] = set()
    for each in of(records, "health"):
        measured, borne = each.get("round_trips") or {}, each.get("delivery_rates") or {}
        for to in [to for to, trip in measured.items() if math.isfinite(trip) and trip > 0]:
            key = (window(each, width), each["broker"], to)
            trips[key].append(measured[to])
            if borne.get(to, math.nan) > 0:
                rates[key].append(borne[to])
            if each["links"].get(to) == "up":
                up.add(key)
    return [
        (*key, int(min(found)), int(max(rates[key])) if rates[key] else None, key in up)
        for key, found in trips.items()
    ]


def broker_load(records: list[Record], width: int) -> list[Row]:
    groups: dict[Row, list[Record]] = defaultdict(list)
    arriving: Counter[Row] = Counter()
    for each in records:
        if each["kind"] != "interest":
            groups[window(each, width), each["broker"]].append(each)
        if each["kind"] == "hop":
            arriving[window(each, width), each["to"]] += 1
    found = []
    for key in groups.keys() | arriving.keys():
        mine = groups.get(key, [])
        counts = [len(of(mine, kind)) for kind in ("publication", "hop", "delivery")]
        size = sum(each["size"] for each in of(mine, "publication"))
        rate = (sum(counts) + arriving[key]) / (width / 1e6)
        well = of(mine, "health")
        queues = [each["queue"] for each in of(mine, "hop", "health")]
        cpu, lost = ([each[name] for each in well] for name in ("cpu", "not_recorded"))
        fares = (
            max(cpu) - min(cpu) if well else None,
            max(each["memory"] for each in well) if well else None,
            max(queues) if queues else None,
            max(lost) - min(lost) if well else None,
        )
        found.append((*key, counts[0], size, arriving[key], counts[1], counts[2], rate, *fares))
    return found


def transformations(records: list[Record], width: int) -> list[Row]:
    found = []
    runs = [each | {"run": (each.get("transformation") or "").partition(":")[0]} for each in records]
    touched = [each for each in of(runs, "hop", "health") if each["transformation"] is not None]
    for key, under in _touched(touched, width, "run").items():
        hops, times = of(under, "hop"), [micros(each) for each in under]
        publications = {(hop["publisher"], hop["seq"]) for hop in hops}
        found.append((*key, min(times), max(times), len(hops), len(publications), 0.0))
    return found


def queue_growth(records: list[Record], width: int) -> list[Row]:
    found = []
    for (start, change, broker), under in _touched(records, width, "transformation", "broker").items():
        order = sorted((micros(each), each["queue"]) for each in under)
        key = (start, change.partition(":")[0], change, broker)
        found.append((*key, order[0][1], order[-1][1], order[-1][1] - order[0][1]))
    return found


def _touched(records: list[Record], width: int, *names: str) -> dict[Row, list[Record]]:
    groups: dict[Row, list[Record]] = defaultdict(list)
    for each in of(records, "hop", "health"):
        if each["transformation"] is not None:
            groups[window(each, width), *(each[name] for name in names)].append(each)
    return groups


def latencies(records: list[Record], width: int) -> dict[Row, list[int]]:
    """window, phase → all latencies in order."""
    touched = _touched(of(records, "hop"), width, "publisher", "seq")
    begun: dict[int, int] = {}
    for (start, *_), hops in touched.items():
        begun[start] = min([*map(micros, hops), *([begun[start]] if start in begun else [])])
    found: dict[Row, list[int]] = defaultdict(list)
    for each in of(records, "delivery"):
        start = window(each, width)
        phase = "untouched"
        if (start, each["publisher"], each["seq"]) in touched:
            phase = "during"
        elif start in begun and micros(each) < begun[start]:
            phase = "before"
        found[start, phase].append(each["latency"])
    return {key: sorted(values) for key, values in found.items()}


def quantile(values: list[int], share: float) -> int:
    return values[math.ceil(len(values) * share) - 1]


def attributes(records: list[Record], width: int) -> list[Row]:
    numbers: dict[Row, list[float]] = defaultdict(list)
    texts: dict[Row, Counter[str]] = defaultdict(Counter)
    for each in of(records, "publication"):
        for name, value in each["numbers"].items():
            numbers[window(each, width), name].append(value)
        for name, text in each["strings"].items():
            texts[window(each, width), name][text] += 1
    found: list[Row] = []
    for key, values in numbers.items():
        low, high = min(values), max(values)
        bins = [0] * BINS
        for value in values:
            step = (high - low) / BINS
            bins[min(math.floor((value - low) / step), BINS - 1) if step > 0 else 0] += 1
        found.append((*key, True, len(values), low, high, tuple(bins), None))
    for key, counts in texts.items():
        order = sorted(counts, key=lambda text: (-counts[text], text))
        chosen = order[:CHOICES]
        others = sum(counts[text] for text in order[CHOICES:])
        histogram = (*(counts[text] for text in chosen), others)
        found.append((*key, False, sum(counts.values()), None, None, histogram, tuple(chosen)))
    return found


def in_force(held: list[Row], starts: Iterable[int], width: int) -> dict[int, Counter[str]]:
    """window → filter → clients that have it at the end of the window."""
    clients: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for _, _, client, role, filter, _, since, until in held:
        for start in starts:
            end = start + width
            if role == "subscriber" and (since is None or since < end) and (until is None or until >= end):
                clients[start][filter].add(client)
    return {start: Counter({f: len(who) for f, who in each.items()}) for start, each in clients.items()}


def scores(table: list[Row], used: dict[int, Counter[str]]) -> dict[tuple[int, str], float]:
    """window, attribute → what makes it a dimension."""
    found = {}
    for start, name, _, total, _, _, histogram, _ in table:
        shares = [count / total for count in histogram if count]
        entropy = -sum(share * math.log2(share) for share in shares) / math.log2(len(histogram))
        filters = used.get(start, Counter())
        asking = sum(n for text, n in filters.items() if name in parse(text).attributes)
        share = asking / filters.total() if filters and _known(filters) else None
        score = entropy * (share if share is not None else 1.0)
        if score > 0:
            found[start, name] = score
    return found


def _known(filters: Counter[str]) -> bool:
    return any(parse(text).attributes for text in filters)


def filter_similarity(records: list[Record], used: dict[int, Counter[str]], width: int) -> list[Row]:
    events: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for each in of(records, "publication"):
        events[window(each, width)].append(each["numbers"] | each["strings"])
    found = []
    for start, filters in used.items():
        for one, other in combinations(sorted(filters), 2):
            first, second = parse(one).matches, parse(other).matches
            matched = [(first(event), second(event)) for event in events.get(start, [])]
            both, either = sum(a and b for a, b in matched), sum(a or b for a, b in matched)
            if both:
                found.append((start, one, other, both / either))
    return found


EXACT = {
    "traffic_classes": traffic_classes,
    "topic_popularity": topic_popularity,
    "publisher_rates": publisher_rates,
    "overlap": overlap,
    "link_load": link_load,
    "link_costs": link_costs,
    "broker_load": broker_load,
    "transformations": transformations,
    "queue_growth": queue_growth,
    "interest": interest,
    "attributes": attributes,
}
"""Tables whose rows are compared as they are."""


def assert_table(name: str, found: list[Row], records: list[Record], width: int = WIDTH) -> None:
    """The rows of the table are those that these records give; of `latency`, within the stated error."""
    from regraft.protocol.latency_buckets import ERROR

    if name != "latency":
        assert_alike(found, EXACT[name](records, width))
        return
    exact = latencies(records, width)
    assert sorted(row[:2] for row in found) == sorted(exact)
    for start, phase, count, *quantiles, mean, largest in found:
        values = exact[start, phase]
        assert (count, largest) == (len(values), values[-1])
        assert mean == pytest.approx(sum(values) / len(values))
        for share, found_quantile in zip((0.5, 0.99, 0.999), quantiles, strict=True):
            assert found_quantile == pytest.approx(quantile(values, share), rel=ERROR * 1.0001)


def assert_alike(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert found
    one, other = sorted(found, key=_key), sorted(expected, key=_key)
    assert [_rounded(row) for row in one] == [_rounded(row) for row in other]


def _key(row: tuple[Any, ...]) -> str:
    return repr(_rounded(row))


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(float(f"{c:.9g}") if isinstance(c, float) and math.isfinite(c) else c for c in row)
