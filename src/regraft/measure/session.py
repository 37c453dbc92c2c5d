"""The Spark session of a run: this machine by default, or any master or Connect endpoint.

The only place that knows how Spark is started. What goes wrong there is one line, not a stack trace.
"""

import logging
import os
import shutil
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.model import BadInput, RegraftError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "regraft"
LOCAL = "local[*]"
CONNECT = "sc://"
LOG = "REGRAFT_SPARK_LOG"
"""The environment variable that names a file for Spark's own log; without it there is none."""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j.clientserver", "py4j.java_gateway")
"""PySpark's and py4j's own: they print the stack of what is thrown, which is said in one line elsewhere."""
_MASTERS = ("local", "spark://", "yarn", "k8s://", CONNECT)

SETTINGS = {
    # The tables are in UTC whatever the machine's zone is.
    "spark.sql.session.timeZone": "UTC",
    # A record that cannot be cast is a null that the checks see, not an exception.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Files of the spools are few and large, and so are the partitions of what comes from them.
    "spark.sql.files.maxPartitionBytes": "256m",
    "spark.sql.parquet.compression.codec": "zstd",
    # Generated code that is longer than this, Java only interprets; in pieces it is twice as fast.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Up to so many partitions are written without sorting the rows by them.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # The default, INT96, is larger, slower to read, and without statistics.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Otherwise PySpark tells Java for every operation on a column where in our code it stands, for an error
    # message that nobody sees: half of all calls of Java, and a fifth of the time of a small run.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Of the session: they hold on every master, also through Connect."""

STATIC = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.stopTimeout": "60s",
    # A busy machine may need longer than the default of 15 s until a worker has said who it is.
    "spark.python.authenticate.socketTimeout": "120s",
}
"""Of a driver that is started here."""


LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""Ports are taken free; nobody else needs to reach a driver that is alone."""

JAVA = "spark.driver.extraJavaOptions"
ARCHIVE = Path(sys.prefix) / "share" / "regraft" / "spark.jsa"
"""Classes of Spark as Java has loaded them (`warm`): with them it starts in half the time."""
_EVERY_JAVA = (
    # What it warns of, such as an archive of another version, goes where its log goes.
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    # Spark needs as much at once; with less, Java collects all garbage before it takes more.
    "-XX:MetaspaceSize=256m",
)
WORKERS = {
    # Large arrays come and go: memory that stays with the process need not be cleared by the system again.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 31),
    "spark.executorEnv.MALLOC_TOP_PAD_": str(1 << 26),
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""The environment of Python's workers."""

_ONCE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
QUICK = {JAVA: f"{_ONCE} -XX:CompileThresholdScaling=3 -XX:NewSize=400m -XX:InitialRAMPercentage=5"}
"""For what takes a minute or two on this machine: Java compiles what is used often, and only once; to do it
well would take longer. And for a stream: workers read and count, Java does little but plan."""
QUICK_BYTES = 1 << 30
SMALL = {JAVA: _ONCE, "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false"}
"""For little to read: planning again, and compiling at all, take longer than that."""
SMALL_BYTES = 32 << 20
HUMBLE = 10
"""The niceness of a Spark that runs beside brokers: their traffic goes first."""


class SparkFault(RegraftError):
    """Spark could not do it; the text is one line."""


def start(
    spark: str = LOCAL,
    *,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    humble: bool = False,
    writing: Path | None = None,
) -> "SparkSession":
    """A session on the given master (`local[2]`, `spark://host:port`) or endpoint (`sc://host:port`).

    `settings` go before ours, on a driver that is started here. `humble`: it gives way to other processes.
    `writing`: an archive of classes that Java writes when it ends.
    """
    if not spark.startswith(_MASTERS):
        raise BadInput(f"--spark {spark}", f"must begin with one of {', '.join(_MASTERS)}")
    if not spark.startswith(CONNECT):
        _need_java()
    from regraft.measure.faults import one_line  # noqa: PLC0415 — loads pyspark

    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_ours)
    with one_line(f"--spark {spark}"):
        if spark.startswith(CONNECT):
            return _connect(spark)
        more = dict(settings or {}) | {JAVA: _java_options((settings or {}).get(JAVA, ""), writing)}
        return _drive(spark, memory, more, humble)


def settings_for(size: int) -> Mapping[str, str]:
    """Of a run on this machine that reads so many bytes."""
    if size <= SMALL_BYTES:
        return SMALL
    return QUICK if size <= QUICK_BYTES else {}


def ended() -> None:
    """Java has ended, after the session: a new one may be started."""
    from pyspark import SparkContext  # noqa: PLC0415

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _java_options(more: str, writing: Path | None) -> str:
    if writing is not None:
        archive = [f"-XX:ArchiveClassesAtExit={writing}"]
    else:
        archive = [f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else []
    quoted = [f'"{option}"' for option in (*_EVERY_JAVA, *archive)]
    return " ".join([*quoted, more])


def _is_ours(record: logging.LogRecord) -> bool:
    """py4j tells the root logger, with a stack, that Java has gone: whoever asked Java says so."""
    return not str(record.msg).endswith("while sending command.")


def _drive(master: str, memory: str | None, more: Mapping[str, str], humble: bool) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder.appName(NAME).master(master)
    settings = SETTINGS | STATIC | WORKERS
    if master.startswith("local"):
        settings |= LOOPBACK | {"spark.sql.shuffle.partitions": str(_cores(master))}
    # PySpark reads this when it starts a context; otherwise its workers are whatever `python3` is.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if memory:
        settings["spark.driver.memory"] = memory
    settings |= more
    for key, value in settings.items():
        builder = builder.config(key, value)
    _launch({"spark.master": master, "spark.app.name": NAME} | settings, humble)
    return builder.getOrCreate()


def _launch(settings: Mapping[str, str], humble: bool) -> None:
    """Java, unless there is one, with its standard error elsewhere: its log is no answer to the user."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    # A thread can make itself humble for good only; what it starts is as humble as it is.
    with (
        open(os.environ.get(LOG) or os.devnull, "ab") as log,
        ThreadPoolExecutor(1, initializer=_become_humble if humble else None) as thread,
    ):
        gateway = thread.submit(launch_gateway, conf, {"stderr": log}).result()
    SparkContext._ensure_initialized(gateway=gateway)


def _become_humble() -> None:
    own = os.PRIO_PROCESS, threading.get_native_id()
    os.setpriority(*own, max(HUMBLE, os.getpriority(*own)))


def _connect(endpoint: str) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415

    session = SparkSession.builder.appName(NAME).remote(endpoint).getOrCreate()
    for key, value in SETTINGS.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def _cores(master: str) -> int:
    """Shuffles on one machine have few and large partitions: a task costs more than the rows of a small one.
    On a cluster, its own defaults hold."""
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return max(1, int(inside) if inside.isdigit() else len(os.sched_getaffinity(0)))


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if shutil.which("java") is None:
        raise BadInput("java", "Spark needs Java 17 or newer, and there is none (scripts/setup installs it)")
