"""Many brokers of one process stop at the same time."""

import asyncio

from tests.broker.io.peers import chain, finish

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.overlay import Overlay


async def refuses(address: tuple[str, int]) -> bool:
    try:
        _, writer = await asyncio.open_connection(*address)
    except OSError:
        return True
    writer.close()
    return False


def test_brokers_do_not_wait_for_each_other_when_they_stop() -> None:
    """The first takes long: the others have stopped before it has."""

    async def scenario() -> None:
        overlay = Overlay(chain(4), Configuration)
        async with overlay:
            slow, others = overlay.servers["b0"], ["b1", "b2", "b3"]
            over, stop = asyncio.Event(), slow.stop

            async def stop_late() -> None:
                await over.wait()
                await stop()

            slow.stop = stop_late  # type: ignore[method-assign]
            stopping = asyncio.create_task(overlay.stop())
            try:
                while not all([await refuses(overlay.addresses[id]) for id in others]):
                    await asyncio.sleep(0.02)
                assert not await refuses(overlay.addresses["b0"])
            finally:
                over.set()
            await stopping
            assert await refuses(overlay.addresses["b0"])

    finish(scenario())
