"""What happened is in the spool, sampled alike everywhere; what is not is counted."""

import asyncio
import json
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from tests.broker.io.peers import at, chain, finish, overlay

from regraft.broker.core import Report, Store, shift
from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.interest_queue import InterestQueue, squeezed
from regraft.broker.io.round_trips import Probing
from regraft.broker.io.spool import Spool
from regraft.broker.io.telemetry import Observer
from regraft.client import Event, connect
from regraft.model import Topology
from regraft.protocol.telemetry import Interest


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
    of_kind = {kind: _publications(tmp_path / "spool", kind) for kind in ("publication", "hop", "delivery")}
    assert of_kind["publication"] == of_kind["hop"] == of_kind["delivery"]


def _publications(folder: Path, kind: str) -> set[tuple[str, int]]:
    return {(each["publisher"], each["seq"]) for each in records(folder, kind)}


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
    sampled = [each for kind in kept for each in records(tmp_path, kind)]
    assert {each["one_in"] for each in sampled} == {10}


def test_what_waited_for_a_change_of_links_says_so_and_queues_are_told_before_and_after(
    tmp_path: Path,
) -> None:
    """One change is carried out and one aborted, each while its broker holds events back."""

    async def scenario() -> None:
        async with overlay(chain(3), Configuration("", telemetry=Telemetry(tmp_path))) as running:
            servers = running.servers.values()
            reports: asyncio.Queue[Report] = asyncio.Queue()
            for server in servers:
                server.on_report = reports.put_nowait

            async def told(stage: str) -> None:
                assert {(await reports.get()).stage for _ in servers} == {stage}

            async with (
                connect(at(running, "b2"), name="pub") as publisher,
                connect(at(running, "b0"), name="sub") as subscriber,
            ):
                subscription = await subscriber.subscribe("TRUE")

                async def take() -> list[object]:
                    taken: list[object] = [(await anext(subscription)).attributes["n"] for _ in range(4)]
                    subscription.confirm()
                    return taken

                taking = asyncio.create_task(take())
                await publisher.publish({"n": 0})
                for n, change in ((1, shift("no", "b0", "b1", "b2")), (2, shift("yes", "b0", "b1", "b2"))):
                    for server in servers:
                        server.prepare(change)
                    await told("ready")
                    await publisher.send({"n": n})
                    while not running.servers["b2"].core.forwarding.store.bytes:  # type: ignore[union-attr]
                        await asyncio.sleep(0.01)
                    for server in servers:
                        (server.commit if n == 2 else server.abort)(change.id)
                    await told("done" if n == 2 else "aborted")
                    await publisher.flush()
                await publisher.publish({"n": 3})
                assert await taking == [0, 1, 2, 3]

    finish(scenario())
    labels: dict[int, set[str | None]] = {}
    hops = {
        (each["seq"], each["from"], each["to"]): each["transformation"] for each in records(tmp_path, "hop")
    }
    for (seq, *_), label in hops.items():
        labels.setdefault(seq, set()).add(label)
    assert labels[1] == labels[4] == {None}
    assert hops[2, "b2", "b1"] == "no"
    assert labels[3] == {"yes"}
    assert (3, "b2", "b0") in hops
    queues: dict[tuple[str, str], list[int]] = {}
    for each in records(tmp_path, "health"):
        if each["transformation"] is not None:
            queues.setdefault((each["transformation"], each["broker"]), []).append(each["queue"])
    assert sorted(queues) == [(id, f"b{n}") for id in ("no", "yes") for n in range(3)]
    assert all(len(two) == 2 for two in queues.values())
    assert queues["yes", "b2"][0] == 0 < queues["yes", "b2"][1]


def test_interest_is_recorded_however_full_the_queue_is(tmp_path: Path) -> None:
    finish(traffic(Telemetry(tmp_path, queue=0), 3))
    assert not records(tmp_path, "hop")
    said = [(each["broker"], each["client"], each["change"]) for each in records(tmp_path, "interest")]
    assert sorted(said) == [
        ("b0", "pub", "added"),
        ("b0", "pub", "removed"),
        ("b1", "sub", "added"),
        ("b1", "sub", "removed"),
    ]


def session(client: str, *filters: str) -> Store:
    stored = msgspec.msgpack.encode([{}, {str(number): text for number, text in enumerate(filters)}])
    return Store(f"session/{client}", stored)


def test_interest_is_written_when_the_disk_takes_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    observer = Observer("b0", Telemetry(folder, sync_seconds=0.0), Probing("b0", {}, {}, 0))
    observer.spool.write_waiting(last=False)
    folder.rmdir()
    observer.stores([session("c", "x > 1")])
    observer.spool.write_waiting(last=False)
    observer.stores([session("c", "x > 1", "x > 2")])
    folder.mkdir()
    observer.spool.write_waiting(last=False)
    observer.close()
    assert [each["filter"] for each in records(folder, "interest")] == ["x > 1", "x > 2"]
    assert observer.spool.not_recorded == 0


def test_interest_of_the_life_before_is_told_again(tmp_path: Path) -> None:
    before = session("c", "x > 1")
    assert before.value is not None
    observer = Observer("b0", Telemetry(tmp_path), Probing("b0", {}, {}, 0))
    observer.known({before.key: before.value, "neighbours": b"?"})
    observer.stores([session("c", "x > 1", "x > 2")])
    observer.close()
    told = [(each["client"], each["filter"], each["change"]) for each in records(tmp_path, "interest")]
    assert told == [("c", "x > 1", "added"), ("c", "x > 2", "added")]


def told(client: str, change: Literal["added", "removed"], second: int) -> Interest:
    at = datetime(2026, 1, 5, 12, 0, second, tzinfo=UTC)
    return Interest(at=at, broker="b0", client=client, role="subscriber", filter="TRUE", change=change)


def test_while_nothing_can_be_written_only_what_still_matters_is_kept() -> None:
    came_and_went = [
        told("a", "added", 1),
        told("a", "removed", 3),
        told("a", "added", 5),
        told("a", "removed", 7),
    ]
    went_and_came = [told("b", "removed", 2), told("b", "added", 4)]
    came = [told("c", "added", 6), told("c", "added", 8)]
    in_order = sorted([*came_and_went, *went_and_came, *came], key=lambda record: record.at)
    assert squeezed(in_order) == [*went_and_came, *came]
    queue = InterestQueue(most=4)
    queue.add(in_order)
    assert queue.take() == in_order
    queue.lost()
    assert queue.take() == [*went_and_came, *came]
    assert (queue.safe(), queue.safe(), len(queue)) == (4, 0, 0)


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
