"""Minimum cuts between the neighbours of a gap: which division of them separates the least demand. Pure.

The demand that a division separates is that of all traffic classes with members on both sides. For few
neighbours all divisions are counted at once; for many, each cut is a maximum flow (Lawler 1973: everything
that a class exchanges flows through one arc of its own).
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from regraft.heal.gap import Gap, Ints

FEW = 12
MOST_CLASSES = 1_000
"""Up to this many classes of three or more members, the cuts are exact."""
ROUGHLY = 300
"""With more, this many of the heaviest flow as they are; the others count as exchanges between pairs."""
_LARGEST = 2**50
_UNLIMITED = 2**52
Arcs = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Ints]
"""From, to, capacity."""


class Cuts(Protocol):
    exact: bool

    def side(self, s: int, t: int) -> frozenset[int]:
        """The side of s in a minimum cut between s and t."""


def cuts_of(gap: Gap) -> Cuts:
    return CountedCuts(gap) if len(gap.names) <= FEW else FlowCuts(gap)


class CountedCuts:
    """Of all 2^k sets: total − demand within the set − demand within the rest."""

    exact = True

    def __init__(self, gap: Gap) -> None:
        k = self._k = len(gap.names)
        within = np.zeros(1 << k)
        sets = gap.classes @ (1 << np.arange(k, dtype=np.int64))
        np.add.at(within, sets, gap.demand)
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
    """Flows are whole numbers: other demands are scaled and rounded, and then the cuts are not exact."""

    def __init__(self, gap: Gap) -> None:
        self._k = len(gap.names)
        whole = bool(np.all(gap.demand == np.round(gap.demand)) and gap.demand.sum() < _LARGEST)
        scale = 1.0 if whole else _LARGEST / max(gap.demand.sum(), 1e-300) / 2
        sizes = gap.classes.sum(axis=1)
        larger = np.flatnonzero(sizes > 2)
        most = MOST_CLASSES if len(larger) <= MOST_CLASSES else ROUGHLY
        heavy = larger[np.argsort(-gap.demand[larger], kind="stable")[:most]]
        self.exact = whole and len(heavy) == len(larger)
        others = np.setdiff1d(np.arange(len(sizes)), heavy)
        # Few gaps have so many neighbours, and every broker would have to load it.
        from ortools.graph.python.max_flow import SimpleMaxFlow  # noqa: PLC0415

        self._flow = SimpleMaxFlow()
        for arcs in (_pairwise(gap, others, scale), _through_points(gap, heavy, scale)):
            self._flow.add_arcs_with_capacity(*arcs)

    def side(self, s: int, t: int) -> frozenset[int]:
        if max(s, t) >= self._flow.num_nodes() or self._flow.solve(s, t) != self._flow.OPTIMAL:
            return frozenset({s})  # nothing flows to or from one of them
        return frozenset(each for each in self._flow.get_source_side_min_cut() if each < self._k)


def _pairwise(gap: Gap, rows: Ints, scale: float) -> Arcs:
    """Each class as an exchange between all pairs of its members: exact for pairs."""
    members = gap.classes[rows]
    weight = gap.demand[rows] / np.maximum(members.sum(axis=1) - 1, 1)
    amounts = members.T @ (members * np.round(weight * scale).astype(np.int64)[:, None])
    np.fill_diagonal(amounts, 0)
    one, other = np.nonzero(amounts)
    return one.astype(np.int32), other.astype(np.int32), amounts[one, other]


def _through_points(gap: Gap, rows: Ints, scale: float) -> Arcs:
    """Each class as two points of its own, with all that it exchanges on the arc between them."""
    k = len(gap.names)
    amounts = np.maximum(1, np.round(gap.demand[rows] * scale)).astype(np.int64)
    number, member = np.nonzero(gap.classes[rows])
    into = k + 2 * np.arange(len(rows))
    unlimited = np.full(len(member), _UNLIMITED, dtype=np.int64)
    return (
        np.concatenate([into, member, into[number] + 1]).astype(np.int32),
        np.concatenate([into + 1, into[number], member]).astype(np.int32),
        np.concatenate([amounts, unlimited, unlimited]),
    )
