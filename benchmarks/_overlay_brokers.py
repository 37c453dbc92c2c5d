"""All brokers of the overlay benchmark in one process.

`python -m benchmarks._overlay_brokers BROKERS FOLDER`, with journals in the folder. Prints one line of JSON
when every link is up and the brokers have been idle for a while: where they listen, and this process's
memory before the first broker was made and now. Every line of input is answered with the memory at that
moment; when the input ends, the brokers stop.
"""

import asyncio
import gc
import json
import os
import sys
from pathlib import Path

from benchmarks._overlay_work import SHAPE

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.running import run
from regraft.filters import parse
from regraft.lab.workload import tree

IDLE = 3.0
"""Seconds after linking: heartbeats have passed on every link."""
LINKING = 120.0


def memory() -> int:
    """Resident bytes of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def main(brokers: int, folder: Path) -> None:
    parse("x > 1")  # what the first broker would load for all of them is not the price of a broker
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    before = memory()
    overlay = Overlay(tree(brokers, SHAPE), lambda id, near: Configuration(id, near, state=folder))
    async with overlay:
        async with asyncio.timeout(LINKING):
            while not all(_linked(overlay, id) for id in overlay.servers):
                await asyncio.sleep(0.1)
        await asyncio.sleep(IDLE)
        _say({"addresses": overlay.addresses, "before": before, "idle": memory()})
        while await lines.readline():
            faults = {id: server.fault for id, server in overlay.servers.items() if server.fault}
            _say({"memory": memory(), "faults": faults})


def _linked(overlay: Overlay, id: str) -> bool:
    core = overlay.servers[id].core
    if core is None:
        return False
    seen = core.inspect()
    return seen.ready and all(state == "up" for state in seen.links.values())


def _say(document: dict[str, object]) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    run(main(int(sys.argv[1]), Path(sys.argv[2])))
