"""Measures on Spark: one session as long as the loop runs, used by one thread, started anew if it dies."""

import contextlib
import shutil
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.estate.protocol import DiskFull
from regraft.estate.regraft.idle_check import IdleCheck
from regraft.estate.regraft.spark_warmup import warm_up
from regraft.estate.regraft.tables import TABLES, read_window
from regraft.estate.settings import SparkSection, TelemetrySection
from regraft.estate.windows import MeasuredWindow, WindowAndCounts, empty_window
from regraft.model import BadInput, RegraftError
from regraft.model.snapshot import Counts, Snapshot
from regraft.model.store import StoreFault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from regraft.measure.run import Job

MOST_BYTES = 32 << 20
"""How much is read at a time. After an outage there is much to read, and a measurement that takes too long is
ended in the middle."""


class Measurer:
    """`measure` and `warm` are called one at a time, from a thread that is not the event loop's."""

    def __init__(
        self,
        telemetry: TelemetrySection,
        spark: SparkSection,
        out: Path,
        width: float,
        least_free: int = 0,
        session: "SparkSession | None" = None,
        tables: frozenset[str] = TABLES,
        windows: int | None = None,
    ) -> None:
        """A given `session` belongs to the caller: it is not ended here. `windows`: how many to keep."""
        self._telemetry = telemetry
        self._spark = spark
        self._out = out
        self._width = width
        self._least_free = least_free
        self._tables = tables
        self._windows = windows
        self._idle_check: IdleCheck | None = None
        self._published = 0
        """Nothing that was taken in was published after this (microseconds)."""
        self._session = session
        self._is_ours = session is None
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Start the session, and have Java compile the code of a measurement."""
        with self._lock:
            warm_up(self._started(), self._tables)

    def measure(self, start: float, end: float) -> WindowAndCounts:
        """Measure what is new in the telemetry, and read the tables of this window back.

        If nothing was published, Spark is not used.
        """
        from regraft.measure.ledger import read_state  # noqa: PLC0415 — loads pyspark
        from regraft.measure.run import run  # noqa: PLC0415

        self.check_disk()
        width = round(self._width * 1e6)
        state = read_state(self._out, width)
        if self._idle_check is None:
            self._idle_check = IdleCheck(self._telemetry.folder, state.offset)
            self._published = state.newest
        # Publications of this window may have come with those of the one before it. There are always records
        # of a window that has begun: brokers tell their health.
        has_waiting = any(each < round(end * 1e6) and each <= self._published for each in state.dirty)
        is_idle = self._idle_check.is_idle()
        if is_idle and not has_waiting:
            return WindowAndCounts(empty_window(start, end), Counts())
        with self._lock:
            try:
                ran = run(self._job(width, end), self._started())
            except (BadInput, StoreFault):  # Spark is not to blame
                raise
            except Exception as fault:
                has_ended = self._is_ours and _java_has_ended()
                self._forget()
                if has_ended:
                    raise RegraftError("Spark has gone: its Java has ended; it is started anew") from fault
                raise
        self._idle_check.measured()
        newest = _newest_record(ran.snapshot)
        if not is_idle:
            self._published = round((newest or 0.0) * 1e6)
        return WindowAndCounts(read_window(ran.snapshot, start, end), ran.counts, newest)

    def _job(self, width: int, end: float) -> "Job":
        from regraft.measure.run import Job  # noqa: PLC0415

        kept = self._telemetry.keep
        return Job(
            self._telemetry.folder,
            self._out,
            width,
            top=self._telemetry.top,
            tables=self._tables,
            most_bytes=MOST_BYTES,
            keep=None if self._windows is None else self._windows * width,
            until=round(end * 1e6),
            remove_before=None if kept is None else round((time.time() - kept) * 1e6),
        )

    def read(self, start: float, end: float) -> MeasuredWindow:
        """A window that was measured before, from its tables."""
        from regraft.model.snapshot import read_snapshot  # noqa: PLC0415

        return read_window(read_snapshot(self._out), start, end)

    def check_disk(self) -> None:
        folder = self._out if self._out.exists() else self._out.parent
        free = shutil.disk_usage(folder).free
        if free < self._least_free:
            raise DiskFull(f"{free // 10**6} MB are left, at least {self._least_free // 10**6} MB are needed")

    def abandon(self) -> None:
        """End the session of a measurement that takes too long, from another thread."""
        self._forget()

    def stop(self) -> None:
        """End for good. While a measurement runs or a session starts, Java is killed, since both may hang."""
        self._stopped.set()
        if self._session is not None and self._is_ours and not self._lock.locked():
            with contextlib.suppress(Exception):
                self._session.stop()
        self._forget()

    def wait(self) -> None:
        """Wait until work that was under way when it was stopped has ended."""
        with self._lock:
            pass

    def _started(self) -> "SparkSession":
        if self._stopped.is_set():
            raise RegraftError("Spark has been stopped")
        if self._session is None:
            from regraft.measure.session import SMALL, start  # noqa: PLC0415

            local = self._spark.master.startswith("local")
            settings = {**(SMALL if self._spark.small and local else {}), **dict(self._spark.conf)}
            self._session = start(
                self._spark.master, memory=self._spark.memory, settings=settings, low_priority=True
            )
            _hush()
            if self._stopped.is_set():  # `stop` came while it started, and could not end it
                self._forget()
                raise RegraftError("stopped while Spark started")
        return self._session

    def _forget(self) -> None:
        """Drop the session and kill its Java, without waiting for anything that may hang.

        A session that is still starting has a Java as well.
        """
        if not self._is_ours or (self._session is None and not self._lock.locked()):
            return
        self._session = None
        if not self._spark.master.startswith("sc://"):
            _end_java()


def _newest_record(snapshot: Snapshot) -> float | None:
    last = snapshot.manifest["input"]["last"]
    return None if last is None else datetime.fromisoformat(last).timestamp()


def _hush() -> None:
    """When Java is killed, pyspark's accumulator server would print a traceback."""
    from pyspark import SparkContext  # noqa: PLC0415

    server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: None


def _java_has_ended() -> bool:
    from pyspark import SparkContext  # noqa: PLC0415

    process = getattr(SparkContext._gateway, "proc", None)
    return process is not None and process.poll() is not None


def _end_java() -> None:
    """Kill Java, and make pyspark forget it: otherwise the next session would use the dead one."""
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    gateway = SparkContext._gateway
    server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
    process = getattr(gateway, "proc", None)
    if process is not None:  # this comes first: a request to a Java that hangs would hang as well
        process.kill()
        process.wait()
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
    if server is not None:  # a thread with a socket, which would stay for every Java that we have killed
        threading.Thread(target=server.shutdown, name="ending", daemon=True).start()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
