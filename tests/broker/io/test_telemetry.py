"""What happened is in the segments, sampled alike everywhere."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from tests.broker.io.peers import at, chain, finish, overlay
from tests.segments.stored import records

from regraft.broker.core import Report, Store, shift
from regraft.broker.core.forwarding import Fact
from regraft.broker.io import sampling_rate
from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.interest_queue import InterestQueue, squeezed
from regraft.broker.io.round_trips import Probing
from regraft.broker.io.telemetry import Observer
from regraft.client import Event, connect
from regraft.model import Topology
from regraft.protocol.events import encode
from regraft.protocol.messages import Run
from regraft.protocol.telemetry import Interest


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
    base = Configuration("", telemetry=Telemetry(tmp_path / "telemetry"), state=tmp_path / "state")

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
    added = [each for each in records(tmp_path / "telemetry", "interest") if each["change"] == "added"]
    assert [each["client"] for each in added if each["role"] == "subscriber"] == ["first", "second"]
    of_kind = {
        kind: _publications(tmp_path / "telemetry", kind) for kind in ("publication", "hop", "delivery")
    }
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


def test_a_sample_has_the_same_publications_on_every_broker(tmp_path: Path) -> None:
    finish(traffic(Telemetry(tmp_path, one_in=10), 500))
    kept = {
        kind: {each["seq"] for each in records(tmp_path, kind)} for kind in ("publication", "hop", "delivery")
    }
    assert kept["publication"] == kept["hop"] == kept["delivery"]
    assert 20 < len(kept["publication"]) < 100
    sampled = [each for kind in kept for each in records(tmp_path, kind)]
    assert {each["one_in"] for each in sampled} == {10}


def test_what_is_sampled_is_counted_in_full(tmp_path: Path) -> None:
    finish(traffic(Telemetry(tmp_path, one_in=10), 500))
    counts = records(tmp_path, "count")
    assert {each["one_in"] for each in counts} == {10}
    assert {(each["broker"], each["of"]) for each in counts} == {
        ("b0", "publication"),
        ("b0", "hop"),
        ("b1", "delivery"),
        ("b1", "latency"),
    }
    for of in ("publication", "hop", "delivery", "latency"):
        assert sum(each["count"] for each in counts if each["of"] == of) == 500
    published = [each for each in counts if each["of"] == "publication"]
    sizes = [len(encode(Event({"n": n, "topic": "t", "ok": True, "s": "x"}, b"data"))) for n in range(500)]
    assert sum(each["size"] for each in published) == sum(sizes)
    assert {each["topic"] for each in published} == {"t"}
    assert {(each["from"], each["to"]) for each in counts if each["of"] == "hop"} == {("b0", "b1")}
    (pair,) = {(each["publisher"], each["subscriber"]) for each in counts if each["of"] == "delivery"}
    assert pair == (published[0]["publisher"], "sub")
    latencies = [each for each in counts if each["of"] == "latency"]
    assert all(0 < each["largest"] <= each["latency"] < 60_000_000 * each["count"] for each in latencies)
    keys = [(each["broker"], each["at"], each["seq"]) for each in counts]
    assert len(keys) == len(set(keys)), "none is taken for a copy of another one"


def test_topics_are_counted_whether_events_are_alike_or_not(tmp_path: Path) -> None:
    observer = Observer("b0", Telemetry(tmp_path, one_in=1000), Probing("b0", {}, {}, 0))
    mixed = [encode(Event({"topic": topic, "n": n})) for n, topic in enumerate(["t", "t", "u", "t"])]
    odd = [encode(Event({"topic": 3})), b"?", encode(Event({}))]
    alike = [encode(Event({"topic": "t"}, bytes(n))) for n in range(5)]
    facts = []
    for events in (mixed, odd):
        seqs = list(range(1, len(events) + 1))
        facts.append(Fact("publication", Run("p", seqs, events, 1), "@p", ""))
    size = sum(map(len, alike))
    facts.append(Fact("publication", Run("p", [8, 9, 10, 11, 12], alike, 1), "@p", "", alike=True, size=size))
    observer.facts(facts, 0)
    observer.flush()
    observer.close()
    found: Counter[str | None] = Counter()
    for each in records(tmp_path, "count"):
        found[each.get("topic")] += each["count"]
    assert found == {"t": 8, "u": 1, None: 3}
    counted = sum(each["size"] for each in records(tmp_path, "count"))
    assert counted == sum(map(len, [*mixed, *odd, *alike]))


def test_deliveries_count_when_they_were_published_and_strange_times_are_not_counted(tmp_path: Path) -> None:
    observer = Observer("b0", Telemetry(tmp_path, one_in=2), Probing("b0", {}, {}, 0))
    now = time.time_ns() // 1000
    content = [encode(Event({}))] * 4
    for published in (now - 90_000_000, now, -5, now + 10**12, 2**63):
        run = Run("p", [1, 2, 3, 4], content, published)
        observer.facts([Fact("delivery", run, "@p", "@s")], 0)
    observer.flush()
    observer.close()
    counts = [each for each in records(tmp_path, "count") if each["of"] == "delivery"]
    second = now // 10**6 * 10**6
    assert {each["since"]: each["count"] for each in counts} == {second - 90_000_000: 4, second: 4}
    assert observer.writer.not_recorded == 3 * 4


def test_a_broker_over_its_budget_records_a_smaller_sample_and_counts_all_that_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling_rate, "PERIOD_SECONDS", 0.05)
    telemetry = Telemetry(tmp_path, segment_seconds=0.05, segment_rows=500, budget=10_000)
    observer = Observer("b0", telemetry, Probing("b0", {}, {}, 0))
    content = [encode(Event({"topic": "t", "n": n})) for n in range(50)]
    for number in range(200):
        run = Run("p", [number * 50 + place + 1 for place in range(50)], content, 1)
        observer.facts([Fact("hop", run, "@p", "b1")], 0)
        time.sleep(0.002)
    observer.flush()
    observer.close()
    assert observer.writer.one_in > 1
    rates = [each.get("one_in") for each in records(tmp_path, "hop")]
    exact = rates.count(None)
    assert 0 < exact < len(rates)
    assert exact + sum(each["count"] for each in records(tmp_path, "count")) == 200 * 50


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


def until(holds: Callable[[], bool]) -> None:
    for _ in range(1000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("this did not happen within ten seconds")


def test_interest_is_written_when_the_disk_takes_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "b0"
    observer = Observer("b0", Telemetry(tmp_path, segment_seconds=0.0), Probing("b0", {}, {}, 0))
    folder.rmdir()
    folder.write_text("in the way")
    observer.stores([session("c", "x > 1")])
    until(lambda: observer.writer.waiting.segments == 1)
    observer.stores([session("c", "x > 1", "x > 2")])
    folder.unlink()
    observer.flush()
    observer.close()
    assert [each["filter"] for each in records(tmp_path, "interest")] == ["x > 1", "x > 2"]
    assert observer.writer.not_recorded == 0


def test_interest_is_told_in_full_every_few_minutes(tmp_path: Path) -> None:
    telemetry = Telemetry(tmp_path, health_seconds=0.25, interest_seconds=0.5, segment_seconds=0.1)

    async def scenario() -> None:
        async with (
            overlay(chain(1), Configuration("", telemetry=telemetry)) as running,
            connect(at(running), name="sub") as subscriber,
        ):
            await subscriber.subscribe("n >= 0")
            await asyncio.sleep(2.0)

    finish(scenario())
    # In a segment, what is told in full may stand behind what came later; times say what counts.
    written = sorted(records(tmp_path, "interest"), key=lambda each: each["at"])
    told = [(each["client"], each["filter"], each["change"]) for each in written]
    assert told[-1] == ("sub", "n >= 0", "removed")
    assert 3 <= len(told[:-1]) <= 6
    assert set(told[:-1]) == {("sub", "n >= 0", "added")}
    times = [each["at"] for each in written]
    assert len(times) == len(set(times))


def test_a_number_that_fits_into_no_column_is_counted_and_harms_no_other_record(tmp_path: Path) -> None:
    observer = Observer("b0", Telemetry(tmp_path), Probing("b0", {}, {}, 0))
    content = [encode(Event({"n": 1}))]
    runs = [Run("p", [number], content, 1) for number in (1, 2**63, 2)]
    observer.facts([Fact("publication", run, "@p", "") for run in runs], 0)
    observer.facts([Fact("delivery", Run("p", [3], content, -(2**63)), "@p", "@s")], 0)
    observer.flush()
    observer.close()
    assert [each["seq"] for each in records(tmp_path)] == [1, 2]
    assert (observer.writer.written, observer.writer.not_recorded) == (2, 2)


def test_what_fits_into_no_column_does_not_stop_what_comes_after_it_at_another_rate(tmp_path: Path) -> None:
    observer = Observer("b0", Telemetry(tmp_path), Probing("b0", {}, {}, 0))
    content = [encode(Event({"topic": "t"}))]
    observer.facts([Fact("publication", Run("p", [2**63], content, 1), "@p", "")], 0)
    observer.writer._rate.one_in = 2
    observer.facts([Fact("publication", Run("p", [1], content, 1), "@p", "")], 0)
    observer.flush()
    observer.close()
    assert [each["count"] for each in records(tmp_path, "count")] == [1]
    assert observer.writer.not_recorded == 1


def test_bytes_that_are_no_event_have_no_attributes(tmp_path: Path) -> None:
    observer = Observer("b0", Telemetry(tmp_path), Probing("b0", {}, {}, 0))
    observer.facts([Fact("publication", Run("p", [1], [b"?"], 1), "@p", "")], 0)
    observer.flush()
    observer.close()
    (one,) = records(tmp_path, "publication")
    assert (one["topic"], one["numbers"], one["strings"], one["size"]) == (None, {}, {}, 1)


def test_interest_of_the_life_before_is_told_again(tmp_path: Path) -> None:
    before = session("c", "x > 1")
    assert before.value is not None
    observer = Observer("b0", Telemetry(tmp_path), Probing("b0", {}, {}, 0))
    observer.known({before.key: before.value, "neighbours": b"?"})
    observer.stores([session("c", "x > 1", "x > 2")])
    observer.flush()
    observer.close()
    told = [(each["client"], each["filter"], each["change"]) for each in records(tmp_path, "interest")]
    assert told == [("c", "x > 1", "added"), ("c", "x > 2", "added")]


def told(client: str, change: Literal["added", "removed"], second: int) -> Interest:
    return Interest(at=second, broker="b0", client=client, role="subscriber", filter="TRUE", change=change)


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
    assert queue.take(100) == in_order
    queue.lost()
    assert queue.take(3) + queue.take(3) == [*went_and_came, *came]
    queue.safe()
    queue.lost()
    assert len(queue) == 0
