"""The outbox: nothing is lost in a crash, and what is dropped when it is full is counted."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.segments.stored import RemoteStore, names, records
from tests.stores import new_bucket

from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.outbox import Outbox
from regraft.broker.io.segment_writer import SegmentWriter
from regraft.model.store import FolderStore, StoreFault
from regraft.protocol.telemetry import Hop, Interest, Record
from regraft.segments.names import SegmentName
from regraft.segments.writing import OpenSegment, segment

FIRST = SegmentName("b0", "2026-01-05T12", 1_767_000_000_000_000, 1)


def name(number: int) -> SegmentName:
    return FIRST._replace(number=number)


def content(number: int, rows: int = 3) -> bytes:
    """One record of interest and `rows - 1` of traffic."""
    at = 10**15 + 100_000 * number
    told: list[Record] = [
        Interest(at=at, broker="b0", client="c", role="subscriber", filter=f"n = {number}", change="added")
    ]
    for seq in range(1, rows):
        told.append(
            Hop(
                at=at + seq,
                broker="b0",
                publisher=f"p{seq * seq % 9973}",  # records that are alike take hardly any bytes
                seq=100_000 * number + seq,
                from_="b0",
                to="b1",
                queue=0,
            )
        )
    return segment("b0", told)


def outbox(tmp_path: Path, store: RemoteStore, most: int = 10**6) -> Outbox:
    return Outbox("b0", FolderStore(str(tmp_path / "outbox")), store, most)


def ship(box: Outbox) -> None:
    while box.ship_next():
        pass


def test_after_a_crash_before_or_after_the_store_has_it_a_segment_arrives_once(tmp_path: Path) -> None:
    store = RemoteStore(tmp_path / "store")
    before = outbox(tmp_path, store)
    for number in (1, 2, 3):
        before.put(name(number), content(number), 3)
    store.put(name(1).path, content(1))  # and the crash comes before it is removed from the outbox
    after = outbox(tmp_path, store)
    assert after.waiting[0] == 3
    ship(after)
    assert names(store) == [name(1), name(2), name(3)]
    assert len(records(store)) == 9
    assert after.waiting == (0, 0, 0.0)
    assert not list((tmp_path / "outbox").rglob("*.parquet"))


def test_names_in_the_store_ascend_even_if_it_has_later_ones_of_another_machine(tmp_path: Path) -> None:
    store = RemoteStore(tmp_path / "store")
    later = FIRST._replace(life=FIRST.life + 10, number=7)
    store.put(later.path, content(0))
    box = outbox(tmp_path, store)
    for number in (1, 2):
        box.put(name(number), content(number), 3)
    ship(box)
    assert names(store) == [later, later._replace(number=8), later._replace(number=9)]
    assert [each["filter"] for each in records(store, "interest")] == ["n = 0", "n = 1", "n = 2"]


def test_a_full_outbox_drops_the_traffic_of_the_oldest_segments_and_keeps_all_interest(
    tmp_path: Path,
) -> None:
    store = RemoteStore(tmp_path / "store")
    store.away = True
    size = len(content(1, 10_000))
    box = outbox(tmp_path, store, most=3 * size)
    for number in range(1, 9):
        box.put(name(number), content(number, 10_000), 10_000)
    with pytest.raises(StoreFault):
        box.ship_next()
    assert box.waiting[1] <= 3 * size
    store.away = False
    ship(box)
    kept = {each["seq"] // 100_000 for each in records(store, "hop")}
    assert kept < set(range(1, 9))
    assert kept == set(range(min(kept), 9)), "the oldest are dropped"
    assert box.lost == 8 * 9999 - len(records(store, "hop")) > 0
    assert [each["filter"] for each in records(store, "interest")] == [f"n = {n}" for n in range(1, 9)]


def test_interest_that_does_not_fit_either_is_dropped_and_counted(tmp_path: Path) -> None:
    store = RemoteStore(tmp_path / "store")
    box = outbox(tmp_path, store, most=2 * len(content(1, 1)))
    for number in range(1, 6):
        box.put(name(number), content(number, 1), 1)
    assert box.waiting[0] == 2
    assert box.lost == 3


def test_a_damaged_or_removed_segment_does_not_hold_up_those_behind_it(tmp_path: Path) -> None:
    store = RemoteStore(tmp_path / "store")
    size = len(content(1, 1000))
    box = outbox(tmp_path, store, most=2 * size)
    box.put(name(1), content(1, 1000), 1000)
    box.put(name(2), content(2, 1000), 1000)
    (tmp_path / "outbox" / name(1).path).write_bytes(b"nothing")
    (tmp_path / "outbox" / name(2).path).unlink()
    box.put(name(3), content(3, 1000), 1000)
    ship(box)
    assert len(records(store)) == 1000
    assert box.lost == 2000


# A real store


def hops(into: OpenSegment, seqs: list[int]) -> int:
    into.hops(time.time_ns() // 1000, "p", seqs, "b1", 0)
    return 0


def test_a_store_that_goes_away_and_comes_back_gets_every_record_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.server import ThreadedMotoServer

    def serve(port: int) -> Any:
        server: Any = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
        server.start()
        return server

    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    server = serve(0)
    _, port = server.get_host_and_port()
    bucket = new_bucket(f"http://127.0.0.1:{port}", monkeypatch)
    telemetry = Telemetry(f"{bucket}/live", segment_seconds=0.05, outbox=tmp_path / "outbox")
    writer = SegmentWriter("b0", telemetry, hops)
    sent = 0

    def send(count: int) -> None:
        nonlocal sent
        for _ in range(count):
            writer.offer([sent], 1)
            sent += 1
            time.sleep(0.1)

    send(10)
    server.stop()
    send(10)
    assert writer.waiting.segments > 2
    server = serve(port)
    try:
        send(10)
        while writer.waiting.segments:
            time.sleep(0.05)
        writer.close()
        assert [each["seq"] for each in records(f"{bucket}/live")] == list(range(sent))
        assert (writer.written, writer.not_recorded) == (sent, 0)
    finally:
        server.stop()
