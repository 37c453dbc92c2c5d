"""Sets of brokers as numbers: bit n of the words stands for broker number n.

Aggregating sets with `bit_or` stays in Spark's generated code; sets of strings (`collect_set`) do not, and
took more than twice the time. Every 64 brokers need one more word, up to `MOST_WORDS`; with more brokers a
set is an array of broker numbers.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

BITS = 64
_BYTE = 8
MOST_WORDS = 16
_SIGN = 1 << (BITS - 1)


@dataclass(frozen=True)
class Brokers:
    """Known brokers, numbered in the order of their names."""

    names: tuple[str, ...]
    most_words: int = MOST_WORDS

    @classmethod
    def of(cls, names: Iterable[str], most_words: int = MOST_WORDS) -> "Brokers":
        return cls(tuple(sorted(set(names))), most_words)

    @property
    def as_words(self) -> bool:
        return len(self.names) <= BITS * self.most_words

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold a set."""
        count = max(1, -(-len(self.names) // BITS))
        return tuple(f"w{number}" for number in range(count)) if self.as_words else ("set",)

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def numbered(self, spark: SparkSession) -> DataFrame:
        """`broker_id` → word and bit (or number), to be joined with records. It has few rows."""
        rows = [(name, n, n // BITS, signed(1 << n % BITS)) for name, n in self.number.items()]
        table = spark.createDataFrame(rows, "broker string, number int, word int, bit long")
        return f.broadcast(table.select(f.xxhash64("broker").alias("broker_id"), "number", "word", "bit"))

    def folded(self) -> list[Column]:
        """Aggregates: the union of the brokers that the rows name."""
        if not self.as_words:
            return [f.array_sort(f.collect_set("number")).alias("set")]
        if len(self.columns) == 1:
            return [f.bit_or("bit").alias("w0")]
        zero = f.lit(0).cast("long")
        return [
            f.bit_or(f.when(f.col("word") == n, f.col("bit")).otherwise(zero)).alias(name)
            for n, name in enumerate(self.columns)
        ]

    def united(self) -> list[Column]:
        """Aggregates: the union of sets."""
        if not self.as_words:
            return [f.array_sort(f.array_distinct(f.flatten(f.collect_list("set")))).alias("set")]
        return [f.bit_or(name).alias(name) for name in self.columns]

    def words(self, members: Iterable[str]) -> list[int]:
        """A set as the values of `columns`, for literals; only where sets are words."""
        whole = sum(1 << self.number[member] for member in set(members))
        return [signed(whole >> BITS * n & (1 << BITS) - 1) for n in range(len(self.columns))]

    def decoded(self) -> Column:
        """The names of a set, in order."""
        if not self.as_words:
            names = f.from_json(f.lit(json.dumps(self.names)), "array<string>")
            return f.transform("set", lambda number: f.get(names, number))
        return f.concat(*(self._byte(first) for first in range(0, max(len(self.names), 1), _BYTE)))

    def _byte(self, first: int) -> Column:
        """The names of those of eight brokers that are in a set. They are looked up in a table, because a
        function for each broker and set takes three times as long. The table is JSON, because a literal
        takes a call of Java for each of its values."""
        names = self.names[first : first + _BYTE]
        sets = [[name for n, name in enumerate(names) if bits >> n & 1] for bits in range(1 << len(names))]
        table = f.from_json(f.lit(json.dumps(sets)), "array<array<string>>")
        word = f.shiftrightunsigned(self.columns[first // BITS], first % BITS)
        return f.get(table, word.bitwiseAND(f.lit((1 << _BYTE) - 1)).cast("int"))

    def size(self) -> Column:
        if not self.as_words:
            return f.size("set")
        return sum((f.bit_count(f.col(name)) for name in self.columns[1:]), f.bit_count(self.columns[0]))


def with_bits(records: DataFrame, brokers: Brokers, broker: str = "broker") -> DataFrame:
    """Records with the bit of their broker. Records of an unknown broker are dropped."""
    numbered = brokers.numbered(records.sparkSession)
    return records.withColumn("broker_id", f.xxhash64(broker)).join(numbered, "broker_id", "inner")


def names_in(records: DataFrame) -> Sequence[str]:
    """The brokers that the records come from."""
    return sorted(row.broker for row in records.select("broker").distinct().collect())


def signed(word: int) -> int:
    """64 bits as the signed number that Spark and Java take them for."""
    return word - (1 << BITS) if word & _SIGN else word
