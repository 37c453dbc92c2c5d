"""Brokers that put segments while the command that follows them is killed, again and again."""

import random
import signal
import subprocess
import time
from pathlib import Path

from tests.measure.processes import command, environment, measure
from tests.measure.telemetry import WIDTH, Brokers, Record

from regraft.measure.ledger import read_state

TABLES = ("traffic_classes", "link_load")


class Writer:
    """Brokers that put their segments whenever they are told to."""

    def __init__(self, folder: Path, records: list[Record]) -> None:
        folder.mkdir()
        self.folder = folder
        self.left = sorted(records, key=lambda record: record["at"])
        self._brokers = Brokers(folder)

    def write(self, count: int) -> None:
        some, self.left = self.left[:count], self.left[count:]
        self._brokers.put(some)


def kill_again_and_again(writer: Writer, out: Path, kills: int, chance: random.Random) -> list[int]:
    """How many commits there were at each kill; at the end the command ends by itself."""
    arguments = (str(writer.folder), "--out", str(out), "--follow", "--tables", ",".join(TABLES))
    killed = []
    for left in range(kills, 0, -1):
        portion = max(10, len(writer.left) // (left * 6))
        process = subprocess.Popen(
            command(*arguments, "--spark", "local[2]"), env=environment(), stderr=subprocess.DEVNULL
        )
        seen = commits(out)
        moment = seen + chance.randrange(1, 4)
        writer.write(portion)
        while commits(out) < moment and process.poll() is None:
            if commits(out) > seen:
                seen = commits(out)
                writer.write(portion)
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed.append(commits(out))
    while writer.left:
        writer.write(1000)
    done = measure(*arguments, "--spark", "local[2]", "--stop-when-idle", "1", "--json")
    assert done.returncode == 0, done.stderr
    return killed


def commits(out: Path) -> int:
    return read_state(out, WIDTH).commit
