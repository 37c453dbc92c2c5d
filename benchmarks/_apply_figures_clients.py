"""The clients of the plan execution experiment.

`python -m benchmarks._apply_figures_clients publish|subscribe BRIEF FILE`: BRIEF is a JSON file, a `Brief`.
All subscribers are in one process, all publishers in another. Each prints `ready` when its filters are in
place. The publishers begin at the next line of input and stop at the one after it; when everything is
acknowledged, so that nothing that was due may be missing, they print how many publications there were and
when the first was to leave. The subscribers write what arrived to FILE at the next line, and print `done`.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regraft.broker.io.running import run
from regraft.client import Event, Subscription, connect
from regraft.lab.ipitt_workload import PUBLISHERS, publications, subscriptions

ADVERTISED = "x >= 0 AND x <= 1000 AND y >= 0 AND y <= 1000"
SESSIONS = 1_000
"""Subscribers beyond so many share sessions: heartbeats alone would keep this machine busy."""
AT_ONCE = 50
"""Clients that connect at the same time."""
PATIENCE = 180.0
WITHOUT_END = 1e9
Line = Callable[[], Awaitable[bytes]]


class Brief(NamedTuple):
    """Addresses: of the publishers' broker, and of that of each subscriber."""

    root: str
    homes: list[str]
    seed: int


async def publish(brief: Brief, file: Path, line: Line) -> None:
    """Every publisher at its own pace; an event's data are its number and when it was to leave."""
    async with AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(connect(brief.root, timeout=PATIENCE)) for _ in range(PUBLISHERS)
        ]
        await asyncio.gather(*[session.advertise(ADVERTISED) for session in sessions])
        print("ready", flush=True)
        await line()
        start = time.monotonic()
        stopping = asyncio.ensure_future(line())
        published = 0
        for at, publisher, attributes in publications(WITHOUT_END, brief.seed):
            if (early := start + at - time.monotonic()) > 0:
                await asyncio.sleep(early)
            if stopping.done():
                break
            data = np.array([published, start + at], np.float64).tobytes()
            await sessions[publisher].send(Event(attributes, data))
            published += 1
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*[session.flush() for session in sessions])
        print(json.dumps({"published": published, "start": start}), flush=True)
        await line()


async def subscribe(brief: Brief, file: Path, line: Line) -> None:
    filters = list(subscriptions(len(brief.homes), brief.seed).filters())
    came: list[tuple[int, float, float, float]] = []
    taking: list[asyncio.Task[None]] = []
    async with AsyncExitStack() as stack:
        gate = asyncio.Semaphore(AT_ONCE)

        async def enter(where: str, numbers: list[int]) -> None:
            async with gate:
                session = await stack.enter_async_context(connect(where, timeout=PATIENCE))
                for number in numbers:
                    subscription = await session.subscribe(filters[number])
                    taking.append(asyncio.create_task(_take(number, subscription, came)))

        await asyncio.gather(*[enter(*each) for each in sessions(brief.homes)])
        print("ready", flush=True)
        await line()
        for task in taking:
            task.cancel()
        np.save(file, np.array(came, np.float64).reshape(-1, 4))
        print("done", flush=True)
        await line()


def sessions(homes: list[str]) -> Iterator[tuple[str, list[int]]]:
    """Subscribers that share a session, and where: one each, as far as there are not too many."""
    size = -(-len(homes) // SESSIONS)
    by_home: dict[str, list[int]] = {}
    for number, home in enumerate(homes):
        by_home.setdefault(home, []).append(number)
    for home, numbers in by_home.items():
        yield from ((home, numbers[first : first + size]) for first in range(0, len(numbers), size))


async def _take(
    subscriber: int, subscription: Subscription, came: list[tuple[int, float, float, float]]
) -> None:
    async for event in subscription:
        number, sent = np.frombuffer(event.data, np.float64).tolist()
        came.append((subscriber, number, sent, time.monotonic()))


async def main(role: str, brief: Path, file: Path) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    act = publish if role == "publish" else subscribe
    await act(Brief(**json.loads(brief.read_text())), file, lines.readline)


if __name__ == "__main__":
    run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
