"""The broker that is attacked: a process of its own, its log and its memory watched from outside."""

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._hostile_attacks import KNOWN
from benchmarks._hostile_enemy import plain
from benchmarks._load import Load
from benchmarks._peer_regraft import RegraftChain

from regraft.broker.core import BrokerSettings
from regraft.broker.io.__main__ import to_json
from regraft.broker.io.configuration import Allowed, Configuration, Tokens

HASTY = Allowed(hello_seconds=1.0, silent_seconds=3.0, stalled_seconds=1.0)
"""Slow peers are cut off sooner than by default: a trial lasts for seconds."""
SLOW_SECONDS = 1.0
"""The policy for slow subscribers is to disconnect; the other one is to hold publishers back."""
TOKENS = Tokens(clients={KNOWN: "a secret", "*": ""})
SAMPLED = 0.02


@dataclass
class Target:
    """`peak` is the most memory (bytes) seen so far."""

    port: int
    process: "subprocess.Popen[str]"
    log: Path
    peak: int = 0

    def publisher(self, load: Load) -> Sequence[str]:
        return RegraftChain(self.port, self.port).publisher(load)

    def subscriber(self, load: Load) -> Sequence[str]:
        return RegraftChain(self.port, self.port).subscriber(load)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def reasons(self) -> Counter[str]:
        """Why the broker closed connections, by its own account."""
        return closed(self.log.read_text(errors="replace"))


def closed(log: str) -> Counter[str]:
    """Reasons and how often; without that of every client that says goodbye."""
    reasons = Counter(plain(reason) for reason in re.findall(r"closed connection \d+: (.*)", log))
    del reasons["the session has ended"]
    return reasons


@contextmanager
def attacked() -> Iterator[Target]:
    """A new broker with a journal; it ends with the block."""
    with TemporaryDirectory(prefix="regraft-bench-") as name:
        folder = Path(name)
        configuration = Configuration(
            "b0",
            state=folder,
            settings=BrokerSettings(slow_seconds=SLOW_SECONDS),
            allowed=HASTY,
            tokens=TOKENS,
        )
        log = folder / "log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "regraft.processes", "regraft.broker.io"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "REGRAFT_LOG": "INFO"},
                start_new_session=True,
            )
        done = threading.Event()
        try:
            target = Target(_told(process, to_json(configuration))["address"][1], process, log)
            _told(process, "{}")
            threading.Thread(target=_watch, args=(target, done), daemon=True).start()
            yield target
        finally:
            done.set()
            process.kill()
            process.communicate()


def _told(process: "subprocess.Popen[str]", line: str) -> dict[str, list[int]]:
    assert process.stdin
    assert process.stdout
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer: dict[str, list[int]] = json.loads(process.stdout.readline() or '{"fault": "ended"}')
    if "fault" in answer:
        sys.exit(f"bench: the broker does not start: {answer['fault']}")
    return answer


def _watch(target: Target, done: threading.Event) -> None:
    statm, page = Path(f"/proc/{target.process.pid}/statm"), os.sysconf("SC_PAGE_SIZE")
    while not done.wait(SAMPLED):
        try:
            target.peak = max(target.peak, int(statm.read_text().split()[1]) * page)
        except (OSError, IndexError):  # it has ended
            return
