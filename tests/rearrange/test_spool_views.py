"""A broker's view of the traffic, from the spools around it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from regraft.protocol.telemetry import AnyRecord, Delivery, Health, Hop, Publication
from regraft.rearrange.spool_views import Sightings, Spools

START = datetime(2026, 1, 1, tzinfo=UTC)
NEAR = frozenset({"a", "c", "d"})


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


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


def test_what_is_recorded_of_a_sample_counts_for_all_that_it_stands_for() -> None:
    sampled = [msgspec.structs.replace(each, one_in=10) for each in (hop("a", "b", 1), hop("b", "c", 1))]
    assert seen([*sampled, hop("a", "b", 2), hop("b", "c", 2)]) == {frozenset("ac"): 11.0}


def test_what_stays_on_one_side_or_passed_over_links_of_before_is_left_out() -> None:
    assert seen([published("b", 1), delivered("b", 1), hop("x", "b", 2), hop("b", "c", 2)]) == {}


def test_only_the_time_that_is_asked_for_counts() -> None:
    early = [hop("a", "b", 1, -1.0), hop("b", "c", 1, 0.5)]
    late = [hop("a", "b", 2, 10.0), hop("b", "c", 2, 10.0)]
    assert seen([*early, *late]) == {}


def test_spools_are_read_once_line_by_line_also_while_they_are_written(tmp_path: Path) -> None:
    lines = [msgspec.json.encode(hop("a", "b", seq)) + b"\n" for seq in range(4)]
    idle: dict[str, Any] = {"rates": {}, "links": {}, "round_trips": {}, "delivery_rates": {}}
    health = Health(at=at(0), broker="a", cpu=0, memory=0, queue=0, not_recorded=0, **idle)
    growing = tmp_path / "a-1.ndjson.open"
    growing.write_bytes(lines[0] + b"garbage\n" + lines[1][:-5])
    spools = Spools(tmp_path)
    assert [record.seq for record in spools.new() if isinstance(record, Hop)] == [0]
    growing.write_bytes(lines[0] + b"garbage\n" + lines[1] + lines[2] + msgspec.json.encode(health) + b"\n")
    growing.rename(tmp_path / "a-1.ndjson")
    (tmp_path / "a-2.ndjson.open").write_bytes(lines[3])
    assert [record.seq for record in spools.new() if isinstance(record, Hop)] == [1, 2, 3]
    assert list(spools.new()) == []
