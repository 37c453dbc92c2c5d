"""Trees for tests: random, slightly changed, all of them, one of each shape, and as strategies.

A tree over brokers 0..n-1 is its set of links. A Prüfer code (n - 2 brokers, each any of n) stands
for exactly one labelled tree, which makes trees easy to enumerate, to draw evenly, and to shrink.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

import networkx as nx
from hypothesis import strategies as st

from regraft.model import Topology
from regraft.plan.problem import Pair, pair

Tree = frozenset[Pair]


def from_code(code: Sequence[int]) -> Tree:
    """The labelled tree of a Prüfer code."""
    size = len(code) + 2
    uses = [code.count(broker) for broker in range(size)]
    links, leaves = set(), {broker for broker in range(size) if not uses[broker]}
    for broker in code:
        leaf = min(leaves)
        leaves.remove(leaf)
        links.add(pair(leaf, broker))
        uses[broker] -= 1
        if not uses[broker]:
            leaves.add(broker)
    links.add(pair(*leaves))
    return frozenset(links)


def random_tree(size: int, rng: Random) -> Tree:
    """Any labelled tree, each as likely as the others."""
    return from_code([rng.randrange(size) for _ in range(size - 2)]) if size > 1 else frozenset()


def changed_tree(tree: Tree, ratio: float, rng: Random) -> Tree:
    """The tree with this part of its links replaced by new ones (fewer if there are too few pairs)."""
    changed = set(tree)
    for gone in rng.sample(sorted(tree), round(ratio * len(tree))):
        changed.remove(gone)
        side = reached(changed, gone[0])
        others = {end for link in tree for end in link} - side
        new = [link for a in side for b in others if (link := pair(a, b)) not in tree]
        changed.add(rng.choice(sorted(new)) if new else gone)
    return frozenset(changed)


def reached(links: set[Pair], start: int) -> set[int]:
    """The brokers joined to `start`."""
    found, grown = {start}, True
    while grown:
        new = {end for link in links if not found.isdisjoint(link) for end in link} - found
        found |= new
        grown = bool(new)
    return found


def all_trees(size: int) -> Iterator[Tree]:
    """Every labelled tree over `size` brokers: size ** (size - 2) of them."""
    if size == 1:
        yield frozenset()
    for code in product(range(size), repeat=size - 2) if size > 1 else ():
        yield from_code(code)


def tree_shapes(size: int) -> list[Tree]:
    """One tree of each shape: no two are the same up to the brokers' numbers."""
    return [frozenset(pair(a, b) for a, b in graph.edges) for graph in nx.nonisomorphic_trees(size)]


def named(tree: Tree, brokers: Sequence[str] | int) -> Topology:
    """The tree as a topology; brokers are b0, b1, … unless named."""
    ids = [f"b{number}" for number in range(brokers)] if isinstance(brokers, int) else brokers
    return Topology.of([(ids[a], ids[b]) for a, b in sorted(tree)], ids)


def trees(size: int) -> st.SearchStrategy[Tree]:
    code = st.lists(st.integers(0, size - 1), min_size=size - 2, max_size=size - 2)
    return code.map(from_code)


@st.composite
def tree_pairs(draw: st.DrawFn, largest: int = 9) -> tuple[Topology, Topology]:
    """Two trees on the same brokers."""
    size = draw(st.integers(2, largest))
    return named(draw(trees(size)), size), named(draw(trees(size)), size)


@st.composite
def joins_and_leaves(draw: st.DrawFn, largest: int = 9) -> tuple[Topology, Topology]:
    """Two trees that share at least one broker; others join or leave, inner brokers too."""
    before, after = draw(st.integers(2, largest)), draw(st.integers(2, largest))
    shared = draw(st.integers(1, min(before, after)))
    old = draw(st.permutations([f"b{number}" for number in range(before)]))
    new = draw(st.permutations([*old[:shared], *(f"n{number}" for number in range(after - shared))]))
    return named(draw(trees(before)), old), named(draw(trees(after)), new)
