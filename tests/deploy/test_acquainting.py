"""Agents tell their brokers where the others are, a few at a time, and again when they have moved."""

import asyncio
from pathlib import Path

import pytest
from tests.broker.io.peers import chain, finish
from tests.deploy.agents_at_work import at_work, until
from tests.deploy.fake_agents import start_overlay

from regraft.broker.io.configuration import Telemetry
from regraft.coord.typed import encode
from regraft.deploy import acquainting
from regraft.deploy.records import Status

SIX = chain(6)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acquainting, "EVERY_SECONDS", 0.1)
    monkeypatch.setattr(acquainting, "RARELY_SECONDS", 0.3)


def test_every_broker_is_told_where_all_others_are(hosts: str, root: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, SIX, telemetry=Telemetry(tmp_path, probes=0)) as work:
            await start_overlay(work.coord, work.layout, SIX)
            servers, addresses = work.overlay.servers, work.overlay.addresses

            def told(id: str) -> bool:
                return servers[id].candidates == {name: addresses[name] for name in SIX.ids if name != id}

            await until(lambda: all(map(told, SIX.ids)))
            await work.kill("b3", "b4")
            await work.write(work.layout.status("b4"), b"?")  # keeps nobody from being told of the others
            await work.write(work.layout.status("b3"), encode(Status(host="127.0.0.1", port=1)))
            await until(lambda: servers["b0"].candidates["b3"] == ("127.0.0.1", 1))
            assert servers["b0"].candidates["b4"] == addresses["b4"]

    finish(scenario())


def test_a_broker_that_measures_nothing_is_told_nothing(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, chain(2)) as work:
            await start_overlay(work.coord, work.layout, chain(2))
            await asyncio.sleep(1.0)
            assert all(server.candidates == {} for server in work.overlay.servers.values())

    finish(scenario())
