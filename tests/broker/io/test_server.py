"""Brokers on real sockets: what is published arrives once and in order, and what they say of themselves."""

import asyncio
import json
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.broker.io.peers import at, broker, chain, finish, overlay

from regraft.broker.core import shift
from regraft.broker.core.effects import Report
from regraft.broker.io.configuration import Configuration
from regraft.broker.io.journal import Journal
from regraft.client import Event, TimedOut, connect
from regraft.client.session import Session
from regraft.model import BadInput, Topology


async def numbers(session: Session, filter: str, count: int) -> asyncio.Task[list[object]]:
    """Subscribe now; the task has the attribute `n` of that many events."""
    subscription = await session.subscribe(filter)

    async def take() -> list[object]:
        got: list[object] = []
        async with subscription:
            async for event in subscription:
                got.append(event.attributes["n"])
                if len(got) == count:
                    break
        return got

    return asyncio.create_task(take())


@pytest.mark.parametrize("brokers", [1, 3])
def test_events_cross_a_chain_once_and_in_order(brokers: int) -> None:
    async def scenario() -> None:
        async with overlay(chain(brokers)) as running:
            last = f"b{brokers - 1}"
            async with connect(at(running)) as publisher, connect(at(running, last)) as subscriber:
                even = await numbers(subscriber, "even = TRUE", 500)
                events = [Event({"n": n, "even": n % 2 == 0}, bytes(256)) for n in range(1000)]
                await publisher.publish_many(events)
                assert await even == list(range(0, 1000, 2))

    finish(scenario())


def test_events_cross_a_mesh_by_their_topic() -> None:
    ring = Topology.of([("b0", "b1"), ("b1", "b2"), ("b0", "b2")], kind="mesh")

    async def scenario() -> None:
        async with (
            overlay(ring) as running,
            connect(at(running)) as publisher,
            connect(at(running, "b2")) as subscriber,
        ):
            got = await numbers(subscriber, "topic = 't'", 300)
            await publisher.advertise("topic = 't'")
            for n in range(300):
                await publisher.send({"n": n, "topic": "t"})
            await publisher.flush()
            assert await got == list(range(300))

    finish(scenario())


def test_a_shift_of_a_link_under_traffic_loses_nothing() -> None:
    tree = Topology.of([("a", "b"), ("b", "c")])

    async def scenario() -> None:
        async with overlay(tree) as running:
            reports: asyncio.Queue[Report] = asyncio.Queue()
            for server in running.servers.values():
                server.on_report = reports.put_nowait
            async with connect(at(running, "a")) as publisher, connect(at(running, "c")) as subscriber:
                got = await numbers(subscriber, "TRUE", 600)
                await publisher.publish_many([Event({"n": n}) for n in range(200)])
                sending = asyncio.create_task(
                    publisher.publish_many([Event({"n": n}) for n in range(200, 400)])
                )
                for server in running.servers.values():
                    server.prepare(shift("s1", "a", "b", "c"))
                assert {(await reports.get()).stage for _ in range(3)} == {"ready"}
                for server in running.servers.values():
                    server.commit("s1")
                assert {(await reports.get()).stage for _ in range(3)} == {"done"}
                await sending
                await publisher.publish_many([Event({"n": n}) for n in range(400, 600)])
                assert await got == list(range(600))

    finish(scenario())


def test_a_neighbour_that_starts_late_is_found(tmp_path: Path) -> None:
    from regraft.broker.io.server import BrokerServer

    async def scenario() -> None:
        addresses: dict[str, tuple[str, int]] = {}
        early = BrokerServer(Configuration("a", ("b",)), addresses)
        late = BrokerServer(Configuration("b", ("a",)), addresses)
        try:
            await early.start()
            await asyncio.sleep(0.2)
            addresses["b"] = await late.listen()
            await late.start()
            async with connect(at(early)) as publisher, connect(at(late)) as subscriber:
                got = await numbers(subscriber, "TRUE", 1)
                await publisher.publish({"n": 7})
                assert await got == [7]
        finally:
            await early.stop()
            await late.stop()

    finish(scenario())


