"""The Spark session of a run: this machine by default, or any master or Connect endpoint.

Only this module knows how Spark is started. A failure to start is a fault of one line, not a stack trace.
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

from regraft.measure.java_names import remember_classes
from regraft.measure.shipping import check_workers, ship
from regraft.model import BadInput, RegraftError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "regraft"
LOCAL = "local[*]"
CONNECT = "sc://"
LOG = "REGRAFT_SPARK_LOG"
"""The environment variable that names a file for Spark's own log; without it there is none."""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j.clientserver", "py4j.java_gateway")
"""Loggers of PySpark and py4j that print stack traces of exceptions, which we report in one line."""
_MASTERS = ("local", "spark://", "yarn", "k8s://", CONNECT)

SETTINGS = {
    # The tables are in UTC whatever the machine's zone is.
    "spark.sql.session.timeZone": "UTC",
    # A record that cannot be cast is a null that the checks see, not an exception.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The files of the pipeline are few and large, so their partitions should be large, too.
    "spark.sql.files.maxPartitionBytes": "256m",
    "spark.sql.parquet.compression.codec": "zstd",
    # The first N of a window are found in each task before they are found together: no task sorts a window.
    "spark.sql.optimizer.windowGroupLimitThreshold": "1000000",
    # Java only interprets generated code that is longer than this; split up, it is twice as fast.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Rows that the driver has read go to tasks as they are. By default Spark would evaluate queries about
    # them while it plans, again for each table, by its slowest means.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    # Up to this many partitions are written without sorting the rows first.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # The default, INT96, is larger, slower to read, and without statistics.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Otherwise PySpark tells Java for every operation on a column its line in our code, for an error message
    # that is never shown: half of all calls of Java, and a fifth of the time of a small run.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Settings of the session, for every master, also through Connect."""

STATIC = {
    "spark.ui.showConsoleProgress": "false",
    # Whoever reaches Spark's pages may read them, and nobody has logged in there.
    "spark.ui.killEnabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.stopTimeout": "60s",
    # On a busy machine a worker may need longer than the default of 15 s to authenticate.
    "spark.python.authenticate.socketTimeout": "120s",
}
"""Settings of a driver that is started here."""
HERE = {
    # On a cluster, people follow a run in Spark's pages; here nobody looks.
    "spark.ui.enabled": "false",
    # Descriptions of earlier plans are then short, and few are kept.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "10",
    # A driver without a cluster is reached by no other machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Its workers have the same PySpark as this process.
    "spark.python.daemon.module": "regraft.measure.daemon",
}
"""Settings of a driver without a cluster."""

JAVA = "spark.driver.extraJavaOptions"
ARCHIVE = Path(sys.prefix) / "share" / "regraft" / "spark.jsa"
"""An archive of Spark's loaded classes, written by `warm`: with it Java starts in half the time."""
_EVERY_JAVA = (
    # Warnings of Java, e.g. about an archive of another version, go to its log.
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    # Spark needs this much at the start; with less, Java runs a full garbage collection before it takes more.
    "-XX:MetaspaceSize=256m",
)
WORKERS = {
    # Workers allocate and free large arrays. If freed memory stays with the process, the system need not
    # clear it again.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 31),
    "spark.executorEnv.MALLOC_TOP_PAD_": str(1 << 26),
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""The environment of Python's workers."""

_ONCE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
QUICK = {JAVA: f"{_ONCE} -XX:CompileThresholdScaling=3 -XX:NewSize=400m -XX:InitialRAMPercentage=5"}
"""For runs of a minute or two on this machine: Java compiles frequently used code once, quickly; optimising
it would take longer than it saves. Also for a stream, in which workers read and count, and Java does little
but plan."""
QUICK_BYTES = 1 << 30
SMALL = {
    JAVA: _ONCE,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Each sum and sort takes a page. By default that is tens of megabytes, which Java has to clear.
    "spark.buffer.pageSize": "1m",
}
"""For small inputs: replanning, and compiling at all, would take longer than the work."""
SMALL_BYTES = 32 << 20
STORE = (
    *("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
)
"""Variables that say how to reach an object store: executors get those that are set here."""
TASKS = "regraft.tasks"
"""How many tasks a Connect server runs at once, which its client cannot ask for later."""
LOW_PRIORITY = 10
"""The niceness of Spark on a machine with brokers: their traffic has priority."""


class SparkFault(RegraftError):
    """Spark could not do it; the text is one line."""


def start(
    spark: str = LOCAL,
    *,
    memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    low_priority: bool = False,
    writing: Path | None = None,
) -> "SparkSession":
    """A session on the given master (`local[2]`, `spark://host:port`) or endpoint (`sc://host:port`).

    Workers of a cluster or a server get this package, and are asked for the modules that it needs. `settings`
    override ours; a Connect server takes only those that a session may have. `low_priority`: other processes
    come first. `writing`: an archive of classes that Java writes when it ends.
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
            session = _connect(spark, settings or {})
        else:
            more = dict(settings or {}) | {JAVA: _java_options((settings or {}).get(JAVA, ""), writing)}
            session = _drive(spark, memory, more, low_priority)
        return session if spark.startswith("local") else _with_package(session)


def tasks_at_once(session: "SparkSession") -> int:
    """How many tasks the workers of a session run at once, by what is known."""
    if hasattr(session, "sparkContext"):
        return session.sparkContext.defaultParallelism
    return int(session.conf.get(TASKS, "1") or 1)


def _with_package(session: "SparkSession") -> "SparkSession":
    """The session with this package at its workers; it is ended if these lack something."""
    try:
        ship(session)
        session.conf.set(TASKS, str(check_workers(session)))
    except Exception:
        session.stop()
        raise
    return session


def settings_for(size: int) -> Mapping[str, str]:
    """Settings for a run on this machine that reads `size` bytes."""
    if size <= SMALL_BYTES:
        return SMALL
    return QUICK if size <= QUICK_BYTES else {}


def settings_of(master: str) -> dict[str, str]:
    """Our settings of a driver that is started here."""
    settings = SETTINGS | STATIC | WORKERS
    settings |= {f"spark.executorEnv.{name}": os.environ[name] for name in STORE if name in os.environ}
    if master.startswith("local"):
        settings |= HERE | {"spark.sql.shuffle.partitions": str(_cores(master))}
    return settings


def end_java() -> None:
    """End Java after its session was stopped, so that a new one may be started."""
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
    """Filters out py4j's message, with a stack trace, that Java has ended: the caller reports that."""
    return not str(record.msg).endswith("while sending command.")


def _drive(master: str, memory: str | None, more: Mapping[str, str], low_priority: bool) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder.appName(NAME).master(master)
    settings = settings_of(master)
    # PySpark reads this when it starts a context; otherwise its workers run whatever `python3` is.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if memory:
        settings["spark.driver.memory"] = memory
    settings |= more
    for key, value in settings.items():
        builder = builder.config(key, value)
    _launch({"spark.master": master, "spark.app.name": NAME} | settings, low_priority)
    session = builder.getOrCreate()
    remember_classes(session.sparkContext._jvm)
    return session


def _launch(settings: Mapping[str, str], low_priority: bool) -> None:
    """Start Java, unless it runs already. What it prints goes to a log, not to the user's terminal or pipe,
    which would otherwise stay open until Java has ended, too."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    # A thread cannot raise its priority again, so another thread lowers its own; processes inherit it.
    with (
        open(os.environ.get(LOG) or os.devnull, "ab") as log,
        ThreadPoolExecutor(1, initializer=_lower_priority if low_priority else None) as thread,
    ):
        gateway = thread.submit(launch_gateway, conf, {"stdout": log, "stderr": log}).result()
    SparkContext._ensure_initialized(gateway=gateway)


def _lower_priority() -> None:
    own = os.PRIO_PROCESS, threading.get_native_id()
    os.setpriority(*own, max(LOW_PRIORITY, os.getpriority(*own)))


def _connect(endpoint: str, more: Mapping[str, str]) -> "SparkSession":
    from pyspark.errors import AnalysisException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    session = SparkSession.builder.appName(NAME).remote(endpoint).getOrCreate()
    for key, value in SETTINGS.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    for key, value in more.items():
        try:
            session.conf.set(key, value)
        except AnalysisException:
            raise BadInput(key, "the server that runs already does not take it") from None
    return session


def _cores(master: str) -> int:
    """The number of partitions of a shuffle on one machine: few, because a task costs more than the rows of a
    small partition. A cluster has its own default."""
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return max(1, int(inside) if inside.isdigit() else len(os.sched_getaffinity(0)))


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if shutil.which("java") is None:
        raise BadInput(
            "java", "Spark needs Java 17 or newer, which is not installed (scripts/setup installs it)"
        )
