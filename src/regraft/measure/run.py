"""One run of the pipeline over what is new in a store: look, take in, compute, commit."""

import os
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from regraft.measure.faults import one_line
from regraft.measure.interests import update_interests
from regraft.measure.ledger import Turn, turn
from regraft.measure.looking import look_at
from regraft.measure.publish import Say, count_copies, publish
from regraft.measure.retention import remove_segments
from regraft.measure.segments import NewFile, Source, at_most, check_source, new_files, open_source
from regraft.measure.tables import ALL, Asked
from regraft.measure.taking_in import TakenFile, take_in
from regraft.model import Topology
from regraft.model.snapshot import Counts, Snapshot, read_snapshot
from regraft.model.store import is_address

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from regraft.measure.ledger import PipelineState

LATENESS = 600_000_000
TIMEOUT = 5_000_000
"""A window closes without brokers that have told nothing for this long after its end, in microseconds."""


@dataclass(frozen=True)
class Job:
    """What is measured, and where the tables go: folders or addresses. Lengths and times in microseconds."""

    source: str | Path
    out: str | Path
    width: int
    lateness: int = LATENESS
    top: int | None = None
    topology: Topology | None = None
    tables: frozenset[str] = ALL
    keep: int | None = None
    """Windows that end this long before the newest record are removed; None: none are."""
    most_bytes: int | None = None
    """How many bytes of telemetry one commit takes in, so that an interrupted run loses little; None: all."""
    until: int | None = None
    """Windows that begin then or later are not computed yet; None: all are, as far as they have records."""
    remove_before: int | None = None
    """Segments that were taken in, and have no record of then or later, are removed; None: none are."""

    @property
    def located(self) -> "Job":
        """With whole paths, because the working folder of a Connect server is another one."""
        return replace(self, source=_whole(self.source), out=_whole(self.out))

    @property
    def asked(self) -> Asked:
        return Asked(self.width, self.top, self.topology, self.tables)


@dataclass(frozen=True)
class RunResult:
    """The snapshot after a run, and what became of the records that it read."""

    snapshot: Snapshot
    counts: Counts


def run(job: Job, spark: "SparkSession", say: Say = lambda stage: None) -> RunResult:
    """Measure what is new in the source."""
    check_source(job.source)
    job = job.located
    with turn(str(job.out), job.width) as begun, one_line(str(job.source)):
        source, now, more = open_source(job.source), begun, True
        while more:
            new = new_files(source, now.state.offset)
            some = at_most(new, job.most_bytes)
            more = len(some) < len(new)
            now = measure_files(job, spark, source, now, some, say, only_closed=more)
        if job.remove_before is not None:
            now = remove_segments(source.store, now, job.remove_before)
        return RunResult(read_snapshot(job.out), difference(now.state.counts, begun.state.counts))


def measure_files(
    job: Job,
    spark: "SparkSession",
    source: Source,
    now: Turn,
    files: Sequence[NewFile],
    say: Say,
    *,
    only_closed: bool,
) -> Turn:
    """Take in some files, and commit with them the tables of windows that they change."""
    state, lake = now
    told: list[TakenFile] = []
    if files:
        say("records")
        looked = look_at(spark, source.store, files)
        taken = take_in(spark, source.store, looked, lake, state, job.lateness)
        after, copies = count_copies(spark, source.store, lake, state, taken.state)
        counts = taken.counts
        counts = replace(counts, kept=counts.kept - copies, duplicated=copies)
        total = Counts(**state.counts).plus(counts).as_json()
        state = msgspec.structs.replace(after, counts=total)
        told = taken.interests
    due = closed_windows(state) if only_closed else sorted(state.dirty)
    if job.until is not None:
        due = [start for start in due if start < job.until]
    if files or due or not state.commit:
        with ThreadPoolExecutor(1) as beside:
            interest = beside.submit(update_interests, spark, source.store, lake, told, job.width)
            now, done = Turn(state, lake), interest.result
            state = publish(spark, source.store, now, due, job.asked, say, done, job.keep)
    return Turn(state, lake)


def closed_windows(state: "PipelineState") -> list[int]:
    """Windows whose tables are out of date, and which all living brokers have passed, or which have been over
    for some time."""
    newest = state.newest
    passed = min((last for last in state.brokers.values() if last >= newest - TIMEOUT), default=0)
    return sorted(
        start
        for start in state.dirty
        if start + state.width <= passed or start + state.width + TIMEOUT <= newest
    )


def difference(now: dict[str, int], before: dict[str, int]) -> Counts:
    names: Collection[str] = Counts().as_json()
    return Counts(**{name: now.get(name, 0) - before.get(name, 0) for name in names})


def _whole(place: str | Path) -> str:
    return str(place) if is_address(place) else os.path.abspath(str(place).removeprefix("file://"))
