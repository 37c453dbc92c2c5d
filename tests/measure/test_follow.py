"""The stream: what it ends with is what a batch makes of the same spools, whatever happened on the way."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure.processes import command, environment, measure
from tests.measure.telemetry import WIDTH, Record, line, network, spool
from tests.measure.test_run import SOME, everything, measured

from regraft.model.snapshot import Counts, read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def followed(spark: "SparkSession", source: Path, out: Path, **options: Any) -> Counts:
    from regraft.measure.follow import follow
    from regraft.measure.run import Job

    job = Job(source, out, WIDTH, tables=SOME)
    return follow(job, spark, **{"idle": 1.0, "every": 0.1, **options}).counts


def test_a_stream_that_faults_anywhere_goes_on_and_ends_as_a_batch(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step of a commit once: before, between and after its writes."""
    from regraft.measure import follow as module
    from regraft.measure import ingest, publish
    from regraft.measure.session import SparkFault

    source, out = tmp_path / "in", tmp_path / "out"
    records = network(7, 60)
    steps = [
        (module, "ingest"),
        (ingest, "_content"),
        (module, "save"),
        (publish, "_write"),
        (publish, "_make_current"),
        (publish, "save"),
    ]
    for number, (place, name) in enumerate(steps):
        portion = len(records) // len(steps) + 1
        spool(source, f"b-{number}", records[number * portion : (number + 1) * portion])
        with monkeypatch.context() as patch:
            patch.setattr(place, name, _fault)
            with pytest.raises(SparkFault, match=r"^[^\n]*planned[^\n]*$"):
                followed(spark, source, out)
    followed(spark, source, out)
    measured(spark, source, tmp_path / "batch")
    assert read_snapshot(out).counts == Counts(read=len(records), kept=len(records))
    assert everything(spark, out) == everything(spark, tmp_path / "batch")
    # A batch goes on where the stream ended, and a stream where the batch ended.
    assert measured(spark, source, out).counts == Counts()
    spool(source, "c-1", [record | {"broker": "c"} for record in records[:10]])
    assert measured(spark, source, out).counts == Counts(10, 10)
    spool(source, "c-2", [record | {"broker": "d"} for record in records[:10]])
    assert followed(spark, source, out) == Counts(10, 10)


def _fault(*_: Any) -> None:
    raise RuntimeError("planned")


def test_a_window_is_published_when_it_has_closed_and_not_before(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from regraft.measure.follow import closed_windows
    from regraft.measure.state import State, WindowState

    windows = {str(start): WindowState([1], 5) for start in (0, 10_000_000, 20_000_000)}
    windows["0"].dirty = False
    state = State(10_000_000, windows=windows, brokers={"b1": 22_000_000, "b2": 1})
    assert closed_windows(state) == [10_000_000]
    state.brokers["b1"] -= 1
    assert closed_windows(state) == []


class Writer:
    """A broker's spool that grows, is synchronised at any byte, and is rotated."""

    def __init__(self, folder: Path, records: list[Record], chance: random.Random) -> None:
        folder.mkdir()
        self.folder, self.chance = folder, chance
        self.text = "".join(line(record) + "\n" for record in records).encode()
        self.file = 0

    def write(self, share: float) -> None:
        """Some more bytes; now and then the file is finished, at the end of a line."""
        count = min(len(self.text), int(share * len(self.text)) + 1)
        path = self.folder / f"b-{self.file}.ndjson.open"
        with path.open("ab") as file:
            file.write(self.text[:count])
        self.text = self.text[count:]
        if self.chance.random() < 0.5 or not self.text:
            end = self.text.find(b"\n") + 1 if not path.read_bytes().endswith(b"\n") else 0
            with path.open("ab") as file:
                file.write(self.text[:end])
            self.text = self.text[end:]
            path.rename(path.with_suffix(""))
            self.file += 1


def test_killed_and_started_again_it_ends_as_a_batch(spark: "SparkSession", tmp_path: Path) -> None:
    """With `kill -9`, while the spool grows; `scripts/bench restarts` does this ten times and more."""
    chance = random.Random(int(os.environ.get("REGRAFT_MEASURE_SEED", "1")))
    source, out = tmp_path / "in", tmp_path / "out"
    writer = Writer(source, network(11, 300), chance)
    kill_again_and_again(writer, out, 2, chance)
    measured(spark, source, tmp_path / "batch")
    assert read_snapshot(out).counts == read_snapshot(tmp_path / "batch").counts
    assert everything(spark, out) == everything(spark, tmp_path / "batch")


def kill_again_and_again(writer: Writer, out: Path, kills: int, chance: random.Random) -> None:
    arguments = (str(writer.folder), "--out", str(out), "--follow", "--tables", ",".join(sorted(SOME)))
    for _ in range(kills):
        process = subprocess.Popen(
            command(*arguments, "--spark", "local[2]"), env=environment(), stderr=subprocess.DEVNULL
        )
        before = _commits(out)
        moment = before + chance.randrange(1, 5)
        while _commits(out) < moment and process.poll() is None:
            writer.write(chance.uniform(0.01, 0.1))
            time.sleep(0.2)
        time.sleep(chance.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    while writer.text:
        writer.write(0.3)
    done = measure(*arguments, "--spark", "local[2]", "--stop-when-idle", "1", "--json")
    assert done.returncode == 0, done.stderr


def _commits(out: Path) -> int:
    """How many commits were begun."""
    import json

    state = out / "_state.json"
    return int(json.loads(state.read_bytes())["commit"]) if state.exists() else 0
