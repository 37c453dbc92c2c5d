"""All tables of a set of windows, from their clean records: which transform uses the result of which.

What several tables are made from is computed once and persisted (`Kept`). Nothing is read or written here:
the caller provides the records and writes the tables. It gets each table as soon as that is planned, so that
it can compute one while the next is planned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from regraft.measure.members import Brokers
from regraft.measure.sampled import Seen, comparable, counted, seen
from regraft.measure.schemas import TABLES
from regraft.measure.transforms.attributes import attributes, sampled
from regraft.measure.transforms.broker_load import broker_load, by_broker
from regraft.measure.transforms.dimensions import asked_for, dimensions
from regraft.measure.transforms.filter_similarity import filter_similarity
from regraft.measure.transforms.filters import filters_read
from regraft.measure.transforms.interest import in_force
from regraft.measure.transforms.latency import latency, latency_counts, latency_histogram, touched
from regraft.measure.transforms.link_costs import link_costs
from regraft.measure.transforms.link_load import hops, link_load
from regraft.measure.transforms.links import links, trees
from regraft.measure.transforms.local_views import local_views, sides
from regraft.measure.transforms.overlap import overlap
from regraft.measure.transforms.publications import by_class_and_topic, publications
from regraft.measure.transforms.publisher_rates import publisher_rates
from regraft.measure.transforms.top_classes import Merging, merging, top_classes
from regraft.measure.transforms.topic_popularity import topic_popularity
from regraft.measure.transforms.traffic_classes import class_sets, traffic_classes
from regraft.measure.transforms.transformations import queue_growth, transformations
from regraft.model import Topology

MOST_SAMPLED = 1_000_000
"""The most publications from which histograms of attributes are made; of more, a sample is used."""
ALL = frozenset(TABLES)


@dataclass(frozen=True)
class Asked:
    """What is to be computed. `width` of a window in microseconds; `top`: see `top_classes`; `topology`: the
    tree for local views, if it is not to be found from the records."""

    width: int
    top: int | None = None
    topology: Topology | None = None
    tables: frozenset[str] = ALL

    def some(self, *names: str) -> bool:
        return not self.tables.isdisjoint(names)


Ready = Callable[[str, DataFrame], None]
"""Takes the name of a table, and the table, which is planned but not computed."""


@dataclass
class Kept:
    """What is to be computed, what is found out besides the tables, and intermediate tables, which stay
    persisted until the block ends."""

    asked: Asked
    ready: Ready = lambda name, table: None
    merging: Merging | None = None
    one_in: int = 1
    _between: list[DataFrame] = field(default_factory=list)

    def give(self, name: str, make: Callable[[], DataFrame]) -> None:
        """Plan and hand over a table, if it is wanted: even planning takes time."""
        if name in self.asked.tables:
            self.ready(name, make())

    def keep(self, table: DataFrame) -> DataFrame:
        self._between.append(table.persist(StorageLevel.MEMORY_AND_DISK))
        return self._between[-1]

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *_: object) -> None:
        for table in self._between:
            table.unpersist()
        self._between.clear()


def compute(
    kept: Kept,
    records: DataFrame,
    interests: Callable[[], DataFrame],
    brokers: Brokers,
    windows: Sequence[int],
) -> None:
    """`records`: those of the `windows` (their starts, in microseconds), without interest; `interests`: gives
    the table of all interest, which `interests` keeps."""
    asked = kept.asked
    found = seen(records)
    records_counted = counted(records) if found.has_samples else records
    traces = comparable(records, found, found.at_ends)
    if asked.some("traffic_classes", "topic_popularity", "local_views"):
        _traffic(traces, records_counted, brokers, windows, kept)
    if asked.some("publisher_rates", "overlap", "link_load", "broker_load", "link_costs"):
        _load(records_counted, kept)
    if asked.some("transformations", "queue_growth", "latency", "latency_histogram"):
        _delays(records, found, kept)
    if asked.some("attributes", "dimensions", "filter_similarity"):
        _content(traces, found.published, interests(), windows, kept)


def _traffic(
    traces: DataFrame, records_counted: DataFrame, brokers: Brokers, windows: Sequence[int], kept: Kept
) -> None:
    asked = kept.asked
    classes = by_class_and_topic(publications(traces, brokers), brokers)
    if "topic_popularity" in asked.tables:
        classes = kept.keep(classes)
        kept.give("topic_popularity", lambda: topic_popularity(records_counted, classes))
    exact = class_sets(classes, brokers)
    if "local_views" in asked.tables and "topic_popularity" not in asked.tables:
        exact = kept.keep(exact)
    shown = exact
    if asked.top is not None:
        exact = kept.keep(exact)
        shown = kept.keep(top_classes(exact, brokers, asked.top))
        kept.merging = merging(exact, shown, brokers)
    kept.give("traffic_classes", lambda: traffic_classes(shown, brokers))
    if "local_views" in asked.tables:
        known = dict.fromkeys(windows, asked.topology) if asked.topology else trees(links(records_counted))
        around = sides(traces.sparkSession, known, brokers)
        kept.give("local_views", lambda: local_views(shown, around, brokers))


def _load(records: DataFrame, kept: Kept) -> None:
    asked = kept.asked
    if asked.some("publisher_rates", "overlap"):
        rates = kept.keep(publisher_rates(records, asked.width))
        kept.give("publisher_rates", lambda: rates)
        kept.give("overlap", lambda: overlap(records, rates, asked.width))
    if asked.some("link_load", "broker_load"):
        carried = kept.keep(hops(records))
        kept.give("link_load", lambda: link_load(carried, asked.width))
        kept.give("broker_load", lambda: broker_load(by_broker(records), carried, asked.width))
    kept.give("link_costs", lambda: link_costs(records))


def _delays(records: DataFrame, found: Seen, kept: Kept) -> None:
    asked = kept.asked
    if asked.some("transformations", "queue_growth"):
        kept.give("transformations", lambda: transformations(records))
        kept.give("queue_growth", lambda: queue_growth(records))
    if asked.some("latency", "latency_histogram"):
        counts = kept.keep(latency_counts(records, touched(records, found.touched), found, asked.width))
        kept.give("latency", lambda: latency(counts))
        kept.give("latency_histogram", lambda: latency_histogram(counts))


def _content(
    traces: DataFrame, published: int, interests: DataFrame, windows: Sequence[int], kept: Kept
) -> None:
    kept.one_in = max(1, -(-published // MOST_SAMPLED))
    sample = sampled(traces, kept.one_in)
    held = kept.keep(attributes(sample))
    read = kept.keep(filters_read(interests))
    used = kept.keep(in_force(interests, windows, kept.asked.width))
    kept.give("attributes", lambda: held)
    kept.give("dimensions", lambda: dimensions(held, asked_for(used, read)))
    kept.give("filter_similarity", lambda: filter_similarity(sample, used))
