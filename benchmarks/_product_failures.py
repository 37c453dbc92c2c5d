"""One random failure a minute: whom it strikes, who starts it again, and when it is healed.

Of ten failures seven are `kill -9` of a node, one each of the ZooKeeper server, of a destination database and
of Spark's Java, in random order. Nodes are started again some seconds later, as a systemd unit would; also
those that have ended by themselves because they were taken for dead.
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from benchmarks._product_memory import descendants, is_java

from regraft.demo.running import Scene
from regraft.demo.stage import Stage
from regraft.heal.database.client import DatabaseClient
from regraft.model import RegraftError
from regraft.serve.service import Service

DECK = ("node",) * 7 + ("zookeeper", "database", "java")
REST_SECONDS = (2.0, 6.0)
"""Before what was killed is started again."""
HEAL_SECONDS = 300.0
POLL_SECONDS = 0.1
LOOK_SECONDS = 0.25


@dataclass
class Failure:
    """`healed`: seconds until all was as before; None: not within the time."""

    at: float
    kind: str
    victim: str
    healed: float | None = None
    around: float | None = None
    """Of a node: seconds until the others had removed it from the topology, if they did."""
    note: str = ""


def kinds(rng: Random, deck: tuple[str, ...] = DECK) -> Iterator[str]:
    """Random, but each as often as it is in the deck."""
    while True:
        yield from rng.sample(deck, len(deck))


@dataclass
class Supervisor:
    """Starts nodes again that have ended, whoever ended them; `joined`: when each was back in the overlay."""

    stage: Stage
    rng: Random
    joined: dict[str, float] = field(default_factory=dict)
    restarts: Counter[str] = field(default_factory=Counter)
    unasked: list[tuple[float, str]] = field(default_factory=list)
    """Nodes that have ended though nobody has killed them."""
    killed: set[str] = field(default_factory=set)

    async def run(self) -> None:
        await asyncio.gather(*[self._keep(id) for id in sorted(self.stage.nodes.running)])

    def up(self, id: str) -> bool:
        process = self.stage.nodes.running.get(id)
        return process is not None and process.returncode is None

    async def _keep(self, id: str) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.up(id):
                continue
            if id not in self.killed:
                self.unasked.append((time.time(), id))
            self.killed.discard(id)
            await asyncio.sleep(self.rng.uniform(*REST_SECONDS))
            self.restarts[id] += 1
            with suppress(RegraftError, OSError):  # it has ended before it was in the overlay: once more
                await self.stage.nodes.restart(id)
                self.joined[id] = time.time()


class Striker:
    """`strike(kind)` does it, and returns when it is healed, or when the time is over."""

    def __init__(self, seen: Scene, supervisor: Supervisor, rng: Random) -> None:
        assert seen.stage is not None
        assert seen.service is not None
        self.failures: list[Failure] = []
        self._seen = seen
        self._stage: Stage = seen.stage
        self._service: Service = seen.service
        self._supervisor = supervisor
        self._rng = rng

    async def strike(self, kind: str) -> Failure:
        of: dict[str, Callable[[Failure], Awaitable[None]]] = {
            "node": self._node,
            "zookeeper": self._zookeeper,
            "database": self._database,
            "java": self._java,
        }
        failure = Failure(time.time(), kind, "")
        self.failures.append(failure)
        try:
            async with asyncio.timeout(HEAL_SECONDS):
                await of[kind](failure)
            failure.healed = time.time() - failure.at
        except TimeoutError:
            failure.note = failure.note or f"not healed within {HEAL_SECONDS:g} s"
        return failure

    async def _node(self, failure: Failure) -> None:
        """Healed: it is in the overlay again, by its own process."""
        there = [id for id in self._seen.brokers if self._supervisor.up(id)]
        id = failure.victim = self._rng.choice(sorted(there))
        self._supervisor.killed.add(id)
        await self._stage.nodes.kill(id)
        failure.at = time.time()
        while self._supervisor.joined.get(id, 0.0) < failure.at:
            if failure.around is None and id not in self._seen.brokers:
                failure.around = time.time() - failure.at
            await asyncio.sleep(POLL_SECONDS)
        await self._until(lambda: id in self._seen.brokers)

    async def _zookeeper(self, failure: Failure) -> None:
        """Healed: it serves, the loop has its lease again, and every node that lived then lives."""
        failure.victim = "zookeeper"
        nodes = {id for id in self._seen.brokers if self._supervisor.up(id)}
        self._stage.ensemble.nodes[0].kill()
        await asyncio.sleep(self._rng.uniform(*REST_SECONDS))
        await self._stage.ensemble.restart(0)
        served = time.time()
        await self._until(lambda: self._service.health().checks.get("coordination") == "ok")
        await self._stage.coord.get(self._stage.layout.topology)
        gone = [id for at, id in self._supervisor.unasked if at >= failure.at and id in nodes]
        failure.note = f"served again after {served - failure.at:.1f} s"
        if gone:
            failure.note += f"; ended by themselves: {', '.join(gone)}"
        for id in gone:
            await self._until(lambda id=id: self._supervisor.joined.get(id, 0.0) >= failure.at)  # type: ignore[misc]

    async def _database(self, failure: Failure) -> None:
        """Healed: it runs again, and a database answers."""
        databases = self._stage.databases
        id = failure.victim = self._rng.choice(sorted(databases.running))
        await databases.kill(id)
        await asyncio.sleep(self._rng.uniform(*REST_SECONDS))
        await databases.start(id)
        client = await DatabaseClient.found(self._stage.coord, self._stage.layout)
        try:
            await client.adaptations(1)
        finally:
            await client.close()

    async def _java(self, failure: Failure) -> None:
        """Healed: another one has measured a window."""
        pid = await self._spark()
        failure.victim = f"java {pid}"
        os.kill(pid, signal.SIGKILL)
        failure.at = time.time()
        await self._until(
            lambda: any(
                each.measured_at > failure.at and each.publications for each in self._service.snapshots(1)
            )
        )

    async def _spark(self) -> int:
        while (pid := spark_java(self._stage)) is None:  # it may just be starting
            await asyncio.sleep(POLL_SECONDS)
        return pid

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.sleep(POLL_SECONDS)


def spark_java(stage: Stage) -> int | None:
    """The Java that the loop has started, which is not ZooKeeper's."""
    zookeeper = stage.ensemble.nodes[0].pid
    found = [pid for pid in descendants(os.getpid()) if is_java(pid) and pid != zookeeper]
    return found[0] if found else None
