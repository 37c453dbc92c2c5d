"""Telemetry of the IPITT workload (§VI-A) as the brokers would have recorded it, at any size.

Publications are a range of numbers; their content follows from the number and the seed. Deliveries are their
join with the few subscribers, hops the union of the paths to these. After a fifth of the run (the 120th
second of 600) a transformation touches a share of the links for a while: hops over them have its id,
deliveries behind them take longer, queues grow.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.generate.clients import (
    CLASSES,
    LARGEST,
    Clients,
    clients,
    matches_per_publication,
)
from regraft.measure.generate.draws import uniform, word
from regraft.measure.members import signed
from regraft.measure.schemas import RECORDS
from regraft.model import BadInput, Topology
from regraft.protocol.telemetry import RECORD_VERSION

START = datetime(2026, 1, 1, tzinfo=UTC)
TRANSFORMATION = "change-1"
HEALTH_SECONDS = 10


@dataclass(frozen=True)
class TelemetrySettings:
    """The defaults are IPITT's: 20 publishers with 5 publications a second each. `rows` is met
    approximately, within a few per cent."""

    rows: int
    subscribers: int = 1000
    publishers: int = 20
    rate: float = 5.0
    changed: float = 0.2
    seed: int = 0
    partitions: int | None = None
    start: datetime = START


@dataclass(frozen=True)
class _Run:
    settings: TelemetrySettings
    clients: Clients
    publications: int
    start: int
    """Microseconds since the epoch."""

    @property
    def step(self) -> float:
        """Microseconds between two publications of all publishers."""
        return 1e6 / (self.settings.rate * self.settings.publishers)

    @property
    def length(self) -> int:
        return round(self.publications * self.step)

    def transforming(self, at: Column) -> Column:
        """A fifth into the run, for a twentieth of it."""
        begin = self.start + self.length // 5
        return (at >= begin) & (at < begin + self.length // 20)


def telemetry(session: SparkSession, topology: Topology, settings: TelemetrySettings) -> DataFrame:
    """Records of all five kinds, with the columns of `RECORDS`."""
    if settings.rows < 1 or settings.publishers < 1 or not 0 < settings.rate * settings.publishers <= 1e6:
        raise BadInput(
            "rows", "rows, publishers and a rate above 0 are needed, up to 10⁶ publications a second"
        )
    there = clients(topology, settings.subscribers, settings.changed, settings.seed)
    count = max(1, round(settings.rows / matches_per_publication(there, settings.seed)))
    run = _Run(settings, there, count, round(settings.start.timestamp() * 1e6))
    published = _publications(session, run)
    matched = _matched(session, published, run)
    kinds = (
        _interest(session, run),
        _health(session, topology, run),
        _publication_records(published, run),
        _hops(session, matched, run),
        _deliveries(matched, run),
    )
    records = [conform(kind.withColumn("v", f.lit(RECORD_VERSION)), RECORDS) for kind in kinds]
    whole = records[0]
    for each in records[1:]:
        whole = whole.unionByName(each)
    return whole


def _publications(session: SparkSession, run: _Run) -> DataFrame:
    return _described(session.range(0, run.publications, 1, run.settings.partitions), run)


def _described(numbers: DataFrame, run: _Run) -> DataFrame:
    """What publication `id` holds: publisher, time (microseconds), class, and place in the content space."""
    settings, id = run.settings, f.col("id")
    columns = {
        "publisher": f.concat(f.lit("p"), (id % settings.publishers).cast("string")),
        "seq": f.floor(id / settings.publishers) + 1,
        "micros": f.lit(run.start) + f.floor(id * f.lit(run.step)),
        "class": f.floor(uniform(settings.seed, "class", id) * CLASSES).cast("int"),
        "x": f.round(uniform(settings.seed, "x", id) * LARGEST, 3),
        "y": f.round(uniform(settings.seed, "y", id) * LARGEST, 3),
    }
    return numbers.withColumns(columns)


def _publication_records(published: DataFrame, run: _Run) -> DataFrame:
    topic = f.concat(f.lit("c"), f.col("class").cast("string"))
    return published.select(
        f.lit("publication").alias("kind"),
        f.timestamp_micros("micros").alias("at"),
        f.lit(run.clients.root).alias("broker"),
        "publisher",
        "seq",
        topic.alias("topic"),
        f.create_map(f.lit("x"), f.col("x"), f.lit("y"), f.col("y")).alias("numbers"),
        f.create_map(f.lit("topic"), topic).alias("strings"),
        (word(run.settings.seed, "size", f.col("id")) % 400 + 100).alias("size"),
    )


def _matched(session: SparkSession, published: DataFrame, run: _Run) -> DataFrame:
    """Every publication with every subscriber that it matches; `path0` … are the links between them."""
    rows = [
        (
            each.topic,
            *each.low,
            *each.high,
            each.name,
            each.broker,
            each.way,
            each.crosses,
            *_words(path, run),
        )
        for each, path in zip(run.clients.subscribers, run.clients.paths(), strict=True)
    ]
    schema = (
        "class int, low_x double, low_y double, high_x double, high_y double, "
        "subscriber string, broker string, way long, crosses boolean"
    )
    words = "".join(f", path{word} long" for word in range(_word_count(run)))
    subscribers = f.broadcast(session.createDataFrame(rows, schema + words))
    inside = [f.col(axis).between(f.col(f"low_{axis}"), f.col(f"high_{axis}")) for axis in "xy"]
    return published.join(subscribers, "class").where(inside[0] & inside[1])


def _deliveries(matched: DataFrame, run: _Run) -> DataFrame:
    # Waiting in queues: exponential, 2 ms on average, and up to 200 ms more if a link is being changed.
    seed, of_row = run.settings.seed, (f.col("id"), f.col("subscriber"))
    waits = -f.log(1 - uniform(seed, "wait", *of_row)) * 2000
    changing = f.col("crosses") & run.transforming(f.col("micros"))
    waits = waits + f.when(changing, uniform(seed, "change", *of_row) * 200_000).otherwise(0)
    latency = (f.col("way") + waits).cast("long")
    return matched.select(
        f.lit("delivery").alias("kind"),
        f.timestamp_micros(f.col("micros") + latency).alias("at"),
        "broker",
        "publisher",
        "seq",
        "subscriber",
        latency.alias("latency"),
    )


def _hops(session: SparkSession, matched: DataFrame, run: _Run) -> DataFrame:
    """A publication uses the links to all its subscribers, each once: the union of their paths."""
    words = [f"path{word}" for word in range(_word_count(run))]
    taken = matched.groupBy("id").agg(*(f.bit_or(word).alias(word) for word in words))
    rows = [
        (number // 64, signed(1 << number % 64), hop.sender, hop.receiver, hop.way, hop.changed)
        for number, hop in enumerate(run.clients.hops)
    ]
    schema = "word int, bit long, from string, to string, way long, changed boolean"
    links = f.broadcast(session.createDataFrame(rows, schema))
    of_link = f.lit(0).cast("long")
    for number, word_name in enumerate(words):
        of_link = f.when(f.col("word") == number, f.col(word_name)).otherwise(of_link)
    joined = _described(taken, run).join(links, of_link.bitwiseAND(f.col("bit")) != 0)
    at = f.col("micros") + f.col("way")
    changing = f.col("changed") & run.transforming(at)
    queue = word(run.settings.seed, "queue", f.col("id"), f.col("to")) % 65_536
    return joined.select(
        f.lit("hop").alias("kind"),
        f.timestamp_micros(at).alias("at"),
        f.col("from").alias("broker"),
        "publisher",
        "seq",
        "from",
        "to",
        (queue + f.when(changing, 262_144).otherwise(0)).alias("queue"),
        f.when(changing, f.lit(TRANSFORMATION)).alias("transformation"),
    )


def _word_count(run: _Run) -> int:
    return max(1, -(-len(run.clients.hops) // 64))


def _words(path: int, run: _Run) -> list[int]:
    return [signed(path >> 64 * number & (1 << 64) - 1) for number in range(_word_count(run))]


def _interest(session: SparkSession, run: _Run) -> DataFrame:
    """One second before the start, all clients advertise or subscribe."""
    publishers = [
        (run.clients.root, f"p{number}", "publisher", "TRUE") for number in range(run.settings.publishers)
    ]
    subscribers = [(each.broker, each.name, "subscriber", each.filter()) for each in run.clients.subscribers]
    rows = [(number, *row) for number, row in enumerate([*publishers, *subscribers])]
    table = session.createDataFrame(
        rows, "number long, broker string, client string, role string, filter string"
    )
    return table.coalesce(1).select(
        f.lit("interest").alias("kind"),
        f.timestamp_micros(f.lit(run.start - 1_000_000) + f.col("number")).alias("at"),
        "broker",
        "client",
        "role",
        "filter",
        f.lit("added").alias("change"),
    )


def _health(session: SparkSession, topology: Topology, run: _Run) -> DataFrame:
    near = [(id, dict.fromkeys(sorted(around), "up")) for id, around in sorted(topology.neighbours.items())]
    brokers = f.broadcast(session.createDataFrame(near, "broker string, links map<string, string>"))
    times = session.range(0, run.length // (HEALTH_SECONDS * 1_000_000) + 1, 1, 1)
    seed, of_row = run.settings.seed, (f.col("id"), f.col("broker"))
    rate = f.round(uniform(seed, "rate", *of_row) * 1000, 3)
    return times.crossJoin(brokers).select(
        f.lit("health").alias("kind"),
        f.timestamp_micros(f.lit(run.start) + f.col("id") * (HEALTH_SECONDS * 1_000_000)).alias("at"),
        "broker",
        (f.col("id") * (HEALTH_SECONDS * 0.25)).alias("cpu"),
        (word(seed, "memory", *of_row) % 10_000_000 + 30_000_000).alias("memory"),
        (word(seed, "held", *of_row) % 65_536).alias("queue"),
        f.create_map(f.lit("publications_in"), rate).alias("rates"),
        "links",
        f.lit(0).alias("not_recorded"),
    )
