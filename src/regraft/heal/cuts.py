"""Minimum cuts between the neighbours of a gap: which division of them separates the least demand. Pure.

The demand that a division separates is that of all traffic classes with members on both sides. For few
neighbours all divisions are counted at once; for many, each cut is a maximum flow (Lawler 1973: everything
that a class exchanges flows through one arc of its own).
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt
from ortools.graph.python.max_flow import SimpleMaxFlow

from regraft.heal.joints import Joint

FEW = 12
MOST_CLASSES = 800
"""With more, the lightest count as if their members exchanged in pairs, and nothing is proven."""
_LARGEST = 2**50
_UNLIMITED = 2**52
_Ints = npt.NDArray[np.int64]


class Cuts(Protocol):
    exact: bool

    def side(self, s: int, t: int) -> frozenset[int]:
        """The side of s in a minimum cut between s and t."""


def cuts_of(joint: Joint) -> Cuts:
    return CountedCuts(joint) if len(joint.names) <= FEW else FlowCuts(joint)


class CountedCuts:
    """Of all 2^k sets: total − demand within the set − demand within the rest."""

    exact = True

    def __init__(self, joint: Joint) -> None:
        k = self._k = len(joint.names)
        within = np.zeros(1 << k)
        sets = joint.classes.astype(np.int64) @ (1 << np.arange(k, dtype=np.int64))
        np.add.at(within, sets, joint.demand)
        for bit in range(k):
            pairs = within.reshape(-1, 2, 1 << bit)
            pairs[:, 1] += pairs[:, 0]
        self._separated = within[-1] - within - within[::-1]
        self._sets = np.arange(1 << k, dtype=np.int64)

    def side(self, s: int, t: int) -> frozenset[int]:
        between = ((self._sets >> s) & 1 == 1) & ((self._sets >> t) & 1 == 0)
        candidates = self._sets[between]
        best = int(candidates[np.argmin(self._separated[between])])
        return frozenset(i for i in range(self._k) if best >> i & 1)


class FlowCuts:
    """Flows are whole numbers: other demands are scaled, and then nothing is proven."""

    def __init__(self, joint: Joint) -> None:
        self._k = k = len(joint.names)
        order = np.argsort(-joint.demand, kind="stable")
        heavy, light = order[:MOST_CLASSES], order[MOST_CLASSES:]
        whole = bool(np.all(joint.demand == np.round(joint.demand)) and joint.demand.sum() < _LARGEST)
        self.exact = whole and not len(light)
        scale = 1.0 if whole else _LARGEST / max(joint.demand.sum(), 1e-300) / 2
        arcs = _pairwise(joint, light, scale)
        points = k
        for row in heavy.tolist():
            members = np.flatnonzero(joint.classes[row]).tolist()
            amount = max(1, round(float(joint.demand[row]) * scale))
            if len(members) == 2:
                a, b = members
                arcs[a, b] = arcs[b, a] = arcs.get((a, b), 0) + amount
                continue
            into, out = points, points + 1
            points += 2
            arcs[into, out] = amount
            for member in members:
                arcs[member, into] = arcs[out, member] = _UNLIMITED
        self._lay(arcs)

    def _lay(self, arcs: dict[tuple[int, int], int]) -> None:
        keys = np.array(list(arcs), dtype=np.int32).reshape(-1, 2)
        self._flow = SimpleMaxFlow()
        self._flow.add_arcs_with_capacity(
            keys[:, 0], keys[:, 1], np.array(list(arcs.values()), dtype=np.int64)
        )

    def side(self, s: int, t: int) -> frozenset[int]:
        if max(s, t) >= self._flow.num_nodes() or self._flow.solve(s, t) != self._flow.OPTIMAL:
            return frozenset({s})  # nothing flows to or from one of them
        return frozenset(each for each in self._flow.get_source_side_min_cut() if each < self._k)


def _pairwise(joint: Joint, rows: _Ints, scale: float) -> dict[tuple[int, int], int]:
    """Each class as an exchange between all pairs of its members; exact where it separates one of them."""
    members = joint.classes[rows]
    weight = joint.demand[rows] / np.maximum(members.sum(axis=1) - 1, 1)
    pairs = np.round(members.T @ (members * weight[:, None]) * scale).astype(np.int64)
    k = len(joint.names)
    return {(a, b): int(pairs[a, b]) for a in range(k) for b in range(k) if a != b and pairs[a, b] > 0}
