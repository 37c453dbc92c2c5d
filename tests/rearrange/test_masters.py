"""Masters on a live overlay: real ZooKeeper, real brokers and agents where the links matter."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest
from tests.deploy.agents_at_work import TOKEN, AtWork
from tests.deploy.fake_agents import FakeAgents, start_overlay, within
from tests.deploy.plans import AROUND, CHAIN, RING_OPENED, links_of, verify

from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.overlay import Overlay
from regraft.client import Subscription, connect
from regraft.coord import Coord, Layout, Lease, acquire
from regraft.coord.typed import read
from regraft.deploy.begin import RunSettings
from regraft.deploy.deployer import Progress
from regraft.deploy.execute import execute
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.model import Action, Topology
from regraft.model.store import open_store
from regraft.protocol.telemetry import Hop
from regraft.rearrange.deploying import LiveOverlay, deploy_shifts
from regraft.rearrange.masters import Pace, Rearranged, Rearranging
from regraft.rearrange.segment_views import Segments
from regraft.segments.names import SegmentName, hour_of
from regraft.segments.writing import segment

QUICK = Pace(delta_t=0.7, settled=0.3, patience=10.0)


async def topology(coord: Coord, layout: Layout) -> Topology:
    stored = await read(coord, layout.topology, Current)
    assert stored is not None
    return topology_of(stored.value)


@contextlib.asynccontextmanager
async def rearranging(masters: Rearranging) -> AsyncIterator[None]:
    running = asyncio.create_task(masters.run())
    try:
        yield
    finally:
        masters.end()
        await running


# Real brokers


@contextlib.asynccontextmanager
async def brokers(hosts: str, layout: Layout, tree: Topology, place: Path) -> AsyncIterator[AtWork]:
    telemetry = Telemetry(place, segment_seconds=0.05)
    base = Configuration("", control=("127.0.0.1", 0), control_token=TOKEN, telemetry=telemetry)
    overlay = Overlay(tree, lambda id, near: replace(base, broker=id, neighbours=near))
    async with await Coord.connect(hosts) as coord, overlay:
        work = AtWork(coord, layout, overlay)
        work.start(*tree.ids)
        await start_overlay(coord, layout, tree)
        for id in tree.ids:
            while not (await work.status(id)).port or await coord.get(layout.alive(id)) is None:
                await asyncio.sleep(0.02)
        try:
            yield work
        finally:
            await work.kill(*list(work.agents))


class Flow:
    """Numbered events from one broker to another, until told to end."""

    def __init__(self, work: AtWork, name: str, start: str, end: str) -> None:
        self.name, self.sent, self.received = name, 0, list[object]()
        self._start, self._end = ("{}:{}".format(*work.overlay.addresses[id]) for id in (start, end))

    async def run(self, ended: asyncio.Event) -> None:
        async with connect(self._start) as source, connect(self._end) as sink:
            subscription = await sink.subscribe(f"flow = '{self.name}'")
            reading = asyncio.create_task(self._read(subscription))
            while not ended.is_set():
                await source.publish({"flow": self.name, "n": self.sent})  # until it is confirmed
                self.sent += 1
                await asyncio.sleep(0.01)
            while len(self.received) < self.sent:
                await asyncio.sleep(0.01)
            reading.cancel()

    async def _read(self, subscription: Subscription) -> None:
        async for event in subscription:
            self.received.append(event.attributes["n"])


def test_masters_at_two_ends_rearrange_at_once_and_nothing_is_lost(hosts: str, tmp_path: Path) -> None:
    names = "abcdefgh"
    tree = Topology.of(list(pairwise(names)))
    done: list[Rearranged] = []

    async def scenario() -> None:
        layout = Layout("/two-ends")
        async with brokers(hosts, layout, tree, tmp_path) as work:
            flows = [Flow(work, "left", "a", "c"), Flow(work, "right", "f", "h")]
            ended = asyncio.Event()
            live = LiveOverlay(work.coord, layout, verify)
            masters = Rearranging(names, live, Segments(open_store(tmp_path)), pace=QUICK, tell=done.append)
            async with asyncio.TaskGroup() as group:
                for flow in flows:
                    group.create_task(flow.run(ended))
                async with rearranging(masters):
                    while not {("a", "c"), ("f", "h")} <= links_of(await topology(work.coord, layout)):
                        await asyncio.sleep(0.1)
                ended.set()
            for flow in flows:
                assert flow.received == list(range(flow.sent))
                assert flow.sent > 20

    within(scenario())
    assert {each.broker for each in done if each.ok} == {"b", "g"}


# Agents that only pretend: what the brokers have seen is written by hand


async def keep_recording(place: Path, *way: str) -> None:
    """Publications that have just gone this way, again and again."""
    store, life = open_store(place), time.time_ns() // 1000
    for number in count(1):
        now = time.time_ns() // 1000
        for one, other in pairwise(way):
            hops = [
                Hop(at=now, broker=one, publisher=f"{way} {now}", seq=seq, from_=one, to=other, queue=0)
                for seq in range(5)
            ]
            store.put(SegmentName(one, hour_of(life), life, number).path, segment(one, hops))
        await asyncio.sleep(0.1)


def test_a_master_waits_until_its_neighbourhood_is_free(hosts: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        layout = Layout("/held")
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            lease = await acquire(coord, layout.lock("broker", "c"), "somebody else")
            assert isinstance(lease, Lease)
            traffic = asyncio.create_task(keep_recording(tmp_path, "a", "b", "c"))
            masters = Rearranging(
                "b", LiveOverlay(coord, layout, verify), Segments(open_store(tmp_path)), pace=QUICK
            )
            async with rearranging(masters):
                await asyncio.sleep(2.5 * QUICK.delta_t)
                assert links_of(await topology(coord, layout)) == links_of(CHAIN)
                await lease.release()
                while ("a", "c") not in links_of(await topology(coord, layout)):
                    await asyncio.sleep(0.05)
            traffic.cancel()

    within(scenario())


def test_a_run_that_a_dead_master_has_left_is_finished_by_the_next(hosts: str) -> None:
    def dying(progress: Progress) -> None:
        if progress.run.step == 2:
            raise ZeroDivisionError

    async def scenario() -> None:
        layout = Layout("/left")
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            async with await Coord.connect(hosts) as dead:
                with pytest.raises(ZeroDivisionError):
                    await execute(AROUND, dead, layout, verify, RunSettings(canaries=0), dying)
            lease = await acquire(coord, layout.lock("broker", "b"), "master b")
            assert isinstance(lease, Lease)
            live = LiveOverlay(coord, layout, verify)
            shift = (Action("shift", ("b", "c", "d")),)
            assert "left unfinished" in await deploy_shifts(live, shift, lease, 10.0)
            assert links_of(await topology(coord, layout)) == links_of(RING_OPENED)
            assert await deploy_shifts(live, shift, lease, 10.0) == ""
            assert ("b", "d") in links_of(await topology(coord, layout))
            await lease.release()

    within(scenario())
