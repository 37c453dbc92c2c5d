"""Runs one load through running brokers: two processes, and what they say about what happened."""

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._load import Load, Received, Sent
from benchmarks._peers import Chain, PeerFailed

ROOT = Path(__file__).parent.parent
LONGEST = 300.0
"""Seconds that a load may take before it counts as stuck."""


class Outcome(NamedTuple):
    """`rate` counts from the first message sent to the last one received."""

    rate: float
    sent: Sent
    received: Received

    @property
    def complete(self) -> bool:
        return not (self.received.lost or self.received.repeated or self.received.late)


class LoadFailed(PeerFailed):
    """A load process ended before its report."""


def run(chain: Chain, load: Load) -> Outcome:
    with _Process(chain.subscriber(load)) as subscriber:
        subscriber.expect("ready")
        with _Process(chain.publisher(load)) as publisher:
            publisher.expect("ready")
            subscriber.expect("reached")
            publisher.say("go")
            received = Received(**subscriber.reported())
            sent = Sent(**publisher.reported())
    arrived = load.count - received.lost
    return Outcome(arrived * 1e9 / (received.last_ns - sent.first_ns), sent, received)


class _Process:
    """A load process; it is ended with the block, whatever happens in it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        # Ended from outside, it reports nothing, which is noticed.
        self._limit = threading.Timer(LONGEST, self._process.kill)
        self._limit.start()

    def __enter__(self) -> "_Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._limit.cancel()
        self._process.kill()
        self._process.communicate()

    def say(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def expect(self, line: str) -> None:
        if (got := self._line()) != line:
            raise LoadFailed(f"{' '.join(self._command)}: expected {line!r}, got {got!r}")

    def reported(self) -> Any:
        return json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout
        if not (line := self._process.stdout.readline()):
            raise LoadFailed(f"{' '.join(self._command)} ended without a report")
        return line.rstrip("\n")
