"""What happened is in the spool, sampled alike everywhere; what is not is counted."""

import asyncio
import json
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.broker.io.peers import at, chain, finish, overlay

from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.spool import Spool
from regraft.client import Event, connect
from regraft.model import Topology


def records(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for file in sorted(folder.glob("*.ndjson")) for line in file.read_text().splitlines()]
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


async def traffic(telemetry: Telemetry, count: int) -> None:
    base = Configuration("", telemetry=telemetry)
    async with overlay(chain(2), base) as running:
        async with (
            connect(at(running), name="pub") as publisher,
            connect(at(running, "b1"), name="sub") as subscriber,
        ):
            subscription = await subscriber.subscribe("n >= 0")

            async def take() -> None:
                for _ in range(count):
                    await anext(subscription)
                subscription.confirm()

            taking = asyncio.create_task(take())
            events = [Event({"n": n, "topic": "t", "ok": True, "s": "x"}, b"data") for n in range(count)]
            await publisher.publish_many(events)
            await taking
        await asyncio.sleep(0.3)


def test_a_mesh_is_observed_too_also_after_a_restart(tmp_path: Path) -> None:
    """Its brokers remember links as well as sessions: those are no interest of a client."""
    ring = Topology.of([("b0", "b1"), ("b1", "b2"), ("b0", "b2")], kind="mesh")
    base = Configuration("", telemetry=Telemetry(tmp_path / "spool"), state=tmp_path / "state")

    async def scenario() -> None:
        for name in ("first", "second"):
            async with overlay(ring, base) as running:
                async with (
                    connect(at(running)) as publisher,
                    connect(at(running, "b2"), name=name) as subscriber,
                ):
                    subscription = await subscriber.subscribe("topic = 't'")
                    await publisher.advertise("topic = 't'")
                    await publisher.send({"topic": "t"})
                    assert (await anext(subscription)).attributes == {"topic": "t"}
                    subscription.confirm()
                    await publisher.flush()
                assert [server.fault for server in running.servers.values()] == ["", "", ""]

    finish(scenario())
    added = [each for each in records(tmp_path / "spool", "interest") if each["change"] == "added"]
    assert [each["client"] for each in added if each["role"] == "subscriber"] == ["first", "second"]


def test_every_kind_of_record_is_written(tmp_path: Path) -> None:
    finish(traffic(Telemetry(tmp_path, health_seconds=0.25), 3))
    published = records(tmp_path, "publication")
    assert [record["seq"] for record in published] == [1, 2, 3]
    first = published[0]
    assert (first["broker"], first["topic"], first["v"]) == ("b0", "t", 1)
    assert (first["numbers"], first["strings"]) == ({"n": 0}, {"topic": "t", "s": "x"})
    assert first["publisher"].startswith("pub#")
    assert first["size"] > 4
    hops = records(tmp_path, "hop")
    assert [(hop["from"], hop["to"], hop["seq"]) for hop in hops] == [("b0", "b1", seq) for seq in (1, 2, 3)]
    delivered = records(tmp_path, "delivery")
    assert [(each["broker"], each["subscriber"], each["seq"]) for each in delivered] == [
        ("b1", "sub", seq) for seq in (1, 2, 3)
    ]
    assert all(0 < each["latency"] < 60_000_000 for each in delivered)
    interest = [
        (e["broker"], e["client"], e["role"], e["filter"], e["change"]) for e in records(tmp_path, "interest")
    ]
    assert sorted(interest) == [
        ("b0", "pub", "publisher", "TRUE", "added"),
        ("b0", "pub", "publisher", "TRUE", "removed"),
        ("b1", "sub", "subscriber", "n >= 0", "added"),
        ("b1", "sub", "subscriber", "n >= 0", "removed"),
    ]
    health = [each for each in records(tmp_path, "health") if each["broker"] == "b0"]
    assert health
    assert health[-1]["links"] == {"b1": "up"}
    assert health[-1]["memory"] > 2**20
    assert health[-1]["not_recorded"] == 0


