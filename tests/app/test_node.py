"""Real processes: nodes are killed, deputies take their places, and traffic notices nothing but the time."""

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from regraft.model import Topology
from regraft.model.intents import Add, Delete
from regraft.testing.healing_overlay import HealingOverlay, healing_overlay
from regraft.testing.healing_traffic import HealingTraffic

pytestmark = pytest.mark.xdist_group("healing zookeeper")
IDS = [f"b{number}" for number in range(5)]
LINE = Topology.of(pairwise(IDS), IDS)


def within(scenario: Coroutine[Any, Any, None], seconds: float = 100.0) -> None:
    async def limited() -> None:
        async with asyncio.timeout(seconds):
            await scenario

    asyncio.run(limited())


async def check_log(overlay: HealingOverlay, killed: str) -> None:
    """Both adaptations are written down, with everything that the seed measures."""
    for _ in range(100):
        log = {each.kind: each for each in await overlay.adaptations()}
        if log.keys() >= {"add", "delete"}:
            break
        await asyncio.sleep(0.05)
    delete, add = log["delete"], log["add"]
    assert [type(each) for each in delete.intents] == [Delete]
    assert [type(each) for each in add.intents] == [Add]
    assert (delete.outcome, add.outcome) == ("done", "done")
    assert delete.rules == ("deleteBrokerRules",)
    assert killed in delete.cause
    assert delete.leader in {"b1", "b3"}
    assert min(delete.timeout_ms, delete.vote_ms, delete.election_ms, delete.adaptation_ms) > 0


def test_a_killed_node_is_healed_around_and_joins_again(tmp_path: Path) -> None:
    """A publisher and a subscriber are at the killed broker, too; they go elsewhere with their sessions."""

    async def scenario() -> None:
        async with healing_overlay(LINE, tmp_path) as overlay:
            addresses = overlay.nodes.addresses
            async with HealingTraffic(addresses, ["b0", "b2"], ["b4", "b2", "b1"], 200.0) as traffic:
                traffic.begin()
                await asyncio.sleep(0.3)
                await overlay.nodes.kill("b2")
                healed = await overlay.without("b2")
                assert sorted(healed.ids) == ["b0", "b1", "b3", "b4"]
                await overlay.nodes.restart("b2")
                await overlay.nodes.joined("b2")
                again = await overlay.topology()
                assert sorted(again.ids) == IDS
                assert len(again.links) == 4
                # And everybody reaches it there.
                await asyncio.sleep(0.3)
                wrong = await traffic.finish()
                assert min(traffic.published) > 30
                assert wrong == (0, 0, 0)
            await check_log(overlay, "b2")

    within(scenario())
