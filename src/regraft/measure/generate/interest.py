"""The interest workloads of kTCO §VIII: Expo, Zipf (α = 2) and Unif, for any number of nodes.

Each node draws topics with probability p(t) until it has its number of topics; draws that repeat a topic do
not count. With few topics the same distribution is computed at once: each topic gets an exponential waiting
time of rate p(t), and the first ones are chosen. kTCO does not say how steep Expo is; here the most popular
fifth of the topics has four fifths of the interest, the "80-20" of kTCO §VII.
"""

from collections.abc import Callable, Iterator
from math import log
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.measure.generate.draws import Floats, Words, uniform_array
from regraft.model import BadInput

Distribution = Literal["expo", "zipf", "unif"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("expo", "zipf", "unif")
WAITING = 2048
"""Up to this many topics waiting times are used, above it draws."""
BATCH = 1 << 22
"""How many random numbers are drawn at a time."""


def topic_shares(distribution: Distribution, topics: int) -> Floats:
    """p(t), the most popular topic first."""
    number = np.arange(1, topics + 1, dtype=np.float64)
    weights = {
        "expo": np.exp(-log(5) / 0.2 * number / topics),
        "zipf": number**-2.0,
        "unif": np.ones(topics),
    }[distribution]
    shares: Floats = weights / weights.sum()
    return shares


def interest(
    session: SparkSession,
    nodes: int,
    topics: int,
    subscriptions: int,
    distribution: Distribution = "unif",
    seed: int = 0,
    partitions: int | None = None,
) -> DataFrame:
    """Columns `node` (n0 …) and `topic` (t0 …); every node has exactly `subscriptions` topics."""
    if not 1 <= subscriptions <= topics:
        raise BadInput("subscriptions", f"must be from 1 to the number of topics, not {subscriptions}")
    if nodes < 1:
        raise BadInput("nodes", f"must be at least 1, not {nodes}")
    draw = _drawn(topic_shares(distribution, topics), subscriptions, seed)
    rows = session.range(0, nodes, 1, partitions).mapInArrow(draw, "node long, topic long")
    return rows.select(
        f.concat(f.lit("n"), f.col("node").cast("string")).alias("node"),
        f.concat(f.lit("t"), f.col("topic").cast("string")).alias("topic"),
    )


def _drawn(
    shares: Floats, subscriptions: int, seed: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    choose = by_waiting if len(shares) <= WAITING else by_draws

    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            nodes = batch.column(0).to_numpy().astype(np.uint64)
            for part in np.array_split(nodes, max(1, len(nodes) * len(shares) // BATCH)):
                chosen = choose(part, shares, subscriptions, seed)
                columns = [np.repeat(part.astype(np.int64), subscriptions), chosen.ravel()]
                yield pa.RecordBatch.from_arrays([pa.array(each) for each in columns], ["node", "topic"])

    return draw


def by_waiting(nodes: Words, shares: Floats, subscriptions: int, seed: int) -> np.typing.NDArray[np.int64]:
    """One row of topics per node: those with the shortest waiting times."""
    columns = np.arange(len(shares), dtype=np.uint64)
    times = -np.log(uniform_array(seed, nodes, columns)) / shares
    first: np.typing.NDArray[np.int64] = np.argpartition(times, subscriptions - 1, axis=1)[:, :subscriptions]
    return np.sort(first, axis=1)


def by_draws(nodes: Words, shares: Floats, subscriptions: int, seed: int) -> np.typing.NDArray[np.int64]:
    """One row of topics per node: the first different ones of as many draws as it takes."""
    until = np.cumsum(shares)
    chosen = np.empty((len(nodes), subscriptions), dtype=np.int64)
    waiting = np.arange(len(nodes))
    draws = 2 * subscriptions
    while len(waiting):
        columns = np.arange(draws, dtype=np.uint64)
        topics = np.searchsorted(
            until, uniform_array(seed, nodes[waiting], columns) * until[-1], side="right"
        )
        new = _first_of_each(topics)
        done = new.sum(axis=1) >= subscriptions
        kept = new[done] & (np.cumsum(new[done], axis=1) <= subscriptions)
        chosen[waiting[done]] = topics[done][kept].reshape(-1, subscriptions)
        waiting = waiting[~done]
        draws *= 2
    return np.sort(chosen, axis=1)


def _first_of_each(topics: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.bool_]:
    """Where in each row a topic occurs for the first time."""
    order = np.argsort(topics, axis=1, kind="stable")
    ordered = np.take_along_axis(topics, order, axis=1)
    first = np.ones(topics.shape, dtype=np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    marked = np.empty_like(first)
    np.put_along_axis(marked, order, first, axis=1)
    return marked
