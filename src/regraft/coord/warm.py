"""Makes ZooKeeper start in half the time: `python -m regraft.coord.warm`.

Java writes the classes that a short run has loaded into an archive (class data sharing). Later servers map
that file instead of reading each class from its jar.
"""

import asyncio
import os
import subprocess

from regraft.coord.client import Coord
from regraft.coord.ports import LOOPBACK, free_ports
from regraft.coord.server_files import ARCHIVE, ServerOptions, write_files
from regraft.coord.temporary import TemporaryFolder


async def warm() -> None:
    """Serve one client for a moment, with the requests that Regraft makes."""
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    new = ARCHIVE.with_name(f"{ARCHIVE.name}.{os.getpid()}.new")
    with TemporaryFolder("zookeeper") as place:
        ports = free_ports(1)
        command = write_files(place, 1, ports, ServerOptions(synced=False), writing=new)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                async with await Coord.connect(f"{LOOPBACK}:{ports[0].client}", timeout=60.0) as coord:
                    await coord.create("/warm", b"")
                    await coord.set("/warm", b"1", -1)
                    await coord.children("/")
                    await coord.delete("/warm")
            finally:
                server.terminate()
    if new.exists():
        new.replace(ARCHIVE)


if __name__ == "__main__":
    asyncio.run(warm())
