from pathlib import Path

import numpy as np
from benchmarks._loop_large import Judged, compared
from benchmarks._loop_large_run import Seen
from benchmarks._loop_large_work import Size, Spent, deliveries_due, expected_cost, spent
from benchmarks._overlay_work import ROOT, Arrivals, Verdict

from regraft.lab.ipitt_workload import PUBLISHERS
from regraft.model import Topology
from regraft.model.store import open_store
from regraft.protocol.telemetry import Delivery, Health, Hop, Publication, Record
from regraft.segments.names import SegmentName, hour_of
from regraft.segments.writing import segment

SMALL = Size(brokers=30, subscribers=20, seconds=3.0, period=1.0)
BEGAN = 1_000.0


def at(second: float) -> int:
    return round((BEGAN + second) * 1e6)


def publication(second: float, seq: int) -> Record:
    return Publication(
        at=at(second), broker="a", publisher="p#1", seq=seq, topic=None, numbers={}, strings={}, size=1
    )


def hop(second: float, seq: int, start: str, to: str) -> Record:
    return Hop(at=at(second), broker=start, publisher="p#1", seq=seq, from_=start, to=to, queue=0)


def health(not_recorded: int) -> Record:
    return Health(
        at=at(2),
        broker="b",
        cpu=0.0,
        memory=0,
        queue=0,
        rates={},
        links={},
        round_trips={},
        delivery_rates={},
        not_recorded=not_recorded,
    )


def recorded(folder: Path, *records: Record) -> Path:
    """In two segments, so that no order can be relied upon."""
    store = open_store(folder)
    for broker, some in (("a", records[::2]), ("b", records[1::2])):
        store.put(SegmentName(broker, hour_of(at(0)), at(0), 1).path, segment(broker, some))
    return folder


class TestTheHotSpot:
    def test_begins_at_the_root_and_moves_to_another_region_each_time(self) -> None:
        size = SMALL._replace(brokers=200, seconds=120.0, period=40.0)
        spots = size.hot_spots()
        assert spots[0] == ROOT
        assert len(spots) == 3
        assert _first_hop(size.tree(), spots[1]) != _first_hop(size.tree(), spots[2])
        assert spots == size.hot_spots()

    def test_has_publishers_of_its_own_so_that_streams_stay_in_order(self) -> None:
        sent = SMALL.publications()
        streams = {SMALL.stream(each) for each in sent if each.at < SMALL.period}
        later = {SMALL.stream(each) for each in sent if each.at >= SMALL.period}
        assert streams == set(range(PUBLISHERS))
        assert not streams & later
        assert max(later) < len(SMALL.hot_spots()) * PUBLISHERS


def _first_hop(topology: Topology, broker: str) -> str:
    """The neighbour of the root on the way to the broker."""
    (way,) = [near for near in topology.neighbours[ROOT] if broker in _behind(topology, near)]
    return way


def _behind(topology: Topology, near: str) -> set[str]:
    seen, waiting = {ROOT, near}, [near]
    while waiting:
        new = topology.neighbours[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen - {ROOT}


class TestWhatWasSpent:
    def test_is_every_transmission_and_every_broker_by_the_second_of_publication(
        self, tmp_path: Path
    ) -> None:
        found = spent(
            recorded(
                tmp_path,
                publication(0.5, 1),
                hop(0.6, 1, "a", "b"),
                publication(1.5, 2),
                hop(1.9, 1, "b", "c"),
                hop(1.6, 2, "a", "b"),
                hop(2.5, 2, "a", "b"),
                Delivery(at=at(2), broker="c", publisher="p#1", seq=1, subscriber="s", latency=1),
            ),
            BEGAN,
            3.0,
        )
        assert found.costs() == [2 * 2 + 1, 2 * 2 + 1, 0]
        assert found.cost == 10
        assert found.missing == 0

    def test_is_not_known_if_records_are_missing(self, tmp_path: Path) -> None:
        lost = spent(
            recorded(tmp_path, publication(0.5, 1), health(3), health(5), hop(1, 9, "a", "b")), BEGAN, 1
        )
        assert lost.missing == 5 + 1, "not recorded, and a hop of what nobody has published"

    def test_without_changes_it_is_function_1(self) -> None:
        sent = SMALL.publications()
        rows = deliveries_due(SMALL, sent)
        cost = expected_cost(SMALL, sent, rows)
        places, spots = SMALL.homes(), SMALL.hot_spots()
        tree = SMALL.tree()
        total = 0
        for number, each in enumerate(sent):
            members = {spots[int(each.at)]} | {places[s] for s in rows[rows[:, 1] == number, 0].tolist()}
            total += 2 * _links(tree, members) + 1
        assert cost == total


def _links(tree: Topology, members: set[str]) -> int:
    """Of the subtree that spans the members: leaves that are no members fall off until none is left."""
    near = {id: set(neighbours) for id, neighbours in tree.neighbours.items()}
    while bare := [id for id, others in near.items() if len(others) <= 1 and id not in members]:
        for id in bare:
            for other in near.pop(id):
                near[other].discard(id)
    return len(near) - 1


class TestTheTable:
    def test_asks_for_a_quarter_less_and_a_percentile_that_is_not_higher(self) -> None:
        good = compared(SMALL, run("observe", 400, 90.0), run("automatic", 280, 90.0))
        assert [line.met for line in good][:4] == [True, True, True, True]
        bad = compared(SMALL, run("observe", 400, 90.0), run("automatic", 320, 91.0, lost=1))
        assert [line.met for line in bad][:4] == [False, False, True, False]


def run(mode: str, hops: int, p99: float, lost: int = 0) -> Judged:
    nobody = Arrivals(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    seen = Seen(mode, BEGAN, nobody, np.empty(0), Spent([0], [hops], 0), [], [], [], {})
    return Judged(seen, Verdict(10, 10 - lost, lost, 0, 0, 0), 1.0, p99, 100.0)
