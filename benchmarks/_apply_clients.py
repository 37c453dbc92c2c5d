"""Numbered traffic through an overlay while it changes, in a process of its own.

`python -m benchmarks._apply_clients BRIEF FILE`. Prints `ready` when every filter is in place and the
publishers have begun; at the next line of input they stop, and everything that is due is waited for. Then
every delivery is in FILE, and one line of JSON says how many were published and what became of them.
"""

import asyncio
import itertools
import json
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regraft.broker.io.running import run
from regraft.client import Event, Session, Subscription, connect

PATIENCE = 90.0


class Brief(NamedTuple):
    """`publishers` and `subscribers` are addresses; subscriber s wants publishers s, s + 1, … (`each`)."""

    publishers: list[str]
    rate: float
    """Of all publishers together, in messages per second."""
    subscribers: list[str]
    each: int
    bytes: int = 100
    durable: bool = False

    def wanted(self, subscriber: int) -> list[int]:
        return [(subscriber + more) % len(self.publishers) for more in range(self.each)]


class Traffic:
    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self.published = [0] * len(brief.publishers)
        self.acknowledged = True
        self.rows: list[tuple[float, float, float, float, float]] = []
        """Subscriber, publisher, number, sent at, received at."""
        self.stop = asyncio.Event()

    async def publish(self, index: int, session: Session) -> None:
        """In small bursts, so that the clock of this process does not limit the rate."""
        pause = max(0.005, len(self.brief.publishers) / self.brief.rate)
        count = self.brief.rate / len(self.brief.publishers) * pause
        padding = bytes(self.brief.bytes)
        due, at = 0.0, time.monotonic()
        while not self.stop.is_set():
            due += count
            while self.published[index] < int(due):
                self.published[index] += 1
                attributes = {"p": index, "n": self.published[index], "at": time.time()}
                await session.send(Event(attributes, padding))  # type: ignore[arg-type]
            at = max(at + pause, time.monotonic() - 0.2)  # what was held up is not hurried after for long
            await asyncio.sleep(max(0.0, at - time.monotonic()))
        await session.flush()

    async def take(self, index: int, subscription: Subscription) -> None:
        async for batch in subscription.batches():
            now = time.time()
            for event in batch:
                seen = event.attributes
                self.rows.append((index, seen["p"], seen["n"], seen["at"], now))  # type: ignore[arg-type]

    def due(self) -> int:
        return sum(
            self.published[p] for s in range(len(self.brief.subscribers)) for p in self.brief.wanted(s)
        )


def verdict(traffic: Traffic) -> dict[str, Any]:
    streams: dict[tuple[int, int], list[int]] = {}
    for s, p, n, _, _ in traffic.rows:
        streams.setdefault((int(s), int(p)), []).append(int(n))
    lost = duplicated = reordered = 0
    for s in range(len(traffic.brief.subscribers)):
        for p in traffic.brief.wanted(s):
            came = streams.get((s, p), [])
            distinct = set(came)
            lost += traffic.published[p] - len(distinct)
            duplicated += len(came) - len(distinct)
            reordered += sum(b < a for a, b in itertools.pairwise(came))
    return {
        "published": sum(traffic.published),
        "due": traffic.due(),
        "delivered": len(traffic.rows),
        "lost": lost,
        "duplicated": duplicated,
        "reordered": reordered,
    }


async def main(brief: Brief, file: Path) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    traffic = Traffic(brief)
    async with AsyncExitStack() as stack:

        async def enter(where: str, name: str) -> Session:
            session = connect(where, name=name, durable=brief.durable, timeout=PATIENCE)
            return await stack.enter_async_context(session)

        publishers = [await enter(where, f"pub-{n}") for n, where in enumerate(brief.publishers)]
        for n, publisher in enumerate(publishers):
            await publisher.advertise(f"p = {n}")
        takers = []
        for n, where in enumerate(brief.subscribers):
            wanted = " OR ".join(f"p = {p}" for p in brief.wanted(n))
            subscription = await (await enter(where, f"sub-{n}")).subscribe(wanted)
            takers.append(asyncio.create_task(traffic.take(n, subscription)))
        sending = [asyncio.create_task(traffic.publish(n, each)) for n, each in enumerate(publishers)]
        print("ready", flush=True)
        await lines.readline()
        traffic.stop.set()
        _, late = await asyncio.wait(sending, timeout=PATIENCE)
        until = time.monotonic() + (PATIENCE if late else 10.0)
        while len(traffic.rows) < traffic.due() and time.monotonic() < until:
            await asyncio.sleep(0.05)
        np.save(file, np.array(traffic.rows, np.float64).reshape(-1, 5))
        print(json.dumps(verdict(traffic) | {"unacknowledged": len(late)}), flush=True)
        for task in (*sending, *takers):
            task.cancel()
        await lines.readline()


if __name__ == "__main__":
    run(main(Brief(**json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2])))