def test_no_two_records_of_a_broker_have_the_same_time(tmp_path: Path) -> None:
    finish(traffic(Telemetry(tmp_path), 50))
    for broker in ("b0", "b1"):
        times = [
            each["at"]
            for kind in ("publication", "hop", "delivery")
            for each in records(tmp_path, kind)
            if each["broker"] == broker
        ]
        assert len(times) == len(set(times))
        assert all(time.endswith("Z") and len(time) == 27 for time in times)


def test_a_sample_has_the_same_publications_on_every_broker(tmp_path: Path) -> None:
    finish(traffic(Telemetry(tmp_path, "sampled", one_in=10), 500))
    kept = {
        kind: {each["seq"] for each in records(tmp_path, kind)} for kind in ("publication", "hop", "delivery")
    }
    assert kept["publication"] == kept["hop"] == kept["delivery"]
    assert 20 < len(kept["publication"]) < 100


class Line(msgspec.Struct):
    n: int


def lines(batch: Sequence[int]) -> Iterable[Line]:
    return [Line(n) for n in batch]


def test_what_finds_the_queue_full_is_counted_and_never_waited_for(tmp_path: Path) -> None:
    gate = threading.Event()

    def slow(batch: Sequence[int]) -> Iterable[Line]:
        gate.wait()
        return lines(batch)

    spool: Spool[int] = Spool("b0", Telemetry(tmp_path, queue=10), slow)
    for start in range(0, 50, 5):
        spool.offer(range(start, start + 5), 5)
    gate.set()
    spool.close()
    assert (spool.written, spool.not_recorded) == (10, 40)


def test_files_are_rotated_and_only_finished_ones_have_the_final_name(tmp_path: Path) -> None:
    spool: Spool[int] = Spool("b0", Telemetry(tmp_path, file_bytes=100), lines)
    for number in range(100):
        spool.offer([number], 1)
    spool.close()
    files = sorted(tmp_path.iterdir())
    assert all(file.suffix == ".ndjson" for file in files)
    assert len(files) > 2
    assert [json.loads(line)["n"] for file in files for line in file.read_text().splitlines()] == list(
        range(100)
    )


@pytest.mark.parametrize("content", ['{"n":1}\n{"n":2', '{"n":1}\n'])
def test_a_file_left_by_a_crash_is_finished_without_its_half_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "b0-17.ndjson.open").write_text(content)
    Spool("b0", Telemetry(tmp_path), lines).close()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("b0-17.ndjson", '{"n":1}\n')]


def test_the_open_file_of_a_broker_whose_name_begins_with_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "b1-x-17.ndjson.open").write_text('{"n":1}\n')
    (tmp_path / "b1-18.ndjson.open").write_text('{"n":2')
    Spool("b1", Telemetry(tmp_path), lines).close()
    assert [file.name for file in tmp_path.iterdir()] == ["b1-x-17.ndjson.open"]


def test_what_comes_after_the_end_is_counted_as_not_recorded(tmp_path: Path) -> None:
    spool: Spool[int] = Spool("b0", Telemetry(tmp_path), lines)
    spool.offer([1], 1)
    spool.close()
    spool.close()
    spool.offer([2], 1)
    assert (spool.written, spool.not_recorded) == (1, 1)


def test_a_full_disk_is_survived_and_what_was_not_recorded_is_counted(tmp_path: Path) -> None:
    full = threading.Event()
    tried = threading.Semaphore(0)

    class OnADisk(Spool[int]):
        def _write_batch(self, batch: Sequence[int]) -> None:
            try:
                if full.is_set():
                    raise OSError(28, "No space left on device")
                super()._write_batch(batch)
            finally:
                tried.release()

    spool = OnADisk("b0", Telemetry(tmp_path, sync_seconds=1000.0), lines)
    for number, is_full in enumerate((False, True, True, False)):
        if is_full:
            full.set()
        else:
            full.clear()
        spool.offer([number], 1)
        tried.acquire()
    spool.close()
    # The first was not written through when the disk became full.
    assert (spool.written, spool.not_recorded) == (1, 3)
    files = sorted(tmp_path.glob("*.ndjson"))
    assert [json.loads(line)["n"] for file in files for line in file.read_text().splitlines()][-1] == 3
    assert not list(tmp_path.glob("*.open"))
