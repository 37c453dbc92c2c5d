"""Clusterings of filters: all are partitions; each minimises what it says it does."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.dz import Dz, DzSet, shared
from regraft.routes.clustering_diameter import by_diameter, least_diameter, prefix_distances
from regraft.routes.clustering_overlap import by_overlap, least_waste, waste
from regraft.routes.clustering_prefix import by_prefix
from regraft.routes.clustering_spectral import by_spectrum, jaccard, spectral
from regraft.routes.settings import RouteSettings

ALL = [by_prefix, by_diameter, by_spectrum, by_overlap]
expressions = st.lists(st.text("01", min_size=1, max_size=5), min_size=1, max_size=9)
POINTS = [format(number, "05b") for number in range(32)]


def partitions(size: int, count: int) -> list[tuple[int, ...]]:
    """Every way to put items into clusters, each once."""
    return [
        labels
        for labels in product(range(count), repeat=size)
        if all(label <= max(labels[:place], default=-1) + 1 for place, label in enumerate(labels))
    ]


@pytest.mark.parametrize("cluster", ALL)
@settings(max_examples=40, deadline=None)
@given(expressions, st.data())
def test_clusters_are_disjoint_and_hold_exactly_the_filters(
    cluster: Callable[..., list[DzSet]], given_expressions: list[Dz], data: st.DataObject
) -> None:
    ends = st.frozensets(st.integers(0, 5), min_size=1)
    terminals = data.draw(st.just([]) | st.just([data.draw(ends) for _ in given_expressions]))
    clusters = cluster(given_expressions, RouteSettings(clusters=3), terminals)
    for point in POINTS:
        held = sum(point in part for part in clusters)
        assert held == any(point.startswith(dz) for dz in given_expressions)
    assert all(part.expressions for part in clusters)
    if cluster is not by_prefix:
        assert len(clusters) <= 3


@pytest.mark.parametrize("cluster", ALL)
def test_nothing_gives_no_clusters(cluster: Callable[..., list[DzSet]]) -> None:
    assert cluster([], RouteSettings()) == []


def test_prefix_clusters_share_their_first_digits_and_shorter_filters_are_alone() -> None:
    clusters = by_prefix(["0", "010", "011", "100", "1011", "11"], RouteSettings(prefix=2))
    assert clusters == [DzSet(["00"]), DzSet(["01"]), DzSet(["100", "1011"]), DzSet(["11"])]


@given(st.lists(st.text("01", min_size=1, max_size=6), min_size=2, max_size=7))
def test_prefix_distances_count_the_digits_after_the_shared_ones(given_expressions: list[Dz]) -> None:
    found = prefix_distances([DzSet((dz,)) for dz in given_expressions])
    longest = max(map(len, given_expressions))
    for i, one in enumerate(given_expressions):
        for j, other in enumerate(given_expressions):
            assert found[i, j] == (0 if one == other else longest - len(shared(one, other)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 4))
def test_the_program_finds_the_least_diameter(seed: int, size: int, count: int) -> None:
    distances = np.random.default_rng(seed).integers(1, 9, (size, size))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T

    def diameter(labels: tuple[int, ...] | list[int]) -> int:
        return max(int(distances[i, j]) for i in range(size) for j in range(size) if labels[i] == labels[j])

    labels = least_diameter(distances, count)
    assert len(set(labels)) <= count
    assert diameter(labels) == min(map(diameter, partitions(size, count)))


def test_many_pieces_are_grouped_before_the_program() -> None:
    draw = np.random.default_rng(1)
    points = np.sort(np.concatenate([centre + draw.integers(0, 8, 40) for centre in (0, 100, 200)]))
    labels = least_diameter(np.abs(points[:, None] - points[None, :]), 3)
    assert sorted(np.bincount(labels).tolist()) == [40, 40, 40]


def test_spectral_clustering_separates_what_hangs_together() -> None:
    draw = np.random.default_rng(3)
    truth = draw.permutation(np.repeat([0, 1, 2], [5, 9, 14]))
    alike = np.where(truth[:, None] == truth[None, :], 0.8, 0.05) + 0.05 * draw.random((28, 28))
    similar = (alike + alike.T) / 2
    np.fill_diagonal(similar, 1.0)
    labels = spectral(similar, 3)
    assert len(set(zip(labels, truth.tolist(), strict=True))) == 3


def cut_of(similar: np.ndarray, labels: tuple[int, ...] | list[int]) -> float:
    """Σ over clusters of the similarity that leaves it over all that it has."""
    total = 0.0
    for cluster in set(labels):
        inside = [place for place, label in enumerate(labels) if label == cluster]
        leaving = sum(similar[i, j] for i in inside for j in range(len(labels)) if labels[j] != cluster)
        total += leaving / sum(similar[i, j] for i in inside for j in range(len(labels)))
    return total


@pytest.mark.parametrize("count", [2, 3])
def test_spectral_clustering_is_mostly_the_least_normalised_cut_of_all(count: int) -> None:
    """Compared with all ways to make this many clusters; interests are random, without any structure."""
    least = 0
    for seed in range(12):
        draw = np.random.default_rng(seed)
        wanted = [frozenset(draw.choice(6, draw.integers(1, 4), replace=False).tolist()) for _ in range(8)]
        similar = jaccard(wanted)
        labels = spectral(similar, count, seed)
        assert len(set(labels)) == count
        every = [cut_of(similar, each) for each in partitions(8, count) if len(set(each)) == count]
        found = cut_of(similar, labels)
        least += found <= min(every) + 1e-9
        assert found <= np.quantile(every, 0.02)
    assert least >= 9


def test_likeness_is_shared_members_over_all_members() -> None:
    wanted = [frozenset({1, 2}), frozenset({2, 3, 4}), frozenset({9}), frozenset({1, 2})]
    found = jaccard(wanted)
    for i, one in enumerate(wanted):
        for j, other in enumerate(wanted):
            assert found[i, j] == pytest.approx(len(one & other) / len(one | other))


def test_spectral_clustering_goes_by_who_wants_the_events() -> None:
    terminals = [frozenset((0, 1)), frozenset((5, 6)), frozenset((0, 1)), frozenset((5, 6))]
    clusters = by_spectrum(["000", "001", "110", "111"], RouteSettings(clusters=2), terminals)
    assert sorted(map(tuple, clusters)) == [("000", "110"), ("001", "111")]


sets = st.lists(st.frozensets(st.integers(0, 4), min_size=1), min_size=1, max_size=6)


def no_move_helps(wanted: list[frozenset[int]], volumes: list[float], labels: list[int]) -> bool:
    found = waste(wanted, volumes, labels)
    moves = [
        [label if each == kind else old for each, old in zip(wanted, labels, strict=True)]
        for kind in set(wanted)
        for label in set(labels)
    ]
    return all(found <= waste(wanted, volumes, moved) + 1e-9 for moved in moves)


def test_joined_clusters_are_improved_by_moves() -> None:
    draw = np.random.default_rng(5)
    for _ in range(25):
        wanted = [frozenset(draw.choice(8, draw.integers(1, 6), replace=False).tolist()) for _ in range(14)]
        volumes = (draw.integers(1, 9, 14) / 8).tolist()
        assert no_move_helps(wanted, volumes, least_waste(wanted, np.array(volumes), 4))


@settings(max_examples=50, deadline=None)
@given(sets, st.integers(1, 3), st.data())
def test_no_single_move_lessens_the_waste(
    wanted: list[frozenset[int]], count: int, data: st.DataObject
) -> None:
    volumes = [data.draw(st.integers(1, 4)) / 4 for _ in wanted]
    labels = least_waste(wanted, np.array(volumes), count)
    found = waste(wanted, volumes, labels)
    assert len(set(labels)) <= count
    best = min(waste(wanted, volumes, each) for each in partitions(len(wanted), count))
    assert best <= found + 1e-9
    if len(set(wanted)) <= count:
        assert found == 0
    assert no_move_helps(wanted, volumes, labels)


def test_the_waste_is_mostly_the_least_possible() -> None:
    draw = np.random.default_rng(0)
    ratios = []
    for _ in range(40):
        wanted = [frozenset(draw.choice(6, draw.integers(1, 5), replace=False).tolist()) for _ in range(6)]
        volumes = (draw.integers(1, 5, 6) / 4).tolist()
        found = waste(wanted, volumes, least_waste(wanted, np.array(volumes), 3))
        best = min(waste(wanted, volumes, each) for each in partitions(6, 3))
        ratios.append((found + 1e-9) / (best + 1e-9))
    assert np.mean(np.array(ratios) < 1 + 1e-6) >= 0.8
    assert np.mean(ratios) < 1.1


def test_overlap_wastes_less_than_the_other_clusterings_of_the_same_size() -> None:
    draw = np.random.default_rng(2)
    given_expressions = sorted({"".join(draw.choice(["0", "1"], draw.integers(3, 7))) for _ in range(40)})
    terminals = [frozenset(draw.choice(20, 3, replace=False).tolist()) for _ in given_expressions]

    def wasted(clusters: list[DzSet]) -> float:
        points = [format(number, "07b") for number in range(128)]
        wants = {
            point: frozenset().union(
                *(terminals[n] for n, dz in enumerate(given_expressions) if point.startswith(dz))
            )
            for point in points
        }
        total = 0.0
        for part in clusters:
            inside = [point for point in points if point in part]
            reach = frozenset().union(*(wants[point] for point in inside))
            total += sum(len(reach - wants[point]) for point in inside)
        return total

    choices = RouteSettings(clusters=6)
    ours = wasted(by_overlap(given_expressions, choices, terminals))
    for other in (by_diameter, by_spectrum):
        assert ours < wasted(other(given_expressions, choices, terminals))
