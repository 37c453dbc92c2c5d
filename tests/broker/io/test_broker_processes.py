"""Broker processes: they find each other, and the crash of one loses nothing."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.broker.io.peers import chain, finish
from tests.segments.stored import records

from regraft.broker.io.__main__ import from_json, to_json
from regraft.broker.io.broker_processes import BrokerProcesses
from regraft.broker.io.configuration import Allowed, Configuration, Telemetry, Tokens
from regraft.client import Event, connect
from regraft.model import RegraftError
from regraft.wire.identity import Tls


def where(running: BrokerProcesses, id: str) -> str:
    return "{}:{}".format(*running.addresses[id])


def test_the_crash_of_the_middle_broker_and_its_return_lose_nothing(tmp_path: Path) -> None:
    count = 1500

    async def publish(running: BrokerProcesses) -> None:
        async with connect(where(running, "b0")) as publisher:
            for start in range(0, count, 10):
                for n in range(start, start + 10):
                    await publisher.send(Event({"n": n}, bytes(100)))
                await asyncio.sleep(0.01)
            await publisher.flush()

    async def scenario() -> None:
        def configure(id: str, near: tuple[str, ...]) -> Configuration:
            return Configuration(id, near, state=tmp_path, metrics=("127.0.0.1", 0))

        async with (
            BrokerProcesses(chain(5), configure) as running,
            connect(where(running, "b4")) as subscriber,
        ):
            subscription = await subscriber.subscribe("n >= 0")
            publishing = asyncio.create_task(publish(running))
            got = []
            async for event in subscription:
                got.append(event.attributes["n"])
                if len(got) == 300:
                    before = running.addresses["b2"], running.metrics["b2"]
                    await running.kill("b2")
                    await asyncio.sleep(0.2)
                    await running.restart("b2")
                    assert (running.addresses["b2"], running.metrics["b2"]) == before
                if len(got) == count:
                    break
            subscription.confirm()
            await publishing
            assert got == list(range(count))

    finish(scenario(), 60)


def test_a_killed_broker_loses_only_telemetry_of_its_open_segment_and_records_nothing_twice(
    tmp_path: Path, bucket: str
) -> None:
    telemetry = Telemetry(f"{bucket}/live", segment_seconds=0.2)
    base = Configuration("b0", state=tmp_path, telemetry=telemetry)

    async def publish(running: BrokerProcesses, name: str) -> None:
        async with connect(where(running, "b0"), name=name) as publisher:
            for n in range(100):
                await publisher.publish({"n": n})
                await asyncio.sleep(0.01)

    async def scenario() -> None:
        async with BrokerProcesses(chain(1), lambda id, near: base) as running:
            async with connect(where(running, "b0"), name="sub") as subscriber:
                await subscriber.subscribe("n < 0")
                await publish(running, "first")
                await running.kill("b0")
            await running.restart("b0")
            await publish(running, "second")

    finish(scenario())
    published = [
        (each["publisher"].partition("#")[0], each["seq"])
        for each in records(f"{bucket}/live", "publication")
    ]
    first = [seq for name, seq in published if name == "first"]
    assert first == list(range(1, len(first) + 1))
    assert len(first) > 50, "a segment is open for a fifth of a second"
    assert [seq for name, seq in published if name == "second"] == list(range(1, 101))
    times = [each["at"] for each in records(f"{bucket}/live") if each["kind"] != "health"]
    assert len(times) == len(set(times))
    told = [each["change"] for each in records(f"{bucket}/live", "interest") if each["client"] == "sub"]
    assert told[:2] == ["added", "added"], "told again after the crash"
    assert not list(tmp_path.rglob("*.parquet"))


def test_processes_end_with_their_parent(tmp_path: Path) -> None:
    async def scenario() -> list[int]:
        async with BrokerProcesses(chain(2), Configuration) as running:
            return [process.pid for process in running.running.values()]

    for pid in finish(scenario()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_broker_that_can_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "b0.journal").write_bytes(b"no journal at all")

    async def scenario() -> None:
        async with BrokerProcesses(chain(1), lambda id, near: Configuration(id, near, state=tmp_path)):
            pass

    with pytest.raises(RegraftError, match=r"'b0' does not start: .*b0\.journal: offset 0: .*damaged"):
        finish(scenario())


def test_a_configuration_may_be_long() -> None:
    """With the tokens of thousands of clients its line is longer than asyncio expects a line to be."""
    tokens = Tokens(clients={f"client-{number}": "x" * 40 for number in range(5000)})

    async def scenario() -> None:
        overlay = BrokerProcesses(chain(1), lambda id, near: Configuration(id, near, tokens=tokens))
        async with overlay as running, connect(where(running, "b0"), name="client-7", token="x" * 40):
            pass

    finish(scenario())


def test_a_configuration_survives_the_way_to_another_process(tmp_path: Path) -> None:
    full = Configuration(
        "b0",
        ("b1", "b2"),
        kind="mesh",
        state=tmp_path,
        allowed=Allowed(connections=3),
        tls=Tls(tmp_path / "c", tmp_path / "k", None, True),
        tokens=Tokens("t", {"*": "u"}),
        telemetry=Telemetry("s3://bucket/live", 7, outbox=tmp_path / "outbox"),
        metrics=("127.0.0.1", 0),
    )
    assert from_json(to_json(full)) == full
