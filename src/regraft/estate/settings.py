"""The settings of an estate: the sections of the configuration of `regraft serve` that say where the network
is, how it is measured and how carefully it is changed. `serve.configuration` has the other sections, and its
docstring says how fields are declared.
"""

from dataclasses import dataclass
from pathlib import Path

from regraft.model.setting_kinds import (
    OPTIONAL_PATH,
    PATH,
    PLACE,
    SIZE,
    SPARK_SETTINGS,
    SWITCH,
    TEXT,
    duration,
    number,
    secret,
    setting,
    text,
    whole,
    zero_is_none,
)

ZOOKEEPER_AUTH = "REGRAFT_ZOOKEEPER_AUTH"
TOKEN = "REGRAFT_TOKEN"
NO_LIMIT = "0: no limit."
COUNT, LIMIT = whole(0), zero_is_none(whole(0))


@dataclass(frozen=True)
class OverlaySection:
    """The brokers."""

    name: str = setting(TEXT, "overlay", "The name of the overlay in the dashboard and in the log.")
    directory: Path = setting(
        PATH,
        "out/overlay.json",
        "The file that `regraft up` wrote: where ZooKeeper is. Paths are relative to this file's folder.",
    )
    network: Path | None = setting(
        OPTIONAL_PATH,
        "",
        "Topology, GML or GraphML file: which links are possible, what links and brokers cost, latencies, "
        'coordinates. "": every pair may be linked, and links cost what is measured (design.costs).',
    )


@dataclass(frozen=True)
class ZookeeperSection:
    """The ensemble. Its secret is in the environment: REGRAFT_ZOOKEEPER_AUTH=digest:USER:PASSWORD"""

    hosts: str = setting(
        text("HOST:PORT,…, or nothing"), "", '"": the ensemble that overlay.directory names.'
    )
    root: str = setting(text("a path of a node"), "/regraft", "The node under which Regraft keeps its nodes.")
    ca: Path | None = setting(OPTIONAL_PATH, "", "Use TLS, and trust this authority (PEM).")
    certificate: Path | None = setting(OPTIONAL_PATH, "", "Our certificate (PEM).")
    key: Path | None = setting(OPTIONAL_PATH, "", "Its key (PEM).")
    auth: str = secret(ZOOKEEPER_AUTH)


@dataclass(frozen=True)
class TelemetrySection:
    """What the brokers write: the place of `regraft up --telemetry`."""

    folder: str = setting(
        PLACE,
        "out/telemetry",
        "A folder, or an address such as s3://bucket/prefix, with a folder for each broker in it.",
    )
    top: int | None = setting(
        LIMIT,
        0,
        f"How many of the heaviest traffic classes of a window to keep; others are merged. {NO_LIMIT}",
    )
    keep: float | None = setting(
        zero_is_none(duration()),
        "7d",
        "How long telemetry is kept after it was measured; `regraft what-if` cannot look back further. "
        '"0s": for ever.',
    )


@dataclass(frozen=True)
class SparkSection:
    """Where telemetry is measured. The session is kept while the loop runs."""

    master: str = setting(TEXT, "local[2]", "local[N], spark://HOST:PORT, yarn, k8s://… or sc://HOST:PORT.")
    memory: str = setting(text('a size such as "1g"'), "1g", "The memory of a Spark that is started here.")
    small: bool = setting(
        SWITCH, True, "Start it for little data (up to some 100,000 records a window): it is ready sooner."
    )
    time_limit: float = setting(
        duration("1s"), "5m", "How long one measurement may take; after that, Spark is restarted."
    )
    conf: tuple[tuple[str, str], ...] = setting(
        SPARK_SETTINGS, [], 'Settings of Spark, such as "spark.executor.memory=8g". They count before ours.'
    )


@dataclass(frozen=True)
class DeploySection:
    """How carefully links are changed. The secret of the canaries is in the environment: REGRAFT_TOKEN"""

    seconds: float = setting(
        number(0.1), 10.0, "How long one change may take to get ready; then it is tried again."
    )
    attempts: int = setting(whole(1), 3, "How often each change is tried.")
    at_once: int = setting(COUNT, 0, f"How many changes are made at a time. {NO_LIMIT}")
    per_broker: int = setting(COUNT, 1, f"The same, at one broker. {NO_LIMIT}")
    queue_bytes: int = setting(COUNT, 0, f"Wait while a broker holds more than this. {NO_LIMIT}")
    latency_ms: float = setting(number(0), 0.0, f"Wait while a canary takes longer. {NO_LIMIT}")
    canaries: int = setting(whole(0, 100), 3, "Subscribers that audit a change; 0: none.")
    token: str = secret(TOKEN)


@dataclass(frozen=True)
class StateSection:
    """What the loop remembers across restarts: decisions, proposals, operations, tables."""

    folder: Path = setting(PATH, "out/loop", "No other program may write there.")
    least_free: int = setting(SIZE, "200MB", "With less room on the disk, nothing is measured.")
    keep: float = setting(duration("1h"), "30d", "How long decisions and figures of windows are kept.")
    windows: int = setting(whole(10), 1000, "How many of the last windows keep their tables.")


@dataclass(frozen=True)
class EstateSettings:
    """`window` is the length of a window in seconds. `forecast`: how many windows a forecast is about, and
    how many windows are the guess that it is compared with; None: nothing is forecast."""

    overlay: OverlaySection
    zookeeper: ZookeeperSection
    telemetry: TelemetrySection
    spark: SparkSection
    deploy: DeploySection
    state: StateSection
    window: float
    forecast: tuple[int, int] | None = None
