"""The sums that the large tables are made of: publications, hops by link, deliveries by broker and by
latency.

They are computed by Spark's own functions from any table of records, or, from many stored records, file by
file (`counting`). Both give the same rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from regraft.measure.counting.brokers import stored_by_broker
from regraft.measure.counting.classes import stored_by_class_and_topic, stored_class_sets
from regraft.measure.counting.deliveries import stored_deliveries
from regraft.measure.counting.hops import stored_hops
from regraft.measure.counting.pieces import Stored
from regraft.measure.members import Brokers
from regraft.measure.transforms.broker_load import by_broker
from regraft.measure.transforms.latency import latency_counts, touched
from regraft.measure.transforms.link_load import hops
from regraft.measure.transforms.publications import by_class_and_topic, publications
from regraft.measure.transforms.traffic_classes import class_sets
from regraft.measure.transforms.transformations import touched_hops

MOST_TOUCHED = 10_000_000
"""The most hops under transformations among which a worker looks deliveries up."""


@dataclass(frozen=True)
class Sums:
    """`keep` persists a table that is read more than once."""

    records: DataFrame
    brokers: Brokers
    stored: Stored | None
    keep: Callable[[DataFrame], DataFrame]

    def class_sets(self) -> DataFrame:
        """As `transforms.traffic_classes.class_sets`, if no table by topic is wanted."""
        found = None
        if self.stored is not None and self.brokers.as_words:
            found = stored_class_sets(self.stored, self.brokers)
        return class_sets(self.by_class_and_topic(), self.brokers) if found is None else found

    def by_class_and_topic(self) -> DataFrame:
        if self.stored is None or not self.brokers.as_words:
            return by_class_and_topic(publications(self.records, self.brokers), self.brokers)
        return stored_by_class_and_topic(self.stored, self.brokers)

    def hops(self) -> DataFrame:
        return hops(self.records) if self.stored is None else stored_hops(self.stored)

    def by_broker(self) -> DataFrame:
        """As `transforms.broker_load.by_broker`."""
        if self.stored is None or self._deliveries is None:
            return by_broker(self.records)
        delivered = self._deliveries.where("broker IS NOT NULL").select("window", "broker", "deliveries")
        return stored_by_broker(self.stored).unionByName(delivered, allowMissingColumns=True)

    def latency_counts(self) -> DataFrame:
        """As `transforms.latency.latency_counts`, persisted."""
        if self._deliveries is not None:
            return self._deliveries.where("broker IS NULL").drop("broker")
        under = touched_hops(self.records).count()
        return self.keep(latency_counts(self.records, touched(self.records, under)))

    @cached_property
    def _deliveries(self) -> DataFrame | None:
        if self.stored is None:
            return None
        if sum(piece.under for piece in self.stored.pieces) > MOST_TOUCHED:
            return None
        return self.keep(stored_deliveries(self.stored))
