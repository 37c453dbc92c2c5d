"""A spool that grows while the command that follows it is killed, again and again."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path

from tests.measure.processes import command, environment, measure
from tests.measure.telemetry import Record, line

TABLES = ("traffic_classes", "link_load")


class Writer:
    """A broker's spool that grows, is synchronised at any byte, and is rotated."""

    def __init__(self, folder: Path, records: list[Record], chance: random.Random) -> None:
        folder.mkdir()
        self.folder, self.chance = folder, chance
        self.text = "".join(line(record) + "\n" for record in records).encode()
        self.file = 0

    def write(self, most: int) -> None:
        """Some more bytes; now and then the file is finished, at the end of a line."""
        count = min(len(self.text), self.chance.randrange(most // 2, most))
        path = self.folder / f"b-{self.file}.ndjson.open"
        with path.open("ab") as file:
            file.write(self.text[:count])
        self.text = self.text[count:]
        if self.chance.random() < 0.3 or not self.text:
            end = 0 if path.read_bytes().endswith(b"\n") else self.text.find(b"\n") + 1
            with path.open("ab") as file:
                file.write(self.text[:end])
            self.text = self.text[end:]
            path.rename(path.with_suffix(""))
            self.file += 1


def kill_again_and_again(writer: Writer, out: Path, kills: int, chance: random.Random) -> list[int]:
    """How many commits had been begun at each kill; at the end the command ends by itself."""
    arguments = (str(writer.folder), "--out", str(out), "--follow", "--tables", ",".join(TABLES))
    killed = []
    for left in range(kills, 0, -1):
        portion = max(1000, len(writer.text) // (left * 6))
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
    while writer.text:
        writer.write(100_000)
    done = measure(*arguments, "--spark", "local[2]", "--stop-when-idle", "1", "--json")
    assert done.returncode == 0, done.stderr
    return killed


def commits(out: Path) -> int:
    """How many commits were begun."""
    state = out / "_state.json"
    return int(json.loads(state.read_bytes())["commit"]) if state.exists() else 0
