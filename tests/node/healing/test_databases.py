"""Nodes find the destination databases wherever they are."""

import asyncio

from tests.deploy.fake_agents import within

from regraft.coord import Coord, Create, Delete, Layout
from regraft.coord.typed import encode
from regraft.heal.database.metadata import RunningDatabase
from regraft.node.healing.databases import Databases


def test_a_database_that_is_started_again_is_found_at_its_new_address_though_its_name_never_went(
    hosts: str, root: str
) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        path = f"{layout.root}/heal/alive/d1"

        def here(port: int) -> bytes:
            return encode(RunningDatabase(host="127.0.0.1", port=port))

        async with await Coord.connect(hosts) as coord:
            await coord.create(path, here(1001))
            async with Databases(coord, layout, "") as databases:
                first = await databases.client()
                # Like a restart before the old session has ended: the name is never missing.
                await coord.transaction([Delete(path, 0), Create(path, here(1002))])
                async with asyncio.timeout(10):
                    while databases._addresses != [("127.0.0.1", 1002)]:
                        await asyncio.sleep(0.02)
                assert await databases.client() is not first

    within(scenario(), 60.0)
