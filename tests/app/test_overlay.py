"""The lease of the loop: its own of before is no other loop's."""

import asyncio

import pytest
from tests.app.serving import overlay
from tests.deploy.fake_agents import within

from regraft.app.overlay import LOOP, AnotherLoop, RunningOverlay
from regraft.coord import Configuration, Coord, Ensemble, Layout, acquire


def test_a_loop_waits_for_its_own_lease_of_before_and_is_refused_by_another_ones() -> None:
    async def scenario() -> None:
        layout = Layout("/test")
        async with (
            Ensemble() as ensemble,
            overlay(ensemble.hosts, "/test"),
            RunningOverlay.connected(Configuration(ensemble.hosts), layout) as running,
        ):
            old = running._lease
            give_back, old.release = old.release, _nothing  # type: ignore[method-assign]
            old.lost.set()
            asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(give_back()))
            await running.probe()
            assert running.held
            assert running._lease is not old
            await running._lease.release()
            async with await Coord.connect(ensemble.hosts) as other:
                await acquire(other, layout.lock(LOOP), "loop on another machine, process 1")
                with pytest.raises(AnotherLoop, match="another machine"):
                    await running.probe()

    within(scenario(), 60.0)


async def _nothing() -> None:
    """ZooKeeper is away."""