def test_a_restarted_broker_remembers_the_sessions_in_its_journal(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with broker(state=tmp_path) as first:
            port = first.address[1]
            async with connect(at(first), name="desk", durable=True) as subscriber:
                await subscriber.subscribe("n > 0")
        async with broker(state=tmp_path, port=port) as second:
            assert second.core is not None
            assert second.core.life == 2
            async with connect(at(second), name="press") as publisher:
                await publisher.send({"n": 5})
                await asyncio.sleep(0.05)
                assert publisher.core.unacknowledged == 1  # kept for the client that is away
                again = connect(at(second), name="desk")
                subscription = again.subscribe("n > 0")
                async with again:
                    assert (await anext(subscription)).attributes == {"n": 5}

    finish(scenario())


def test_a_broker_that_is_brought_back_from_a_backup_knows_its_sessions(tmp_path: Path) -> None:
    """As docs/howto/backup.md says: stop, copy the folder, lose it, unpack it where it was, start."""

    async def scenario() -> None:
        state, backup = tmp_path / "state", tmp_path / "backup.tar.gz"
        async with broker(state=state) as first, connect(at(first), name="desk", durable=True) as subscriber:
            await subscriber.subscribe("n > 0")
        subprocess.run(["tar", "czf", backup, "state"], cwd=tmp_path, check=True)
        shutil.rmtree(state)
        subprocess.run(["tar", "xzf", backup], cwd=tmp_path, check=True)
        async with broker(state=state) as second, connect(at(second)) as publisher:
            with pytest.raises(TimedOut):
                await publisher.publish({"n": 5}, timeout=0.2)  # kept for the client that is away
            again = connect(at(second), name="desk")
            subscription = again.subscribe("n > 0")
            async with again:
                assert (await anext(subscription)).attributes == {"n": 5}

    finish(scenario())


def _get(address: tuple[str, int] | None, path: str) -> str:
    assert address is not None
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}{path}") as response:
        text: str = response.read().decode()
        return text


def test_metrics_and_health_are_served() -> None:
    async def scenario() -> None:
        async with overlay(chain(2), Configuration("", metrics=("127.0.0.1", 0))) as running:
            async with connect(at(running)) as publisher, connect(at(running, "b1")) as subscriber:
                got = await numbers(subscriber, "TRUE", 3)
                await publisher.publish_many([Event({"n": n}) for n in range(3)])
                await got
                address = running.metrics["b0"]
                text = await asyncio.to_thread(_get, address, "/metrics")
                assert 'regraft_publications_received_total{broker="b0"} 3\n' in text
                assert 'regraft_links_up{broker="b0"} 1\n' in text
                assert 'regraft_clients{broker="b0"} 1\n' in text
                assert 'regraft_held_bytes{broker="b0"} 0\n' in text
                health = json.loads(await asyncio.to_thread(_get, address, "/healthz"))
                assert health == {
                    "broker": "b0",
                    "status": "ok",
                    "ready": True,
                    "links": {"b1": "up"},
                    "clients": 1,
                }
            await running.servers["b1"].stop()
            while json.loads(await asyncio.to_thread(_get, address, "/healthz"))["links"] != {"b1": "down"}:
                await asyncio.sleep(0.02)

    finish(scenario())


def test_a_path_that_is_not_there_is_404() -> None:
    async def scenario() -> None:
        async with broker(metrics=("127.0.0.1", 0)) as server:
            with pytest.raises(urllib.error.HTTPError, match="404"):
                await asyncio.to_thread(_get, server.metrics_address, "/secrets")

    finish(scenario())


def test_a_journal_without_sessions_of_this_broker_is_bad_input(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "b0.journal")
    journal.append([("session/desk", b"\x92\x80\x80")])
    journal.close()

    async def scenario() -> None:
        async with broker(state=tmp_path):
            pass

    with pytest.raises(BadInput, match=r"b0\.journal: not what this broker remembers"):
        finish(scenario())
