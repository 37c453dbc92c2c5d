"""The similarity of two filters (Content routes §6.3), by the publications that they match.

similarity = publications that both match / publications that at least one of them matches, on a sample of the
window. `regraft.filters` decides whether a CESQL filter matches, one window per call.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.schemas import TABLES

SAMPLE = 2_000
"""How many publications of a window are in the sample."""
FILTERS = 500
"""How many filters of a window are compared: those with the most subscribers."""


def filter_similarity(
    publications: DataFrame, filters: DataFrame, sample: int = SAMPLE, most: int = FILTERS
) -> DataFrame:
    """`filters`: window, filter, subscribers. Pairs with nothing in common are left out."""
    by_chance = Window.partitionBy("window").orderBy(f.xxhash64("publisher", "seq"), "publisher", "seq")
    looked_at = (
        publications.withColumn("rank", f.row_number().over(by_chance))
        .where(f.col("rank") <= sample)
        .select("window", f.to_json("numbers").alias("numbers"), f.to_json("strings").alias("strings"))
    )
    by_use = Window.partitionBy("window").orderBy(f.desc("subscribers"), "filter")
    compared = (
        filters.withColumn("rank", f.row_number().over(by_use))
        .where(f.col("rank") <= most)
        .select("window", "filter")
    )
    grouped = looked_at.groupBy("window").cogroup(compared.groupBy("window"))
    return grouped.applyInPandas(_similar, TABLES["filter_similarity"])


def _similar(events: pd.DataFrame, filters: pd.DataFrame) -> pd.DataFrame:
    columns = ["window", "one", "other", "similarity"]
    tests = _tests(sorted(set(filters["filter"]))) if len(filters) and len(events) else {}
    if len(tests) < 2:
        return pd.DataFrame([], columns=columns)
    seen = [_attributes(*row) for row in zip(events["numbers"], events["strings"], strict=True)]
    matrix = np.array([[test(event) for event in seen] for test in tests.values()], dtype=np.float32)
    both = matrix @ matrix.T
    alone = matrix.sum(axis=1)
    either = alone[:, None] + alone[None, :] - both
    names = list(tests)
    ones, others = np.nonzero(np.triu(both, k=1))
    rows = [
        (names[i], names[j], float(both[i, j]) / float(either[i, j]))
        for i, j in zip(ones, others, strict=True)
    ]
    window = events["window"].iloc[0]
    return pd.DataFrame([(window, *row) for row in rows], columns=columns)


def _tests(texts: list[str]) -> dict[str, Callable[[Any], bool]]:
    from regraft.filters import BadFilter, parse  # noqa: PLC0415 — loaded by the worker

    tests = {}
    for text in texts:
        try:
            tests[text] = parse(text).matches
        except BadFilter:
            continue
    return tests


def _attributes(numbers: str | None, strings: str | None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(numbers) if numbers else {}
    return found | (json.loads(strings) if strings else {})
