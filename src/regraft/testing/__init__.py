"""Builders and oracles for tests and benchmarks. Nothing that runs in production imports it."""

from regraft.testing.brute_force import Front, brute_force, fronts
from regraft.testing.trees import all_trees, changed_tree, named, random_tree, tree_shapes

__all__ = [
    "Front",
    "all_trees",
    "brute_force",
    "changed_tree",
    "fronts",
    "named",
    "random_tree",
    "tree_shapes",
]
