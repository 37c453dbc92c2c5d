"""The kTCO workloads: popularity as printed, the same rows whatever the partitions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from regraft.measure.generate.draws import uniform_array
from regraft.measure.generate.interest import DISTRIBUTIONS, by_draws, by_waiting, topic_shares
from regraft.model import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODES = np.arange(4000, dtype=np.uint64)


def test_shares_add_up_and_fall_as_the_distribution_says() -> None:
    for distribution in DISTRIBUTIONS:
        assert topic_shares(distribution, 200).sum() == pytest.approx(1)
    zipf, expo, unif = (topic_shares(name, 200) for name in ("zipf", "expo", "unif"))
    assert zipf[0] / zipf[9] == pytest.approx(100)
    assert expo[:40].sum() == pytest.approx(0.8, abs=0.001)
    assert set(unif.round(12)) == {0.005}


@pytest.mark.parametrize("choose", [by_waiting, by_draws])
def test_every_node_gets_its_number_of_different_topics(choose: Callable[..., Any]) -> None:
    chosen = choose(NODES[:200], topic_shares("zipf", 60), 20, 7)
    assert chosen.shape == (200, 20)
    assert (np.diff(chosen, axis=1) > 0).all()


def test_waiting_and_drawing_follow_the_same_law() -> None:
    shares = topic_shares("expo", 50)
    counts = [
        np.bincount(choose(NODES, shares, 8, 3).ravel(), minlength=50) for choose in (by_waiting, by_draws)
    ]
    # Each count is binomial over 4,000 nodes: a standard deviation of 32 at most.
    assert np.abs(counts[0] - counts[1]).max() < 6 * 32 * 2**0.5


def test_random_numbers_are_uniform_and_belong_to_their_place() -> None:
    columns = np.arange(100, dtype=np.uint64)
    drawn = uniform_array(5, NODES[:500], columns)
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert np.abs(np.histogram(drawn, 10, (0, 1))[0] - 5000).max() < 6 * 67
    assert (uniform_array(5, NODES[100:101], columns[7:8]) == drawn[100, 7]).all()
    assert (uniform_array(6, NODES[:1], columns) != drawn[0]).all()


def test_rows_do_not_depend_on_the_number_of_partitions(spark: "SparkSession") -> None:
    from regraft.measure.generate.interest import interest

    one, three = (
        sorted(map(tuple, interest(spark, 300, 40, 5, "zipf", seed=4, partitions=partitions).collect()))
        for partitions in (1, 3)
    )
    assert one == three
    assert len(one) == len(set(one)) == 1500
    assert one[0] == ("n0", "t0")


def test_more_topics_than_there_are_are_refused() -> None:
    from regraft.measure.generate.interest import interest

    with pytest.raises(BadInput, match="subscriptions: must be from 1 to the number of topics, not 11"):
        interest(None, 10, 10, 11)  # type: ignore[arg-type]
