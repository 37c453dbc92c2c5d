import numpy as np
import pytest
from benchmarks._overlay_work import ROOT, Arrivals, Verdict, due, judged, leaves

from regraft.filters import parse
from regraft.lab.ipitt_workload import Publication, Subscriptions, publications, subscriptions
from regraft.model import Topology

# Publications 0 and 2 are of one publisher, 1 and 3 of another.
PUBLISHERS = np.array([0, 1, 0, 1])
DUE = np.array([[0, 0], [0, 1], [0, 2], [5, 2]])


def verdict(*came: tuple[int, int]) -> Verdict:
    rows = np.array(came, np.int64).reshape(-1, 2)
    return judged(DUE, Arrivals(rows[:, 0], rows[:, 1], np.zeros(len(rows))), PUBLISHERS)


class TestDue:
    def test_both_ends_of_a_range_belong_to_it_and_the_class_must_agree(self) -> None:
        asked = Subscriptions(np.array([1, 2]), np.array([[10.0, 20.0]] * 2), np.array([[30.0, 40.0]] * 2))
        points = [("c1", 10.0, 40.0), ("c2", 30.0, 20.0), ("c1", 9.9, 30.0), ("c3", 15.0, 30.0)]
        sent = [Publication(0.0, 0, {"class": name, "x": x, "y": y}) for name, x, y in points]
        assert due(asked, sent).tolist() == [[0, 0], [1, 1]]

    def test_it_agrees_with_the_filters_on_the_workload(self) -> None:
        asked, sent = subscriptions(60, seed=3), list(publications(0.5, seed=3))
        filters = [parse(text) for text in asked.filters()]
        expected = {
            (subscriber, number)
            for number, publication in enumerate(sent)
            for subscriber, filter in enumerate(filters)
            if filter.matches(publication.attributes)
        }
        assert expected
        assert set(map(tuple, due(asked, sent).tolist())) == expected

    def test_nothing_sent_is_nothing_due(self) -> None:
        assert due(subscriptions(5, seed=1), []).shape == (0, 2)


class TestJudged:
    def test_all_that_was_due_in_order_is_complete(self) -> None:
        seen = verdict((0, 0), (5, 2), (0, 1), (0, 2))
        assert seen == Verdict(4, 4, 0, 0, 0, 0)
        assert seen.complete

    @pytest.mark.parametrize(
        ("came", "expected"),
        [
            ([], (4, 0, 0, 0)),
            ([(0, 0), (0, 1), (0, 2)], (1, 0, 0, 0)),
            ([(0, 0), (0, 1), (0, 1), (0, 2), (5, 2)], (0, 1, 0, 0)),
            ([(0, 0), (0, 1), (0, 2), (5, 2), (5, 0)], (0, 0, 1, 1)),
            ([(0, 2), (0, 1), (0, 0), (5, 2)], (0, 0, 0, 1)),
        ],
    )
    def test_lost_repeated_unwanted_and_reordered_are_told_apart(
        self, came: list[tuple[int, int]], expected: tuple[int, ...]
    ) -> None:
        seen = verdict(*came)
        assert seen[2:] == expected
        assert not seen.complete

    def test_publications_of_different_publishers_have_no_order(self) -> None:
        assert verdict((0, 1), (0, 0), (0, 2), (5, 2)).complete


class TestLeaves:
    def test_subscribers_sit_where_a_single_link_ends_but_not_at_the_root(self) -> None:
        assert leaves(Topology.of([(ROOT, "b1"), ("b1", "b2"), ("b1", "b3")])) == ["b2", "b3"]

    def test_a_single_broker_has_them_all(self) -> None:
        assert leaves(Topology.of([], [ROOT])) == [ROOT]
