"""Publishers and subscribers on a running overlay, until the input ends: far brokers talk to each other.

`python -m benchmarks._loop_traffic DIRECTORY RATE`; at the end one JSON line: published, delivered.
"""

import asyncio
import json
import sys
from pathlib import Path

from regraft.client import Session, Subscription, connect


class Talk:
    def __init__(self, directory: Path, rate: float) -> None:
        rows = json.loads(directory.read_text())["brokers"]
        self.at = {id: row["address"] for id, row in rows.items()}
        ids = sorted(self.at)
        half = len(ids) // 2
        self.pairs = [(ids[number], ids[number + half]) for number in range(half)]
        self.pause = half / rate
        self.published = 0
        self.delivered = 0
        self.stopping = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            receiving = []
            for number, (_, to) in enumerate(self.pairs):
                session = await connect(self.at[to]).__aenter__()
                subscription = await session.subscribe(f"topic = 't{number}'")
                receiving.append(group.create_task(self._receive(subscription)))
            sending = [
                group.create_task(self._send(number, start)) for number, (start, _) in enumerate(self.pairs)
            ]
            await asyncio.to_thread(sys.stdin.read)
            self.stopping.set()
            await asyncio.gather(*sending)
            for _ in range(100):
                if self.delivered >= self.published:
                    break
                await asyncio.sleep(0.1)
            for task in receiving:
                task.cancel()
        print(json.dumps({"published": self.published, "delivered": self.delivered}))

    async def _receive(self, subscription: Subscription) -> None:
        async for _ in subscription:
            self.delivered += 1

    async def _send(self, number: int, start: str) -> None:
        session: Session
        async with connect(self.at[start]) as session:
            await session.advertise(f"topic = 't{number}'")
            while not self.stopping.is_set():
                await session.publish({"topic": f"t{number}", "value": self.published})
                self.published += 1
                await asyncio.sleep(self.pause)


if __name__ == "__main__":
    asyncio.run(Talk(Path(sys.argv[1]), float(sys.argv[2])).run())
