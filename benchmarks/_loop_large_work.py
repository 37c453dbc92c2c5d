"""The workload of IPITT §VI-A with a hot spot that moves, and what the overlay spent on it.

As in IPITT §VI: a balanced tree of maximum degree 6, subscribers at its leaves with one class each (Zipf) and
random ranges, 20 publishers with 5 publications a second each, uniform over the content, all of them at one
broker. That broker is the hot spot: first the root, as there; then, after every `period` seconds, all
publishers go on at a broker drawn from another region (the subtree of another neighbour of the root).

Who is due what follows from the columns of the workload, without the filters. What was spent is counted from
what the brokers have written of each publication: every transmission over a link, those that were made again
included, and every broker that had to look at it (OCBR §2, function (1), all costs 1).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks._overlay_work import ROOT, SHAPE, Numbers, due, leaves

from regraft.evaluate import assess
from regraft.lab.ipitt_workload import PUBLISHERS, Publication, homes, publications, subscriptions
from regraft.lab.workload import tree
from regraft.model import Topology
from regraft.model.store import open_store
from regraft.model.traffic import TrafficClass, merged
from regraft.model.workload import Workload
from regraft.protocol import telemetry
from regraft.segments.listing import folders, names_after
from regraft.segments.reading import records_of


class Size(NamedTuple):
    """Of the two runs that are compared; `period`: how long the hot spot stays, in seconds."""

    brokers: int = 200
    subscribers: int = 1000
    seconds: float = 120.0
    period: float = 40.0
    window: int = 10
    seed: int = 1

    def tree(self) -> Topology:
        return tree(self.brokers, SHAPE)

    def homes(self) -> list[str]:
        """The broker of each subscriber."""
        return homes(self.subscribers, leaves(self.tree()), self.seed)

    def publications(self) -> list[Publication]:
        return list(publications(self.seconds, self.seed))

    def hot_spots(self) -> list[str]:
        """One broker after the other, each from another region."""
        topology, random = self.tree(), np.random.default_rng([self.seed, 4])
        regions = [region for _, region in sorted(_regions(topology).items())]
        order = random.permutation(len(regions)).tolist()
        count = int(np.ceil(self.seconds / self.period))
        drawn = [regions[order[number % len(order)]] for number in range(count - 1)]
        return [ROOT, *(str(random.choice(region)) for region in drawn)]

    def stream(self, publication: Publication) -> int:
        """Which of the publishers sends it: there are 20 at every hot spot, and those of one are on."""
        return int(publication.at // self.period) * PUBLISHERS + publication.publisher


def _regions(topology: Topology) -> dict[str, list[str]]:
    """The brokers behind each neighbour of the root."""
    found: dict[str, list[str]] = {}
    for first in topology.neighbours[ROOT]:
        behind, waiting = {ROOT, first}, [first]
        while waiting:
            new = topology.neighbours[waiting.pop()] - behind
            behind |= new
            waiting += new
        found[first] = sorted(behind - {ROOT})
    return found


def deliveries_due(size: Size, sent: list[Publication]) -> Numbers:
    return due(subscriptions(size.subscribers, size.seed), sent)


def expected_cost(size: Size, sent: list[Publication], due_rows: Numbers) -> float:
    """Function (1) on the tree as it is at the beginning: what the run without changes has to spend."""
    places, spots = size.homes(), size.hot_spots()
    members = [{spots[int(each.at // size.period)]} for each in sent]
    for subscriber, number in due_rows.tolist():
        members[number].add(places[subscriber])
    traffic = merged(TrafficClass(frozenset(each), 1.0) for each in members)
    cost = assess(size.tree(), Workload(traffic), ("routing-cost",)).numbers["routing_cost"]
    assert cost is not None
    return cost


class Spent(NamedTuple):
    """From the telemetry, by second of the run: publications, and transmissions of what was published."""

    publications: list[int]
    hops: list[int]
    missing: int
    """Records that the brokers could not keep."""

    @property
    def cost(self) -> float:
        return sum(self.costs())

    def costs(self) -> list[float]:
        """Of the publications of each second: every transmission is over a link, and to a broker."""
        return [2.0 * hops + count for count, hops in zip(self.publications, self.hops, strict=True)]


def spent(folder: Path, began: float, seconds: float) -> Spent:
    """`began` in seconds since 1970."""
    second_of: dict[tuple[str, int], int] = {}
    hops: Counter[tuple[str, int]] = Counter()
    missing: dict[str, int] = {}
    for record in _records(folder):
        if isinstance(record, telemetry.Publication):
            second_of[record.publisher, record.seq] = int(record.at / 1e6 - began)
        elif isinstance(record, telemetry.Hop):
            hops[record.publisher, record.seq] += 1
        elif isinstance(record, telemetry.Health):
            missing[record.broker] = max(record.not_recorded, missing.get(record.broker, 0))
    length = max(int(np.ceil(seconds)), 1 + max(second_of.values(), default=0))
    published, sent = [0] * length, [0] * length
    for key, second in second_of.items():
        published[max(second, 0)] += 1
        sent[max(second, 0)] += hops.pop(key, 0)
    return Spent(published, sent, sum(missing.values()) + sum(hops.values()))


def _records(folder: Path) -> Iterator[telemetry.AnyRecord]:
    store = open_store(folder)
    for broker in folders(store):
        for name in names_after(store, broker, None):
            yield from records_of(store, name.path)
