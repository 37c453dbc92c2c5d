"""Clients of the large run: `python -m benchmarks._loop_large_clients publish|subscribe BRIEF FILE`.

BRIEF is a JSON file: the size, and where the brokers listen. Each process prints `ready` when its filters are
in place. The publishers then read a time (seconds since 1970) and begin at it; they print `done` when
everything is acknowledged: from then on nothing that was due may be missing. The subscribers write their
arrivals to FILE at the next line, and print `done`.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import numpy as np
from benchmarks._loop_large_work import Size

from regraft.broker.io.running import run
from regraft.client import Event, Session, Subscription, connect
from regraft.lab.ipitt_workload import PUBLISHERS, subscriptions

ADVERTISED = "x >= 0 AND x <= 1000 AND y >= 0 AND y <= 1000"
AT_ONCE = 50
"""Clients that connect at the same time."""
PATIENCE = 120.0
Line = Callable[[], Awaitable[bytes]]


async def publish(size: Size, at: dict[str, str], file: Path, line: Line) -> None:
    """An event's data are its number and when it was to leave: who is late sends late, and it counts."""
    async with AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(connect(at[spot], timeout=PATIENCE))
            for spot in size.hot_spots()
            for _ in range(PUBLISHERS)
        ]
        await asyncio.gather(*[session.advertise(ADVERTISED) for session in sessions])
        print("ready", flush=True)
        begins = float(await line())
        start = time.monotonic() + begins - time.time()
        for number, publication in enumerate(size.publications()):
            leaves = start + publication.at
            if (early := leaves - time.monotonic()) > 0:
                await asyncio.sleep(early)
            data = np.array([number, leaves], np.float64).tobytes()
            await sessions[size.stream(publication)].send(Event(publication.attributes, data))
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*[session.flush() for session in sessions])
        print("done", flush=True)
        await line()


async def subscribe(size: Size, at: dict[str, str], file: Path, line: Line) -> None:
    places = size.homes()
    filters = list(subscriptions(size.subscribers, size.seed).filters())
    came: list[tuple[int, float, float, float]] = []
    async with AsyncExitStack() as stack:
        gate = asyncio.Semaphore(AT_ONCE)

        async def enter(number: int) -> "asyncio.Task[None]":
            async with gate:
                entered = _subscribed(at[places[number]], filters[number])
                subscription = await stack.enter_async_context(entered)
            return asyncio.create_task(_take(number, subscription, came))

        taking = await asyncio.gather(*[enter(number) for number in range(size.subscribers)])
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
        now = time.monotonic()
        came.append((subscriber, number, now - sent, sent))


async def main(role: str, brief: Path, file: Path) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    told = json.loads(brief.read_text())
    act = publish if role == "publish" else subscribe
    await act(Size(*told["size"]), told["addresses"], file, lines.readline)


if __name__ == "__main__":
    run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
