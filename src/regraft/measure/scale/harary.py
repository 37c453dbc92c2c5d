"""HararyPT (kTCO §VII, Alg. 2) for interest tables of tens of millions of rows.

One shared order of the nodes is a window function: within each topic, node r is joined to the nodes
r + 1 … r + ⌊k/2⌋ (modulo the topic's size n); for odd k also to the one across, r + ⌊n/2⌋, for the first
half. Topics of at most k + 1 nodes are cliques, k = 1 is a path. Distinct pairs are the overlay: with the
same order, the same links as `regraft.design` finds on one machine.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.scale.interest import Numbered, named
from regraft.model import BadInput


def harary(tables: Numbered, k: int) -> DataFrame:
    """A k-topic-connected overlay: one, other (names), each link once; nodes in the order of their names."""
    if k < 1:
        raise BadInput("k", f"must be at least 1, not {k}")
    codes = _codes(tables, k).dropDuplicates()
    one, other = f.expr(f"code div {tables.node_count}"), f.col("code") % f.lit(tables.node_count)
    return named(codes.select(one.alias("one"), other.alias("other")), tables)


def _codes(tables: Numbered, k: int) -> DataFrame:
    """Every link of every topic as one number, smaller node × nodes + larger node."""
    ranked = _ranked(tables.pairs, k)
    links = ranked.select("node", f.explode(f.array(*_neighbours(k))).alias("other"))
    links = links.where(f.col("other").isNotNull())
    if k % 2 and k > 1:
        links = links.unionByName(_across(ranked.where(f.col("size") > k + 1)))
    one, other = f.least("node", "other"), f.greatest("node", "other")
    return links.select((one * f.lit(tables.node_count) + other).alias("code"))


def _ranked(pairs: DataFrame, k: int) -> DataFrame:
    """`rank` from 0, `size`, the next nodes (`next1` …) and the topic's first ones (`first1` …)."""
    ordered = Window.partitionBy("topic").orderBy("node")
    whole = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    columns = [(f.row_number().over(ordered) - 1).alias("rank"), f.count("*").over(whole).alias("size")]
    columns += [f.lead("node", step).over(ordered).alias(f"next{step}") for step in range(1, k + 1)]
    columns += [f.nth_value("node", step).over(whole).alias(f"first{step}") for step in range(1, k // 2 + 1)]
    return pairs.select("topic", "node", *columns)


def _neighbours(k: int) -> list[Column]:
    """The nodes after a node that it is joined to; null where there is none.

    In a small topic these are all; otherwise the next ⌊k/2⌋, where the first node follows the last. In a
    path (k = 1) it is the next node.
    """
    small = f.col("size") <= k + 1
    if k == 1:
        return [f.col("next1")]
    further = [f.when(small, f.col(f"next{step}")) for step in range(k // 2 + 1, k + 1)]
    return [
        f.coalesce(f.col(f"next{step}"), *_begin_again(step, small)) for step in range(1, k // 2 + 1)
    ] + further


def _begin_again(step: int, small: Column) -> list[Column]:
    beyond = f.col("rank") + step - f.col("size")
    return [f.when(~small & (beyond == first - 1), f.col(f"first{first}")) for first in range(1, step + 1)]


def _across(ranked: DataFrame) -> DataFrame:
    """For odd k: each node of the first half is joined to the node half the topic's size further."""
    first = ranked.where(f.col("rank") < f.expr("(size + 1) div 2"))
    second = ranked.select("topic", "rank", f.col("node").alias("other"))
    return (
        first.select("topic", "node", f.expr("rank + size div 2").alias("rank"))
        .join(second, ["topic", "rank"])
        .select("node", "other")
    )
