import pytest

from regraft.lab.workload import SHAPES, Shape, tree, trees, with_links_changed
from regraft.model import BadInput, Topology

SIZES = (4, 20, 60, 150, 1000)


def levels(topology: Topology) -> dict[str, int]:
    """The level of every broker, the root (b0) being on level 0."""
    level, frontier = {"b0": 0}, ["b0"]
    while frontier:
        frontier = [near for id in frontier for near in sorted(topology.neighbours[id]) if near not in level]
        for id in frontier:
            level[id] = min(level[near] for near in topology.neighbours[id] if near in level) + 1
    return level


@pytest.mark.parametrize("size", SIZES)
def test_every_shape_has_the_asked_size_and_keeps_its_maximum_degree(size: int) -> None:
    for shape in SHAPES:
        topology = tree(size, shape)
        assert topology.kind == "tree"
        assert len(topology.ids) == size
        assert len(topology.links) == size - 1
        assert max(len(near) for near in topology.neighbours.values()) <= shape.max_degree


def test_large_trees_use_every_degree_up_to_the_maximum() -> None:
    for shape in SHAPES:
        degrees = {len(near) for near in tree(1000, shape).neighbours.values()}
        assert degrees == set(range(1, shape.max_degree + 1))


def test_there_are_twelve_different_topologies() -> None:
    assert len(SHAPES) == 12
    assert len({tree(60, shape).sha256 for shape in SHAPES}) == 12


def test_balanced_trees_have_leaves_only_on_the_last_two_levels() -> None:
    for shape in SHAPES:
        topology = tree(300, shape)
        level = levels(topology)
        leaves = {level[id] for id, near in topology.neighbours.items() if len(near) == 1}
        deepest = max(level.values())
        if shape.balanced:
            assert leaves <= {deepest - 1, deepest}
        else:
            assert min(leaves) < deepest - 1


def test_latencies_lie_between_10_and_50_ms_in_both_trees() -> None:
    for topology in trees(500, 0.2, SHAPES[0]):
        latencies = [link.latency_ms for link in topology.links]
        assert all(latency is not None and 10.0 <= latency <= 50.0 for latency in latencies)
        assert len(set(latencies)) > 100


@pytest.mark.parametrize("ratio", (0.0, 0.05, 0.1, 0.2, 0.3, 0.9))
def test_exactly_the_asked_share_of_links_differs(ratio: float) -> None:
    for shape in SHAPES:
        initial, goal = trees(121, ratio, shape)
        assert initial.ids == goal.ids
        assert len(goal.by_ends.keys() - initial.by_ends.keys()) == round(ratio * 120)


def test_links_that_stay_keep_their_latency() -> None:
    initial, goal = trees(60, 0.2, SHAPES[3])
    common = initial.by_ends.keys() & goal.by_ends.keys()
    assert len(common) == 59 - 12
    assert all(initial.by_ends[ends] == goal.by_ends[ends] for ends in common)


def test_the_same_shape_gives_the_same_trees_and_another_seed_gives_others() -> None:
    assert trees(60, 0.2, SHAPES[5]) == trees(60, 0.2, SHAPES[5])
    shape = SHAPES[5]
    assert tree(60, shape).sha256 != tree(60, Shape(shape.max_degree, shape.balanced, shape.seed + 10)).sha256


def test_goals_of_different_ratios_are_drawn_anew() -> None:
    shape = SHAPES[0]
    initial = tree(60, shape)
    goals = {with_links_changed(initial, ratio, shape.seed).sha256 for ratio in (0.05, 0.1, 0.2)}
    assert len(goals) == 3


def test_a_star_can_be_changed_as_long_as_one_link_stays() -> None:
    star = Topology.of([("hub", f"leaf{index}") for index in range(6)])
    goal = with_links_changed(star, 5 / 6, seed=1)
    assert len(goal.by_ends.keys() - star.by_ends.keys()) == 5
    with pytest.raises(BadInput, match="at least one must stay"):
        with_links_changed(star, 1.0, seed=1)


def test_a_tree_without_brokers_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one broker"):
        tree(0, SHAPES[0])
