"""`regraft up` is killed and started again with its state: clients find their brokers, nothing is lost."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.broker.io.peers import finish
from tests.cli.running import running, subscribed

from regraft.client import connect
from regraft.client.addresses import Directory


def places(up: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The addresses that clients may remember."""
    found = {id: (row["address"], row["metrics"]) for id, row in up["brokers"].items()}
    return found | {"zookeeper": (up.get("zookeeper", ""), "")}


def kill(up: dict[str, Any]) -> None:
    up["process"].send_signal(signal.SIGKILL)
    up["process"].wait()


async def published_across_a_kill(folder: Path, options: list[str]) -> None:
    """Three events: before the kill, while nothing runs, and after the restart."""
    with running(folder, *options) as up:
        before = places(up)
        subscriber = subscribed(folder, "TRUE", "--count", "3", "--broker", "c")
        try:
            async with connect(before["a"][0], timeout=120) as publisher:
                await publisher.publish({"n": 1})
                kill(up)
                publishing = asyncio.create_task(publisher.publish({"n": 2}))
                await asyncio.sleep(0)
                with running(folder, *options) as again:
                    assert places(again) == before
                    await publishing
                    await publisher.publish({"n": 3})
                    said, _ = await asyncio.to_thread(subscriber.communicate, timeout=60)
        finally:
            subscriber.kill()
            subscriber.communicate()
    assert [json.loads(line)["attributes"] for line in said.splitlines()] == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_broker_that_has_moved_is_found_again_by_the_directory(folder: Path) -> None:
    """Without a state folder, the new brokers know only what the client tells them."""

    async def scenario() -> None:
        with running(folder) as up:
            before = places(up)
            subscriber = subscribed(folder, "TRUE", "--count", "1", "--broker", "c")
            kill(up)
        try:
            with running(folder) as up:
                assert places(up) != before
                async with connect(Directory(folder / "out" / "overlay.json", "a"), timeout=60) as publisher:
                    while subscriber.poll() is None:  # until it is back, nobody subscribes
                        await publisher.publish({"n": 1})
                        await asyncio.sleep(0.05)
            assert subscriber.returncode == 0
        finally:
            subscriber.kill()
            subscriber.communicate()

    finish(scenario(), 120)


@pytest.mark.parametrize(
    "options",
    [
        [],
        pytest.param(["--agents", "--processes"], marks=pytest.mark.slow),
        pytest.param(["--agents", "--heal"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_clients_find_their_brokers_after_a_kill_and_nothing_is_lost(
    folder: Path, options: list[str]
) -> None:
    finish(published_across_a_kill(folder, ["--state", "state", *options]), 170)
