"""The spanning subtrees of many traffic classes in one tree, as arrays (OCBR §2: ST_t).

Members are positions of a `TreeIndex`, class after class. A member may occur twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regraft.model.errors import BadInput
from regraft.model.traffic import TrafficClass
from regraft.model.tree_index import Floats, Ints, TreeIndex


@dataclass(frozen=True, eq=False)
class Spans:
    """`members` are in depth-first order within each class.

    `joints` are the common ancestors of each two neighbours in that order, `tops` those of whole classes.
    """

    index: TreeIndex
    demand: Floats
    members: Ints
    member_class: Ints
    joints: Ints
    joint_class: Ints
    tops: Ints

    @classmethod
    def of(cls, index: TreeIndex, classes: Sequence[TrafficClass]) -> "Spans":
        """`BadInput` names the first class with a member that is no broker of the tree."""
        position = index.position
        try:
            members = [position[member] for each in classes for member in each.members]
        except KeyError:
            raise _unknown(index, classes) from None
        sizes = np.array([len(each.members) for each in classes], dtype=np.int64)
        demand = np.array([each.demand for each in classes], dtype=np.float64)
        return cls.packed(index, np.array(members, dtype=np.int64), sizes, demand)

    @classmethod
    def packed(cls, index: TreeIndex, members: Ints, sizes: Ints, demand: Floats) -> "Spans":
        """From positions, class after class; every class has at least one member."""
        brokers = len(index.ids)
        member_class = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        # Sorting one combined key keeps the order of classes and sorts members by their position in the tree.
        members = np.sort(member_class * brokers + members) - member_class * brokers
        neighbours = np.flatnonzero(member_class[1:] == member_class[:-1])
        last = np.cumsum(sizes) - 1
        return cls(
            index,
            demand,
            members,
            member_class,
            index.ancestors(members[neighbours], members[neighbours + 1]),
            member_class[neighbours],
            index.ancestors(members[last - sizes + 1], members[last]),
        )

    def __len__(self) -> int:
        return len(self.demand)

    def weights(self, of_links: Floats) -> Floats:
        """For every class: the sum over the links of its subtree."""
        way = self.index.from_root(of_links)
        ends = np.bincount(self.member_class, way[self.members], len(self))
        weights: Floats = ends - np.bincount(self.joint_class, way[self.joints], len(self)) - way[self.tops]
        return weights

    def broker_weights(self, of_brokers: Floats) -> Floats:
        """For every class: the sum over the brokers of its subtree.

        Each broker except the top is the lower end of one link of the subtree.
        """
        return self.weights(of_brokers) + of_brokers[self.tops]

    def link_loads(self) -> Floats:
        """For the link above each position: the demand of all classes whose subtree has it."""
        brokers = len(self.index.ids)
        change: Floats = np.bincount(self.members, self.demand[self.member_class], brokers).astype(np.float64)
        change -= np.bincount(self.joints, self.demand[self.joint_class], brokers)
        change -= np.bincount(self.tops, self.demand, brokers)
        return self.index.sums_below(change)

    def broker_loads(self) -> Floats:
        """For each position: the demand of all classes whose subtree has it."""
        return self.link_loads() + np.bincount(self.tops, self.demand, len(self.index.ids))


def _unknown(index: TreeIndex, classes: Sequence[TrafficClass]) -> BadInput:
    for number, each in enumerate(classes):
        for member in sorted(each.members):
            if member not in index.position:
                return BadInput(f"classes[{number}].members", f"unknown broker id {member!r}")
    raise AssertionError("every member is known")
