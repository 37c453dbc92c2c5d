"""Records become segments; what cannot be recorded is counted, and nothing ever waits for it."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.segments.stored import RemoteStore, names, records

from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.segment_writer import SegmentWriter
from regraft.model import BadInput
from regraft.model.store import FolderStore, Store, StoreFault
from regraft.protocol.telemetry import Interest
from regraft.segments.writing import OpenSegment


def gather(into: OpenSegment, seqs: Sequence[int]) -> int:
    into.hops(10**15 + seqs[0], "p", seqs, "b1", 0)
    return 0


def interest(number: int) -> Interest:
    return Interest(
        at=10**15 + number,
        broker="b0",
        client="c",
        role="subscriber",
        filter=f"n = {number}",
        change="added",
    )


def writer(place: Path, store: Store | None = None, **settings: float) -> SegmentWriter[Sequence[int]]:
    return SegmentWriter("b0", Telemetry(place, **settings), gather, store)  # type: ignore[arg-type]


def seqs(place: Path | Store) -> list[int]:
    return [each["seq"] for each in records(place, "hop")]


def test_what_finds_the_queue_full_is_counted_and_never_waited_for(tmp_path: Path) -> None:
    gate = threading.Event()

    def slow(into: OpenSegment, seqs: Sequence[int]) -> int:
        gate.wait()
        return gather(into, seqs)

    slowly = SegmentWriter("b0", Telemetry(tmp_path, queue=10), slow)
    for start in range(0, 50, 5):
        slowly.offer(range(start, start + 5), 5)
    gate.set()
    slowly.close()
    assert (slowly.written, slowly.not_recorded) == (10, 40)


def test_a_segment_that_has_enough_rows_is_closed(tmp_path: Path) -> None:
    one = writer(tmp_path, segment_rows=10, segment_seconds=1000.0)
    for number in range(100):
        one.offer([number], 1)
    one.close()
    assert len(names(FolderStore(str(tmp_path)))) == 10
    assert seqs(tmp_path) == list(range(100))


def test_a_segment_that_is_open_for_long_enough_is_closed(tmp_path: Path) -> None:
    one = writer(tmp_path, segment_seconds=0.2)
    one.offer([1], 1)
    while not seqs(tmp_path):
        time.sleep(0.01)
    one.close()
    assert seqs(tmp_path) == [1]


def test_names_ascend_in_every_life_and_what_a_crash_has_left_goes(tmp_path: Path) -> None:
    for life in range(3):
        one = writer(tmp_path)
        one.offer([life], 1)
        one.close()
        last = tmp_path / names(FolderStore(str(tmp_path)))[-1].path
        last.with_name(".half.parquet.1-2").write_bytes(b"half")
    writer(tmp_path).close()
    assert seqs(tmp_path) == [0, 1, 2]
    assert not list(tmp_path.rglob(".*"))


def test_a_clock_that_was_set_back_takes_no_name_before_the_last_one(tmp_path: Path) -> None:
    future = tmp_path / "b0" / "2099-01-01T00" / "4070908800000000-00000007.parquet"
    future.parent.mkdir(parents=True)
    future.write_bytes(b"")
    one = writer(tmp_path)
    one.offer([1], 1)
    one.close()
    first, second = names(FolderStore(str(tmp_path)))
    assert (second.hour, second.life) == ("2099-01-01T00", first.life + 1)


def test_what_comes_after_the_end_is_counted_as_not_recorded(tmp_path: Path) -> None:
    one = writer(tmp_path)
    one.offer([1], 1)
    one.close()
    one.close()
    one.offer([2], 1)
    one.add_interest([interest(1)])
    assert (one.written, one.not_recorded) == (1, 2)


def test_a_batch_that_cannot_be_gathered_is_counted_and_interest_survives_it(tmp_path: Path) -> None:
    def picky(into: OpenSegment, seqs: Sequence[int]) -> int:
        if 2 in seqs:
            raise ValueError("no")
        return gather(into, seqs)

    one = SegmentWriter("b0", Telemetry(tmp_path, segment_seconds=1000.0), picky)
    one.offer([1], 1)
    one.add_interest([interest(1)])
    time.sleep(0.3)  # both are in the open segment now
    one.offer([2], 1)
    one.offer([3], 1)
    one.close()
    assert seqs(tmp_path) == [3]
    assert [each["filter"] for each in records(tmp_path, "interest")] == ["n = 1"]
    assert (one.written, one.not_recorded) == (2, 2)


class FullDisk(FolderStore):
    full = False

    def put(self, name: str, content: bytes) -> None:
        if self.full:
            raise StoreFault("No space left on device")
        super().put(name, content)


def test_a_full_disk_is_survived_and_loses_what_the_queue_does_not_hold(tmp_path: Path) -> None:
    disk = FullDisk(str(tmp_path))
    one = writer(tmp_path, disk, queue=3, segment_rows=1, segment_seconds=0.0)
    disk.full = True
    for number in range(20):  # one segment is closed, one is open, three wait
        one.offer([number], 1)
        one.add_interest([interest(number)])
        time.sleep(0.02)
    assert one.waiting.segments == 1
    assert one.waiting.bytes > 100
    refused = one.not_recorded
    assert 10 <= refused <= 17
    disk.full = False
    one.close()
    assert len(seqs(tmp_path)) == 20 - refused
    assert sorted(each["filter"] for each in records(tmp_path, "interest")) == sorted(
        f"n = {number}" for number in range(20)
    )
    assert one.not_recorded == refused
    assert one.waiting.segments == 0


def test_a_disk_that_is_still_full_at_the_end_is_counted(tmp_path: Path) -> None:
    disk = FullDisk(str(tmp_path))
    one = writer(tmp_path, disk)
    disk.full = True
    one.offer([1, 2], 2)
    one.add_interest([interest(1)])
    one.close()
    assert (one.written, one.not_recorded) == (0, 3)


def test_a_place_that_is_no_folder_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot"):
        writer(tmp_path / "file")


# A store elsewhere


def test_what_the_store_does_not_take_waits_in_the_outbox_until_it_does(tmp_path: Path) -> None:
    store = RemoteStore(tmp_path / "store")
    store.away = True
    telemetry = Telemetry("far away", segment_seconds=0.05, outbox=tmp_path / "outbox")
    one = SegmentWriter("b0", telemetry, gather, store)
    for number in range(5):
        one.offer([number], 1)
        time.sleep(0.2)
    assert one.waiting.segments >= 3
    assert 0 < one.waiting.oldest < time.time()
    assert (one.written, one.lost) == (5, 0)
    store.away = False
    while one.waiting.segments:
        time.sleep(0.02)
    assert seqs(store) == [0, 1, 2, 3, 4]
    one.close()
    assert not list((tmp_path / "outbox").rglob("*.parquet"))


def test_a_broker_that_stops_while_the_store_is_away_leaves_its_segments_to_its_next_life(
    tmp_path: Path,
) -> None:
    store = RemoteStore(tmp_path / "store")
    telemetry = Telemetry("far away", outbox=tmp_path / "outbox")
    for life in range(3):
        store.away = life < 2
        one = SegmentWriter("b0", telemetry, gather, store)
        one.offer([life], 1)
        one.close()
        assert one.not_recorded == 0
    assert seqs(store) == [0, 1, 2]
