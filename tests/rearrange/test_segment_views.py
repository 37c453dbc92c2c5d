"""A broker's view of the traffic, from the segments around it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from regraft.model.store import FolderStore, StoreFault, open_store
from regraft.protocol.telemetry import AnyRecord, Counted, Delivery, Health, Hop, Publication
from regraft.rearrange.segment_views import Segments, Sightings
from regraft.segments.names import SegmentName
from regraft.segments.writing import segment

START = 1_767_225_600_000_000
NEAR = frozenset({"a", "c", "d"})


def at(seconds: float) -> int:
    return START + round(seconds * 1e6)


def published(broker: str, seq: int, seconds: float = 1.0) -> Publication:
    return Publication(
        at=at(seconds), broker=broker, publisher="p", seq=seq, topic=None, numbers={}, strings={}, size=1
    )


def hop(one: str, other: str, seq: int, seconds: float = 1.0) -> Hop:
    return Hop(at=at(seconds), broker=one, publisher="p", seq=seq, from_=one, to=other, queue=0)


def delivered(broker: str, seq: int, seconds: float = 1.0) -> Delivery:
    return Delivery(at=at(seconds), broker=broker, publisher="p", seq=seq, subscriber="s", latency=1)


def seen(records: Sequence[AnyRecord], near: frozenset[str] = NEAR) -> dict[frozenset[str], float]:
    sightings = Sightings(["b"])
    for record in records:
        sightings.add(record)
    return dict(sightings.view("b", near, at(0), at(10)))


def test_members_are_the_sides_on_which_a_publication_was_seen() -> None:
    through: list[AnyRecord] = [
        published("a", 1),
        hop("a", "b", 1),
        hop("b", "c", 1),
        hop("b", "d", 1),
        delivered("d", 1),
    ]
    own: list[AnyRecord] = [published("b", 2), hop("b", "c", 2), delivered("b", 3), hop("a", "b", 3)]
    assert seen([*through, *own]) == {
        frozenset("acd"): 1.0,
        frozenset("bc"): 1.0,
        frozenset("ab"): 1.0,
    }


def test_equal_classes_add_up_and_what_is_sent_again_counts_once() -> None:
    records = [hop("a", "b", 1), hop("b", "c", 1), hop("b", "c", 1), hop("a", "b", 2), hop("b", "c", 2)]
    assert seen(records) == {frozenset("ac"): 2.0}


def test_only_what_all_brokers_have_recorded_counts_and_stands_for_what_they_have_not() -> None:
    """b records every publication, and c one in ten."""
    counted = Counted(
        at=at(5), broker="c", of="hop", seq=0, since=at(1), count=40, one_in=10, from_="c", to="b"
    )
    records: list[AnyRecord] = [counted]
    for seq in range(1, 41):
        records += [hop("a", "b", seq), hop("b", "c", seq)]
    assert seen(records) == {frozenset("ac"): 40.0}
    assert seen(records[1:]) == {frozenset("ac"): 40.0}


def test_what_one_broker_forgets_another_one_still_needs() -> None:
    counted = Counted(
        at=at(5), broker="c", of="hop", seq=0, since=at(1), count=40, one_in=10, from_="c", to="b"
    )
    sightings = Sightings(["b", "c"])
    sightings.add(counted)
    for seq in range(1, 41):
        sightings.add(hop("a", "b", seq))
        sightings.add(hop("b", "c", seq))
    before = dict(sightings.view("b", NEAR, at(0), at(10)))
    sightings.forget("c", at(9))
    assert dict(sightings.view("b", NEAR, at(0), at(10))) == before == {frozenset("ac"): 40.0}
    sightings.forget("b", at(1.5))
    assert dict(sightings.view("b", NEAR, at(1.5), at(10))) == {}


def test_what_stays_on_one_side_or_passed_over_links_of_before_is_left_out() -> None:
    assert seen([published("b", 1), delivered("b", 1), hop("x", "b", 2), hop("b", "c", 2)]) == {}


def test_only_the_time_that_is_asked_for_counts() -> None:
    early = [hop("a", "b", 1, -1.0), hop("b", "c", 1, 0.5)]
    late = [hop("a", "b", 2, 10.0), hop("b", "c", 2, 10.0)]
    assert seen([*early, *late]) == {}


def name(broker: str, number: int, hour: int = 0) -> SegmentName:
    return SegmentName(broker, f"2026-01-01T{hour:02}", START, number)


def put(store: FolderStore, name: SegmentName, *records: AnyRecord) -> None:
    store.put(name.path, segment(name.folder, list(records)))


def hops(records: Iterable[AnyRecord]) -> list[int]:
    return [record.seq for record in records if isinstance(record, Hop)]


def test_segments_are_read_once_and_in_order_and_damaged_ones_left_out(tmp_path: Path) -> None:
    idle: dict[str, Any] = {"rates": {}, "links": {}, "round_trips": {}, "delivery_rates": {}}
    health = Health(at=at(0), broker="a", cpu=0, memory=0, queue=0, not_recorded=0, **idle)
    store = FolderStore(str(tmp_path))
    segments = Segments(store)
    assert list(segments.new()) == []
    put(store, name("a", 2), hop("a", "b", 1), hop("a", "b", 2), health)
    put(store, name("a", 1), hop("a", "b", 0))
    store.put(name("a", 3).path, b"garbage")
    assert hops(segments.new()) == [0, 1, 2]
    put(store, name("a", 4), hop("a", "b", 3))
    put(store, name("a", 1, hour=1), hop("a", "b", 4))
    put(store, name("b", 1), hop("b", "c", 5))
    assert hops(segments.new()) == [3, 4, 5]
    assert list(segments.new()) == []


def test_what_is_there_at_the_beginning_can_be_skipped(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    segments = Segments(store)
    put(store, name("a", 1), hop("a", "b", 1))
    segments.skip()
    put(store, name("a", 2), hop("a", "b", 2))
    put(store, name("b", 1), hop("b", "c", 3))
    assert hops(segments.new()) == [2, 3]


def test_after_a_fault_of_the_store_each_record_still_comes_once(tmp_path: Path) -> None:
    class Wavering(FolderStore):
        faults = 0

        def open(self, name: str) -> Any:
            if name.endswith("2.parquet") and self.faults:
                self.faults -= 1
                raise StoreFault("away")
            return super().open(name)

    store = Wavering(str(tmp_path))
    for number in (1, 2, 3):
        put(store, name("a", number), hop("a", "b", number))
    store.faults = 1
    segments, found = Segments(store), list[AnyRecord]()
    with pytest.raises(StoreFault):
        found.extend(segments.new())
    found.extend(segments.new())
    assert hops(found) == [1, 2, 3]


def test_segments_are_read_from_a_bucket(bucket: str) -> None:
    store = open_store(f"{bucket}/live")
    segments = Segments(store)
    for number in (1, 2):
        store.put(name("a", number).path, segment("a", [hop("a", "b", number)]))
        assert hops(segments.new()) == [number]
