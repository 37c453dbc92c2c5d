"""The control endpoint: an agent drives its broker, and nobody else does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.broker.io.peers import chain, finish, overlay

from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.journal import Journal
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.server import BrokerServer
from regraft.deploy.driver import ControlDriver, RefusedByBroker, Unreachable
from regraft.deploy.records import LinkChange
from regraft.model import BadInput, Topology

TOKEN = "secret"
BASE = Configuration("", control=("127.0.0.1", 0), control_token=TOKEN)
SHIFT = LinkChange("r:1.1:1:1", "shift", ("b0", "b1", "b2"))


def driver(running: Overlay, id: str, token: str = TOKEN) -> ControlDriver:
    address = running.controls[id]
    assert address is not None
    return ControlDriver(address, token)


@asynccontextmanager
async def drivers(topology: Topology, base: Configuration = BASE) -> AsyncIterator[dict[str, ControlDriver]]:
    async with overlay(topology, base) as running:
        made = {id: driver(running, id) for id in topology.ids}
        yield made
        for each in made.values():
            await each.close()


async def state(driven: ControlDriver) -> Any:
    found = await driven.state()
    assert not isinstance(found, Unreachable)
    return found


async def until(condition: Callable[[], Any], driven: ControlDriver) -> None:
    """Asked again whenever the broker says that something has changed, and at times."""
    while not await condition():
        driven.changed.clear()
        try:
            await asyncio.wait_for(driven.changed.wait(), 0.1)
        except TimeoutError:
            continue


async def linked(made: dict[str, ControlDriver]) -> None:
    for each in made.values():
        await until(partial(_all_up, each), each)


async def _all_up(driven: ControlDriver) -> bool:
    return set((await state(driven)).links.values()) <= {"up"}


async def at_stage(made: dict[str, ControlDriver], id: str, stage: str) -> None:
    for each in made.values():
        await until(partial(_has_stage, each, id, stage), each)


async def _has_stage(driven: ControlDriver, id: str, stage: str) -> bool:
    return str((await state(driven)).stages.get(id, "")) == stage


def test_a_shift_is_prepared_and_committed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with drivers(chain(3), replace(BASE, state=tmp_path)) as made:
            await linked(made)
            for each in made.values():
                assert await each.prepare(SHIFT, {}) is None
            await at_stage(made, SHIFT.id, "ready")
            for each in made.values():
                assert await each.commit(SHIFT.id) is None
            await at_stage(made, SHIFT.id, "")
            await linked(made)
            assert (await state(made["b2"])).links == {"b0": "up", "b1": "up"}
            assert (await state(made["b0"])).links == {"b2": "up"}

    finish(scenario())


def test_an_aborted_shift_leaves_the_links_as_they_were() -> None:
    async def scenario() -> None:
        async with drivers(chain(3)) as made:
            await linked(made)
            assert await made["b0"].prepare(SHIFT, {}) is None
            assert (await state(made["b0"])).stages == {SHIFT.id: "prepared"}
            assert await made["b0"].abort(SHIFT.id) is None
            assert (await state(made["b0"])).stages == {}
            assert (await state(made["b0"])).links == {"b1": "up"}

    finish(scenario())


def test_what_does_not_fit_is_refused_with_the_reason() -> None:
    async def scenario() -> None:
        async with drivers(chain(3)) as made:
            away = LinkChange("x", "shift", ("b0", "b2", "b1"))
            refused = await made["b0"].prepare(away, {})
            assert refused == RefusedByBroker("shift(b0, b2, b1) does not fit the links of 'b0'")
            assert await made["b0"].commit("x") == RefusedByBroker(
                "is not a change that this broker takes part in"
            )
            assert isinstance(await made["b0"].prepare(LinkChange("y", "fly", ()), {}), RefusedByBroker)

    finish(scenario())


def test_ready_is_told_only_when_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with drivers(chain(2), replace(BASE, state=tmp_path)) as made:
            await linked(made)
            allowed, synced = asyncio.Event(), Journal.sync

            async def slow(journal: Journal) -> None:
                await allowed.wait()
                await synced(journal)

            monkeypatch.setattr(Journal, "sync", slow)
            prepared = asyncio.create_task(made["b0"].prepare(LinkChange("d", "detach", ("b0", "b1")), {}))
            asked = asyncio.create_task(made["b0"].state())
            done, _ = await asyncio.wait([prepared, asked], timeout=0.2)
            assert not done
            allowed.set()
            assert await prepared is None
            told = await asked
            assert not isinstance(told, Unreachable)
            assert told.stages == {"d": "prepared"}

    finish(scenario())


def test_addresses_are_learnt_from_the_agent() -> None:
    async def scenario() -> None:
        async with drivers(chain(1)) as made, overlay(chain(1), BASE) as other:
            appended = LinkChange("a", "append", ("b0", "b1"))
            assert await made["b0"].prepare(appended, {"b1": other.addresses["b0"]}) is None
            # that address belongs to a broker of another name, which is no matter of this test
            assert (await state(made["b0"])).stages == {"a": "prepared"}

    finish(scenario())


def test_candidates_are_for_probes_alone_and_refused_by_a_broker_without_telemetry(tmp_path: Path) -> None:
    async def scenario() -> None:
        there = ("127.0.0.1", 1)
        async with drivers(chain(1)) as made:
            assert await made["b0"].acquaint({"b7": there}) == RefusedByBroker("records no telemetry")
        async with overlay(chain(1), replace(BASE, telemetry=Telemetry(tmp_path))) as running:
            told = driver(running, "b0")
            assert await told.acquaint({"b7": there}) is None
            await told.close()
            assert running.servers["b0"].candidates == {"b7": there}
            assert "b7" not in running.addresses

    finish(scenario())


def test_without_the_token_nothing_is_said() -> None:
    async def scenario() -> None:
        async with overlay(chain(1), BASE) as running:
            assert isinstance(await driver(running, "b0", "wrong").state(), Unreachable)
            for said in (b"", b"garbage\n", b'{"token": 5}\n', b"[" * 100_000 + b"\n", b"x" * 2_000_000):
                address = running.controls["b0"]
                assert address is not None
                reader, writer = await asyncio.open_connection(*address)
                writer.write(said)
                if not said:
                    writer.write_eof()
                with suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()
            assert not isinstance(await driver(running, "b0").state(), Unreachable)

    finish(scenario())


def test_a_line_that_is_no_request_ends_the_connection_only() -> None:
    async def scenario() -> None:
        async with overlay(chain(1), BASE) as running:
            address = running.controls["b0"]
            assert address is not None
            reader, writer = await asyncio.open_connection(*address)
            writer.write(json.dumps({"token": TOKEN}).encode() + b'\n{"n": 1, "do": "explode"}\n')
            assert await reader.readline() == b"{}\n"
            assert await reader.read() == b""
            writer.close()
            assert not running.servers["b0"].fault

    finish(scenario())


def test_a_broker_that_is_gone_is_a_value_and_is_found_again() -> None:
    async def scenario() -> None:
        first = BrokerServer(replace(BASE, broker="b0"), {})
        await first.start()
        address = first.control_address
        assert address is not None
        driven = ControlDriver(address, TOKEN)
        life = (await state(driven)).life
        driven.changed.clear()
        await first.stop()
        await driven.changed.wait()
        assert isinstance(await driven.state(), Unreachable)
        await asyncio.sleep(0.15)  # lives without a journal are counted in tenths of a second
        second = BrokerServer(replace(BASE, broker="b0", control=address), {})
        await second.start()
        assert (await state(driven)).life > life
        await driven.close()
        await second.stop()

    finish(scenario())


def test_a_control_endpoint_needs_a_token() -> None:
    async def scenario() -> None:
        server = BrokerServer(replace(BASE, broker="b0", control_token=""), {})
        with pytest.raises(BadInput, match="needs a token"):
            await server.start()
        await server.stop()

    finish(scenario())


def test_links_of_a_mesh_come_and_go_and_are_remembered(tmp_path: Path) -> None:
    ring = Topology.of([("a", "b"), ("b", "c"), ("a", "c")], kind="mesh")
    base = replace(BASE, state=tmp_path)
    unlink, link = LinkChange("u", "unlink", ("a", "b")), LinkChange("l", "link", ("b", "a"))

    async def scenario() -> None:
        async with drivers(ring, base) as made:
            await linked(made)
            assert isinstance(await made["a"].prepare(link, {}), RefusedByBroker)
            for id in "ab":
                assert await made[id].prepare(unlink, {}) is None
                assert (await state(made[id])).stages == {"u": "ready"}
            assert isinstance(
                await made["a"].prepare(LinkChange("v", "unlink", ("b", "a")), {}), RefusedByBroker
            )
            assert await made["a"].commit("u") is None
            assert (await state(made["a"])).links == {"c": "up"}
        async with drivers(ring, base) as made:  # b was ready in the life before
            assert (await state(made["a"])).links.keys() == {"c"}
            assert (await state(made["b"])).stages == {"u": "ready"}
            assert await made["b"].commit("u") is None
            assert (await state(made["b"])).stages == {}
            for id in "ab":
                assert await made[id].prepare(link, {}) is None
            assert await made["b"].commit("l") is None
            assert (await state(made["b"])).stages == {"l": "committed"}  # a has not been told
            assert await made["a"].commit("l") is None
            await at_stage({id: made[id] for id in "ab"}, "l", "")
            await linked(made)
            assert (await state(made["a"])).links == {"b": "up", "c": "up"}

    finish(scenario())


def test_links_of_the_journal_count_if_the_configuration_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        base = replace(BASE, state=tmp_path)
        async with drivers(chain(2), base) as made:
            await linked(made)
            for each in made.values():
                await each.prepare(LinkChange("d", "detach", ("b0", "b1")), {})
            await at_stage(made, "d", "ready")
            for each in made.values():
                await each.commit("d")
            await at_stage(made, "d", "")
        other = replace(base, broker="b1", neighbours=("b0", "b7"))
        for remembered, links in ((True, {}), (False, {"b0": "down", "b7": "down"})):
            server = BrokerServer(replace(other, remembered=remembered), {})
            await server.start()
            assert server.control_address is not None
            driven = ControlDriver(server.control_address, TOKEN)
            assert (await state(driven)).links == links
            await driven.close()
            await server.stop()

    finish(scenario())
