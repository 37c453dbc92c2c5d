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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regraft.broker.io.running import run
from regraft.client import Event, Session, Subscription, connect
from regraft.lab.ipitt_workload import PUBLISHERS, publications, subscriptions

ADVERTISED = "x >= 0 AND x <= 1000 AND y >= 0 AND y <= 1000"
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
    async with AsyncExitStack() as stack:
        gate = asyncio.Semaphore(AT_ONCE)

        async def enter(number: int) -> asyncio.Task[None]:
            async with gate:
                placed = _subscribed(brief.homes[number], filters[number])
                subscription = await stack.enter_async_context(placed)
            return asyncio.create_task(_take(number, subscription, came))

        taking = await asyncio.gather(*[enter(number) for number in range(len(brief.homes))])
        print("ready", flush=True)
        await line()
        for task in taking:
            task.cancel()
        np.save(file, np.array(came, np.float64).reshape(-1, 4))
        print("done", flush=True)
        await line()


@asynccontextmanager
async def _subscribed(where: str, filter: str) -> AsyncIterator[Subscription]:
    session: Session
    async with connect(where, timeout=PATIENCE) as session:
        yield await session.subscribe(filter)


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
