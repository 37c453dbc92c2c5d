"""Components of applications, as a leader sees and moves them (Mimosa Pudica §4.3, rules 3 and 4).

Their hosts are processes of their own beside the brokers (`regraft.components`), found in ZooKeeper:
the leader gives the orders, and needs no host itself. Few overlays have components, so what it takes to talk
to them is loaded when it is needed.
"""

import os

from regraft.coord import Coord, Layout
from regraft.model.intents import Clone, Migrate


async def components_of(coord: Coord, layout: Layout) -> dict[str, tuple[str, ...]]:
    """The components of each broker; `DirectoryAway` or `Corrupt` if they cannot be read."""
    from regraft.components.directory import ZookeeperDirectory, places  # noqa: PLC0415

    return places(await ZookeeperDirectory(coord, layout).all())


async def move_components(coord: Coord, layout: Layout, intent: Migrate | Clone) -> str:
    """Empty, or which of them have not arrived, and why."""
    from regraft.components.caller import Calls  # noqa: PLC0415
    from regraft.components.directory import ZookeeperDirectory  # noqa: PLC0415
    from regraft.components.intents import carry_out  # noqa: PLC0415

    directory = ZookeeperDirectory(coord, layout)
    async with Calls.from_environment(directory, os.environ) as calls:
        done = await carry_out(intent, calls, directory)
    return "; ".join(f"{name}: {reason}" for name, reason in done.refused)
