"""The builders that other tests rely on."""

from random import Random

import networkx as nx
import pytest
from hypothesis import given

from regraft.model import Topology
from regraft.testing.trees import changed_tree, from_code, joins_and_leaves, named, random_tree


def test_a_code_gives_the_tree_of_the_textbook() -> None:
    assert from_code([3, 3, 3, 4]) == {(0, 3), (1, 3), (2, 3), (3, 4), (4, 5)}


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_a_random_tree_is_a_tree_and_the_seed_decides_it(size: int) -> None:
    tree = random_tree(size, Random(1))
    assert len(named(tree, size).ids) == size
    assert tree == random_tree(size, Random(1))


@pytest.mark.parametrize("ratio", [0.0, 0.2, 1.0])
def test_a_changed_tree_is_a_tree_with_that_part_of_its_links_new(ratio: float) -> None:
    tree = random_tree(41, Random(2))
    changed = changed_tree(tree, ratio, Random(3))
    assert nx.is_tree(nx.Graph(changed))
    assert len(changed - tree) == round(40 * ratio)


def test_a_tree_with_no_other_pairs_to_link_stays() -> None:
    assert changed_tree(frozenset({(0, 1)}), 1.0, Random(0)) == {(0, 1)}


@given(joins_and_leaves(6))
def test_two_trees_with_joins_and_leaves_share_a_broker(pair: tuple[Topology, Topology]) -> None:
    before, after = pair
    assert set(before.ids) & set(after.ids)
