"""The clients of the overlay benchmark: `python -m benchmarks._overlay_clients publish|subscribe BRIEF FILE`.

BRIEF is a JSON file, a `Brief`. The subscribers all in one process, the publishers in another. Each prints
`ready` when its filters are in place and waits for a line. The publishers then publish at their pace and
print `done` when everything is acknowledged: from then on nothing that was due may be missing. The
subscribers write their arrivals to FILE at the next line, and print `done`.
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
from benchmarks._overlay_work import ROOT, SHAPE, Arrivals, leaves

from regraft.broker.io.running import run
from regraft.client import Event, Session, Subscription, connect
from regraft.lab.ipitt_workload import PUBLISHERS, Publication, homes, publications, subscriptions
from regraft.lab.workload import tree

ADVERTISED = "x >= 0 AND x <= 1000 AND y >= 0 AND y <= 1000"
AT_ONCE = 50
"""Clients that connect at the same time."""
PATIENCE = 120.0


class Brief(NamedTuple):
    """What both processes and the judge must agree on."""

    brokers: int
    subscribers: int
    seconds: float
    seed: int
    addresses: dict[str, tuple[str, int]]

    def publications(self) -> list[Publication]:
        return list(publications(self.seconds, self.seed))


def save(arrivals: Arrivals, file: Path) -> None:
    np.savez(file, arrivals.subscribers, arrivals.publications, arrivals.seconds)


def load(file: Path) -> Arrivals:
    with np.load(file) as columns:
        return Arrivals(*columns.values())


async def publish(brief: Brief, file: Path, line: Callable[[], Awaitable[bytes]]) -> None:
    """Every publisher at its own pace; an event's data are its number and when it was to leave."""
    where = "{}:{}".format(*brief.addresses[ROOT])
    async with AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(connect(where, timeout=PATIENCE)) for _ in range(PUBLISHERS)
        ]
        await asyncio.gather(*[session.advertise(ADVERTISED) for session in sessions])
        print("ready", flush=True)
        await line()
        start = time.monotonic()
        for number, (at, publisher, attributes) in enumerate(brief.publications()):
            if (early := start + at - time.monotonic()) > 0:
                await asyncio.sleep(early)
            data = np.array([number, start + at], np.float64).tobytes()
            await sessions[publisher].send(Event(attributes, data))
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*[session.flush() for session in sessions])
        print("done", flush=True)
        await line()


async def subscribe(brief: Brief, file: Path, line: Callable[[], Awaitable[bytes]]) -> None:
    places = homes(brief.subscribers, leaves(tree(brief.brokers, SHAPE)), brief.seed)
    filters = list(subscriptions(brief.subscribers, brief.seed).filters())
    came: list[tuple[int, float, float]] = []
    async with AsyncExitStack() as stack:
        gate = asyncio.Semaphore(AT_ONCE)

        async def enter(number: int) -> asyncio.Task[None]:
            where = "{}:{}".format(*brief.addresses[places[number]])
            async with gate:
                subscription = await stack.enter_async_context(_subscribed(where, filters[number]))
            return asyncio.create_task(_take(number, subscription, came))

        taking = await asyncio.gather(*[enter(number) for number in range(brief.subscribers)])
        print("ready", flush=True)
        await line()
        for task in taking:
            task.cancel()
        columns = np.array(came, np.float64).reshape(-1, 3)
        save(Arrivals(columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2]), file)
        print("done", flush=True)
        await line()


@asynccontextmanager
async def _subscribed(where: str, filter: str) -> AsyncIterator[Subscription]:
    session: Session
    async with connect(where, timeout=PATIENCE) as session:
        yield await session.subscribe(filter)


async def _take(subscriber: int, subscription: Subscription, came: list[tuple[int, float, float]]) -> None:
    async for event in subscription:
        number, sent = np.frombuffer(event.data, np.float64).tolist()
        came.append((subscriber, number, time.monotonic() - sent))


async def main(role: str, brief: Path, file: Path) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    act = publish if role == "publish" else subscribe
    await act(Brief(**json.loads(brief.read_text())), file, lines.readline)


if __name__ == "__main__":
    run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
