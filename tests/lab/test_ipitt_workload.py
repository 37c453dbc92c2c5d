from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest

from regraft.filters.expression import parse
from regraft.lab.ipitt_workload import class_shares, events, homes, publications, subscriptions
from regraft.model import BadInput


def test_the_same_seed_gives_the_same_workload() -> None:
    one, other, third = (subscriptions(50, seed) for seed in (1, 1, 2))
    assert list(one.filters()) == list(other.filters())
    assert list(one.filters()) != list(third.filters())
    assert list(islice(events(3), 2000)) == list(islice(events(3), 2000))
    assert list(publications(2, 3)) == list(publications(2, 3))


def test_classes_are_drawn_by_zipf() -> None:
    shares = class_shares()
    assert len(shares) == 10
    assert shares.sum() == pytest.approx(1)
    assert shares[0] / shares[1] == pytest.approx(2**1.1)
    drawn = np.bincount(subscriptions(20_000, 1).classes, minlength=10) / 20_000
    assert drawn == pytest.approx(shares, abs=0.02)


def test_ranges_lie_between_two_uniform_values() -> None:
    some = subscriptions(20_000, 1)
    assert (some.low <= some.high).all()
    assert (some.low >= 0).all()
    assert (some.high <= 1000).all()
    assert (some.high - some.low).mean() == pytest.approx(1000 / 3, rel=0.03)


def test_a_width_fixes_the_share_of_events_that_match() -> None:
    some = subscriptions(500, 1, width=25.0)
    assert np.allclose(some.high - some.low, 25, atol=0.01)


def test_filters_say_what_the_columns_say() -> None:
    some = subscriptions(30, 4)
    for event in islice(events(5), 200):
        point = np.array([event["x"], event["y"]])
        inside = np.all((some.low <= point) & (point <= some.high), axis=1)
        wanted = [
            bool(inside[i]) and event["class"] == f"c{number}"
            for i, number in enumerate(some.classes.tolist())
        ]
        assert [parse(text).matches(event) for text in some.filters()] == wanted


def test_publishers_keep_their_pace_and_publications_their_order() -> None:
    sent = list(publications(10, seed=1))
    assert Counter(publication.publisher for publication in sent) == dict.fromkeys(range(20), 50)
    assert all(one.at <= other.at for one, other in pairwise(sent))
    assert sent[-1].at < 10
    assert {publication.attributes["class"] for publication in sent} == {f"c{n}" for n in range(10)}


def test_subscribers_sit_at_leaves() -> None:
    at = homes(3000, ["b1", "b2", "b3"], seed=1)
    assert len(at) == 3000
    assert min(Counter(at).values()) > 900


def test_impossible_workloads_are_refused() -> None:
    for make in (
        lambda: class_shares(0),
        lambda: homes(1, [], 1),
        lambda: next(publications(1, 1, publishers=0)),
        lambda: next(publications(1, 1, rate=0)),
    ):
        with pytest.raises(BadInput):
            make()
