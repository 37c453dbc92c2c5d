"""The lease of the loop: its own earlier lease does not count as that of another loop."""

import asyncio

import pytest
from tests.deploy.fake_agents import within
from tests.serve.serving import OnZooKeeper

from regraft.coord import Configuration, Coord, Layout, acquire
from regraft.estate.protocol import AnotherLoop
from regraft.estate.regraft.overlay import LOOP, RunningOverlay


def test_a_loop_waits_for_its_own_earlier_lease_and_is_refused_while_another_loop_holds_it(
    hosts: str, root: str
) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        async with (
            OnZooKeeper(hosts, root).network(),
            RunningOverlay.connected(Configuration(hosts), layout) as running,
        ):
            old = running._lease
            give_back, old.release = old.release, _nothing  # type: ignore[method-assign]
            old.lost.set()
            asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(give_back()))
            await running.probe()
            assert running._lease.held
            assert running._lease is not old
            await running._lease.release()
            async with await Coord.connect(hosts) as other:
                await acquire(other, layout.lock(LOOP), "loop on another machine, process 1")
                with pytest.raises(AnotherLoop, match="another machine"):
                    await running.probe()

    within(scenario(), 60.0)


async def _nothing() -> None:
    """ZooKeeper is away."""
