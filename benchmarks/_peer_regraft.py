"""Our own broker, one process each, measured like the others: journal on the disk, no telemetry."""

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
from benchmarks._peers import Chain

import regraft
from regraft.broker.io.broker_processes import BrokerProcesses
from regraft.broker.io.configuration import Configuration
from regraft.model import Topology

WINDOW = 4096
"""What our broker takes unacknowledged from one publisher, by default."""


@dataclass(frozen=True)
class RegraftChain:
    first: int
    last: int

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

    def version(self) -> str:
        return regraft.__version__

    @contextmanager
    def chain(self, brokers: int) -> Iterator[Chain]:
        ids = [f"b{i}" for i in range(brokers)]
        topology = Topology.of(itertools.pairwise(ids), ids)
        with TemporaryDirectory(prefix="regraft-bench-") as folder:
            state = Path(folder)
            overlay = BrokerProcesses(topology, lambda id, near: Configuration(id, near, state=state))
            with _running(overlay):
                yield RegraftChain(overlay.addresses[ids[0]][1], overlay.addresses[ids[-1]][1])


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
