"""Our own broker, one process each, measured like the others: with a journal, without telemetry."""

import asyncio
import itertools
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._load import Load

import regraft
from regraft.broker.io.broker_processes import BrokerProcesses
from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.model import Topology

WINDOW = 4096
"""What our broker takes unacknowledged from one publisher, by default."""


@dataclass(frozen=True)
class RegraftChain:
    first: int
    last: int
    processes: tuple[int, ...] = ()
    """The ids of the brokers' processes."""

    def publisher(self, load: Load) -> Sequence[str]:
        return self._command("publish", self.first, load)

    def subscriber(self, load: Load) -> Sequence[str]:
        return self._command("subscribe", self.last, load)

    def _command(self, role: str, port: int, load: Load) -> Sequence[str]:
        words = replace(load, window=WINDOW).words()
        return [sys.executable, "-m", "benchmarks._load_regraft", role, str(port), *words]


@dataclass(frozen=True)
class Regraft:
    name: str = "Regraft"
    one_in: int = 0
    """Brokers record one publication in so many, and count all; 0: they have no telemetry."""

    def version(self) -> str:
        return regraft.__version__

    @contextmanager
    def chain(self, brokers: int) -> Iterator[RegraftChain]:
        ids = [f"b{i}" for i in range(brokers)]
        topology = Topology.of(itertools.pairwise(ids), ids)
        with TemporaryDirectory(prefix="regraft-bench-") as folder:
            state = Path(folder)
            telemetry = Telemetry(state / "telemetry", self.one_in) if self.one_in else None
            overlay = BrokerProcesses(
                topology, lambda id, near: Configuration(id, near, state=state, telemetry=telemetry)
            )
            with _running(overlay):
                processes = tuple(each.pid for each in overlay.running.values())
                first, last = (overlay.addresses[id][1] for id in (ids[0], ids[-1]))
                yield RegraftChain(first, last, processes)


@contextmanager
def _running(overlay: BrokerProcesses) -> Iterator[None]:
    """The overlay's event loop in a thread: the measurement is plain blocking code."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(overlay.__aenter__(), loop).result()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(overlay.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
