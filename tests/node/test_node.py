"""Real processes: nodes are killed, deputies take their places, and clients notice only a delay."""

import asyncio
import signal
from collections.abc import Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from regraft.heal.database.client import DatabaseClient
from regraft.heal.database.records import Adaptation
from regraft.heal.grant import Denied
from regraft.heal.raised import raise_event
from regraft.model import Topology
from regraft.model.facts import Event
from regraft.model.intents import Add, Delete, MoveClients, ShiftAway
from regraft.testing.healing_overlay import HealingOverlay, healing_overlay
from regraft.testing.healing_traffic import HealingTraffic

pytestmark = pytest.mark.xdist_group("healing zookeeper")
IDS = [f"b{number}" for number in range(5)]
LINE = Topology.of(pairwise(IDS), IDS)
RELIEVE = """
type oblig relieve(target database, Broker<T> broker) {
  subject  AdaptationManager;
  on       brokerMeasured(cpu, memory, threads, queue);
  do       database.moveClients(broker) -> database.shiftAway(broker);
  when     broker.id == "b1" && broker.degree >= 2;
}
"""


def within(scenario: Coroutine[Any, Any, None], seconds: float = 100.0) -> None:
    async def limited() -> None:
        async with asyncio.timeout(seconds):
            await scenario

    asyncio.run(limited())


async def check_log(overlay: HealingOverlay, killed: list[str]) -> None:
    """All adaptations are written down, with everything that the paper measures."""
    wanted = {(kind, id) for kind in ("add", "delete") for id in killed}
    for _ in range(100):
        done = [each for each in await overlay.adaptations() if each.outcome == "done" and each.intents]
        log = {(each.kind, named): each for each in done if (named := _named(each))}
        if log.keys() >= wanted:
            break
        await asyncio.sleep(0.05)
    assert log.keys() >= wanted
    for id in killed:
        delete = log["delete", id]
        assert delete.rules == ("deleteBrokerRules",)
        assert id in delete.cause
        assert delete.leader not in killed
        assert min(delete.timeout_ms, delete.election_ms, delete.adaptation_ms) > 0
        assert delete.vote_ms >= 0  # the grant may be there when the timer ends


def _named(adaptation: Adaptation) -> str:
    intent = adaptation.intents[0]
    return intent.broker if isinstance(intent, Add | Delete) else ""


async def relieve_b1(overlay: HealingOverlay) -> None:
    """A rule of one's own, stored while all runs: clients and a neighbour of b1 go elsewhere."""
    client = await DatabaseClient.found(overlay.coord, overlay.layout)
    stored = await client.put_rules({"relieve": RELIEVE}, {})
    assert not isinstance(stored, Denied), stored
    while len((await overlay.topology()).neighbours["b1"]) > 1:
        await asyncio.sleep(0.05)
    while not (log := [each for each in await client.adaptations() if each.rules == ("relieve",)]):
        await asyncio.sleep(0.05)
    assert (log[0].kind, log[0].outcome) == ("shift", "done")
    assert [type(each) for each in log[0].intents] == [MoveClients, ShiftAway]
    assert "brokerMeasured of b1" in log[0].cause
    await client.close()


def test_two_neighbours_that_are_killed_at_once_are_healed_around_and_join_again(tmp_path: Path) -> None:
    """A publisher and a subscriber are at a killed broker, too; they go elsewhere with their sessions."""

    async def scenario() -> None:
        async with healing_overlay(LINE, tmp_path) as overlay:
            addresses = overlay.nodes.addresses
            async with HealingTraffic(addresses, ["b0", "b2"], ["b4", "b2", "b1"], 200.0) as traffic:
                traffic.begin()
                await asyncio.sleep(0.3)
                await asyncio.gather(overlay.nodes.kill("b2"), overlay.nodes.kill("b3"))
                healed = await overlay.without("b2", "b3")
                assert sorted(healed.ids) == ["b0", "b1", "b4"]
                await asyncio.gather(overlay.nodes.restart("b2"), overlay.nodes.restart("b3"))
                await asyncio.gather(overlay.nodes.joined("b2"), overlay.nodes.joined("b3"))
                again = await overlay.topology()
                assert sorted(again.ids) == IDS
                assert len(again.links) == 4
                await relieve_b1(overlay)
                wrong = await traffic.finish()
                assert min(traffic.published) > 30
                assert wrong == (0, 0, 0)
            await check_log(overlay, ["b2", "b3"])

    within(scenario())


def test_a_frozen_node_is_replaced_and_does_nothing_more_when_it_thaws(tmp_path: Path) -> None:
    """It does not know that time has passed: its lease, and the later life that others know, stop it."""

    async def scenario() -> None:
        async with (
            healing_overlay(LINE, tmp_path, session_timeout=4.0) as overlay,
            HealingTraffic(overlay.nodes.addresses, ["b0"], ["b4", "b3"], 200.0) as traffic,
        ):
            traffic.begin()
            await asyncio.sleep(0.3)
            frozen = overlay.nodes.running["b2"]
            frozen.send_signal(signal.SIGSTOP)
            try:
                healed = await overlay.without("b2")
                assert ("b1", "b3") in healed.by_ends
                before = list(traffic.published)
                await asyncio.sleep(0.3)
                assert traffic.published > before
            finally:
                frozen.send_signal(signal.SIGCONT)
            assert await overlay.nodes.ended("b2") == "exit code 1"
            await overlay.nodes.restart("b2")
            await overlay.nodes.joined("b2")
            assert sorted((await overlay.topology()).ids) == IDS
            # b1 is to be removed: the rule for dead brokers removes living ones as well.
            assert await raise_event(
                overlay.coord, overlay.layout, Event(name="deleteBrokerRequest", broker="b1")
            )
            assert sorted((await overlay.without("b1")).ids) == ["b0", "b2", "b3", "b4"]
            assert await traffic.finish() == (0, 0, 0)

    within(scenario())
