"""`scripts/bench heal`, migration of components: Mimosa Pudica's four applications between two hosts."""

import asyncio
import json
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks._table import Line

from regraft.components.bundle import folder_files
from regraft.components.caller import Calls
from regraft.components.directory import ZookeeperDirectory
from regraft.components.messages import Order
from regraft.components.signing import make_key, private_key, signed_bundle
from regraft.coord import Coord, Ensemble, Layout

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "components"
SEED_MS = {"chat": 161, "remote_search": 201, "file_transfer": 189, "update": 184}
"""Mimosa Pudica, Table 1."""
WANTED_MS = 160.0
MOVES = 20
LOAD_PAUSE = 0.002
"""Seconds between two calls of the caller that calls all the time."""
SETTLE = 1.0
"""Seconds between two moves: as long as a spare worker needs to be there again."""


def lines() -> Iterator[Line]:
    yield from asyncio.run(_measure())


async def _measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trusted").mkdir()
        make_key(folder / "key")
        (folder / "key.pub").rename(folder / "trusted" / "key.pub")
        servers = Ensemble()
        await servers.start()
        try:
            async with hosts(folder, servers.hosts), await Coord.connect(servers.hosts) as coord:
                directory = ZookeeperDirectory(coord, Layout())
                async with Calls.open(directory) as calls:
                    return [await _line(calls, folder, application) for application in SEED_MS]
        finally:
            await servers.stop()


@asynccontextmanager
async def hosts(folder: Path, zookeeper: str) -> AsyncIterator[None]:
    """b1 and b2, each a process of its own."""
    processes: list[Process] = []
    try:
        for id in ("b1", "b2"):
            options = ("--id", id, "--folder", folder / id, "--trusted", folder / "trusted")
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "regraft.components", *map(str, options)),
                *("--zookeeper", zookeeper, "--guarded"),
                stdin=PIPE,
                stdout=PIPE,
            )
            assert process.stdout is not None
            json.loads(await process.stdout.readline())
            processes.append(process)
        yield
    finally:
        for process in processes:
            process.terminate()
            await process.wait()


async def _line(calls: Calls, folder: Path, application: str) -> Line:
    """The delay as the one who orders it sees it, and the longest that a call had to wait meanwhile."""
    bundle = signed_bundle(folder_files(EXAMPLES / application), private_key(folder / "key"), application)
    await _order(calls, "b1", Order(number=0, kind="create", name=application, data=bundle))
    await _fill(calls, application)
    over = asyncio.Event()
    waits: list[float] = []
    load = asyncio.create_task(_load(calls, application, over, waits))
    moves: list[float] = []
    for move in range(MOVES):
        await asyncio.sleep(SETTLE)
        source, target = ("b1", "b2") if move % 2 == 0 else ("b2", "b1")
        begun = time.perf_counter()
        await _order(calls, source, Order(number=0, kind="migrate", name=application, target=target))
        moves.append(1000 * (time.perf_counter() - begun))
    over.set()
    await load
    await _order(calls, "b1", Order(number=0, kind="terminate", name=application))
    first, middle, worst = moves[0], median(moves), max(moves)
    longest = 1000 * max(waits)
    what = f"migration of {application} under calls (seed: {SEED_MS[application]} ms), {MOVES} moves"
    measured = (
        f"{middle:.1f} ms (p95 {quantiles(moves, n=20)[-1]:.1f}, worst {worst:.1f}; the first, with code, "
        f"{first:.1f}); longest wait of {len(waits)} calls {longest:.1f} ms, none lost"
    )
    data: dict[str, Any] = {
        "median_ms": middle,
        "worst_ms": worst,
        "first_ms": first,
        "moves_ms": moves,
        "calls": len(waits),
    }
    return Line(
        what, f"{WANTED_MS:g} ms", measured, middle <= WANTED_MS, {**data, "longest_wait_ms": longest}
    )


async def _order(calls: Calls, host: str, order: Order) -> None:
    ended = await calls.order(host, order)
    if ended is None or ended.refused:
        raise RuntimeError(f"{order.kind} {order.name} at {host}: {ended and ended.refused}")


async def _fill(calls: Calls, application: str) -> None:
    """Some state, as such an application has."""
    if application == "chat":
        await calls.call("chat", "join", "ann")
        for number in range(100):
            await calls.call("chat", "say", "ann", f"line {number}")
    elif application == "remote_search":
        documents = {f"d{i}": " ".join(f"w{(i * k) % 997}" for k in range(1, 60)) for i in range(200)}
        await calls.call("remote_search", "index", documents)
    elif application == "file_transfer":
        await calls.call("file_transfer", "put", "f", bytes(range(256)) * 4096)  # 1 MiB
    else:
        for number in range(50):
            await calls.call("update", "command", f"a{number}", "1.1", {"kept": number})


PROBES: dict[str, tuple[Any, ...]] = {
    "chat": ("say", "ann", "hello"),
    "remote_search": ("search", "w5 w7"),
    "file_transfer": ("names",),
    "update": ("command", "a1", "1.2"),
}


async def _load(calls: Calls, application: str, over: asyncio.Event, waits: list[float]) -> None:
    """Calls all the time; each must be answered, and those of the chat are numbered without a gap."""
    last = 100
    while not over.is_set():
        begun = time.perf_counter()
        answer = await calls.call(application, *PROBES[application])
        waits.append(time.perf_counter() - begun)
        if application == "chat":
            assert answer == last + 1, f"line {answer} after {last}"
            last = answer
        await asyncio.sleep(LOAD_PAUSE)
