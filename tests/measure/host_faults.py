"""What happens to a measurement on hosts: executors and drivers are killed, drivers are started twice, the
store is away. Whenever no driver runs, one is started, as whoever operates it would.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.measure import oracle
from tests.measure.host_cluster import BROKERS, Driver, HostBrokers, HostCluster, host_cluster
from tests.measure.processes import measure
from tests.measure.snapshots import table
from tests.measure.telemetry import Record, network

from regraft.model.delta import read_rows
from regraft.model.snapshot import Counts, read_snapshot
from regraft.testing.hosts import LabHost

TABLES = ("traffic_classes", "interest", "link_load", "broker_load", "latency")
"""One of each kind: sets, lists, sums, rates, quantiles."""
IDLE_SECONDS = 3
_SOON = 20.0
"""A driver is killed within so many seconds of its start: while it starts, reads, computes or commits."""
_WHILE_TWO = 3
"""Portions that are put while two drivers run."""
_PROGRESS_SECONDS = 60.0
_WAIT = 300.0
_MOST_FAULTS = 100
"""More drivers that end with a fault than there is a reason for: none will ever get anywhere."""


class Faults(NamedTuple):
    executor_kills: int = 0
    driver_kills: int = 0
    double_starts: int = 0
    away: float = 0.0
    """For how many seconds the store is away: half of it is cut off, half of it stopped."""

    def in_order(self) -> list[str]:
        away = ["cut off", "paused"] if self.away else []
        return (
            ["executor"] * self.executor_kills
            + away
            + ["driver"] * self.driver_kills
            + ["twice"] * self.double_starts
        )


class Happened(NamedTuple):
    """`ends`: how often drivers have ended in which way. `said`: by those that ended with a fault."""

    ends: Counter[str]
    said: Counter[str]
    commits: int


class Story:
    """`portions`: in how many the records are put. One comes before each fault."""

    def __init__(
        self,
        cluster: HostCluster,
        brokers: HostBrokers,
        seconds: float,
        portions: int,
        chance: random.Random,
        tables: Sequence[str],
    ) -> None:
        self.ends: Counter[str] = Counter()
        self.said: Counter[str] = Counter()
        self.commits = 0
        self._cluster, self._brokers, self._chance, self._tables = cluster, brokers, chance, tables
        self._put, self._seconds, self._step = 0.0, seconds, seconds / portions
        self._running: list[Driver] = []
        self._put_more()

    def progress(self) -> None:
        """Wait for a commit: where one fault follows the other, nothing would ever be half done but the
        first."""
        self._put_more()
        driver, last = self._driver(), time.monotonic() + _PROGRESS_SECONDS
        before = driver.commits
        while driver.is_alive and driver.commits == before and time.monotonic() < last:
            time.sleep(0.2)

    def happens(self, fault: str, away: float) -> None:
        self._put_more()
        match fault:
            case "executor":
                self._kill_executor()
            case "driver":
                self._kill_driver()
            case "twice":
                self._start_twice()
            case _:
                self._driver()
                time.sleep(self._chance.uniform(1.0, 3.0))
                self._without_store(fault, away)

    def finish(self, is_complete: Callable[[], bool]) -> Happened:
        """Until a driver has found that nothing is left. One that runs when the last segments come may have
        found that a moment before."""
        self._brokers.put_until(self._seconds + 60.0)
        for said in self._brokers.finish():
            assert (said["not_recorded"], said["waiting"]) == (0, 0), said
        while True:
            is_late = bool(self._living())
            last = self._driver().ended()
            if last.code == 0 and (not is_late or is_complete()):
                break
        self._living()
        return Happened(self.ends, self.said, self.commits)

    def _kill_executor(self) -> None:
        """While it works, most likely: something new has just come."""
        killed = False
        while not killed:
            self._driver()
            if found := self._cluster.executors():
                time.sleep(self._chance.uniform(0.0, 3.0))
                killed = self._cluster.kill_executor(*self._chance.choice(found))
            else:
                time.sleep(0.2)
        self.ends["executor killed"] += 1

    def _kill_driver(self) -> None:
        """The command alone, or all of its host at once."""
        while True:
            driver = self._driver()
            time.sleep(self._chance.uniform(0.0, _SOON))
            if driver.is_alive:
                self._end(driver)
                return

    def _start_twice(self) -> None:
        """Two at once, on two hosts, until only one is left."""
        for driver in self._living():
            self._end(driver)
        for host in self._cluster.drivers:
            self._start(host)
        last = time.monotonic() + _WAIT
        while len(self._living()) == len(self._cluster.drivers) and time.monotonic() < last:
            time.sleep(4.0)
            self._put_more()  # what has nothing to do ends, or does not notice the other one
        assert len(self._living()) < len(self._cluster.drivers), "both write for minutes"
        self.ends["started twice"] += 1

    def _without_store(self, fault: str, seconds: float) -> None:
        self._put_more()
        if fault == "cut off":
            self._cluster.cut_off()
        else:
            self._cluster.pause_store()
        time.sleep(seconds / 2)
        self._put_more()
        time.sleep(seconds / 2)
        self._cluster.return_store()
        self.ends[f"store {fault}"] += 1

    def _driver(self) -> Driver:
        """One that runs."""
        return next(iter(self._living()), None) or self._start(self._chance.choice(self._cluster.drivers))

    def _start(self, host: LabHost) -> Driver:
        follow = ("--follow", "--stop-when-idle", str(IDLE_SECONDS))
        driver = self._cluster.drive(host, *follow, tables=self._tables)
        self._running.append(driver)
        return driver

    def _end(self, driver: Driver) -> None:
        self._running.remove(driver)
        self.commits += driver.commits
        if self._chance.random() < 0.5:
            driver.kill()
            self.ends["driver killed"] += 1
        else:
            driver.crash()
            self.ends["driver's host crashed"] += 1

    def _living(self) -> list[Driver]:
        for driver in [each for each in self._running if not each.is_alive]:
            self._running.remove(driver)
            self.commits += driver.commits
            code, said = driver.ended()
            superseded = "another run writes there now" in said
            end = "nothing left" if code == 0 else "superseded" if superseded else "fault"
            self.ends[end] += 1
            if code != 0:
                self.said[said] += 1
                assert self.ends["fault"] <= _MOST_FAULTS, self.said.most_common(3)
        return list(self._running)

    def _put_more(self) -> None:
        self._put = min(self._put + self._step, self._seconds)
        self._brokers.put_until(self._put)


def differences(place: Path, local: Path, records: list[Record], tables: Iterable[str]) -> list[str]:
    """In what the tables at `place` are not those of a local run, or not those of the records."""
    whole = Counts(read=len(records), kept=len(records))
    counts = {"hosts": read_snapshot(place).counts, "local": read_snapshot(local).counts}
    found = [f"{where}: {each}, of {len(records)} records" for where, each in counts.items() if each != whole]
    for name in tables:
        rows = table(place, name)
        if _fails(oracle.assert_alike, rows, table(local, name)):
            found.append(f"{name}: not the table of the local run")
        if name in (*oracle.EXACT, "latency") and _fails(oracle.assert_table, name, rows, records):
            found.append(f"{name}: not the table of the records")
        if len(read_rows(place / name)) != len(rows):
            found.append(f"{name}: the newest version is not that of the snapshot")
    return found


def _fails(check: Callable[..., None], *arguments: Any) -> bool:
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False


class Endured(NamedTuple):
    happened: Happened
    differences: list[str]
    records: int
    seconds: float


def endure(
    faults: Faults,
    order: Sequence[str],
    *,
    seed: int,
    publications: int,
    seconds: float,
    tables: Sequence[str] = TABLES,
    progress: float = 0.0,
    say: Callable[[str], None] = lambda fault: None,
) -> Endured:
    """Measure the telemetry of eight brokers on their hosts while the faults happen in this order; then the
    same segments on this machine, from a folder. `progress`: before how many of the faults there is time for
    a commit."""
    began, chance = time.monotonic(), random.Random(seed)
    with host_cluster() as cluster:
        brokers = cluster.put_by(seed, publications, seconds)
        portions = int(len(order) * (1 + progress)) + 5 + _WHILE_TWO * faults.double_starts
        story = Story(cluster, brokers, seconds, portions, chance, tables)
        for fault in order:
            say(fault)
            if chance.random() < progress:
                story.progress()
            story.happens(fault, faults.away / 2)
        say("finish")
        records = network(seed, publications, seconds=seconds, brokers=BROKERS)
        happened = story.finish(lambda: read_snapshot(cluster.copy() / "tables").counts.read == len(records))
        took = time.monotonic() - began
        copy = cluster.copy()
        local = cluster.folder / "local"
        options = ("--spark", "local[2]", "--tables", ",".join(tables))
        done = measure(str(copy / "telemetry"), "--out", str(local), *options)
        assert done.returncode == 0, done.stderr
        found = differences(copy / "tables", local, records, tables)
    return Endured(happened, found, len(records), took)
