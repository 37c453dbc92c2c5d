import pytest

from regraft.web.rate import Buckets, Rate


def test_a_burst_passes_and_then_only_the_rate() -> None:
    buckets = Buckets(Rate(2.0, 3))
    assert [buckets.take("a", 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take("a", 0.5) == 0.0
    assert buckets.take("a", 0.5) == 0.5


def test_each_caller_has_a_bucket_of_its_own() -> None:
    buckets = Buckets(Rate(1.0, 1))
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("b", 0.0) == 0.0
    assert buckets.take("a", 0.0) == pytest.approx(1.0)


def test_a_bucket_does_not_grow_beyond_its_burst() -> None:
    buckets = Buckets(Rate(10.0, 2))
    buckets.take("a", 0.0)
    assert [buckets.take("a", 100.0) == 0.0 for _ in range(3)] == [True, True, False]


def test_looking_takes_nothing() -> None:
    buckets = Buckets(Rate(1.0, 1))
    assert [buckets.wait("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.wait("a", 0.25) == pytest.approx(0.75)


def test_callers_without_end_do_not_fill_the_memory() -> None:
    buckets = Buckets(Rate(1.0, 1), most=5)
    for n in range(100):
        buckets.take(str(n), 0.0)
    assert len(buckets) == 5
