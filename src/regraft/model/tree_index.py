"""A tree as arrays in depth-first order: common ancestors and spanning subtrees for many sets at once.

OCBR's cost function (§2, (1)) asks for the minimal subtree ST_t of every traffic class. Its weight is
half the closed tour through the members in depth-first order. With D the weight of the path from the root,
and with the lowest common ancestors of neighbours in that order, the weight is

    Σ D(member) − Σ D(ancestor of two neighbours) − D(top)

where the top is the common ancestor of all. So no graph is walked per class: everything is sums over arrays.
Shared by `evaluate` and by its Spark counterpart in `measure`, which must not import each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regraft.model.errors import BadInput
from regraft.model.topology import Topology

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeIndex:
    """Brokers are their positions in a depth-first order from the first broker; a link is its lower end."""

    ids: tuple[str, ...]
    position: Mapping[str, int]
    parent: Ints
    """The root is its own parent."""
    end: Ints
    """The subtree of position p is p … end[p] − 1."""
    _lowest: tuple[Ints, ...]
    """Row i: for each position, the least parent among the 2^i positions that begin there."""

    @classmethod
    def of(cls, topology: Topology) -> "TreeIndex":
        if topology.kind != "tree":
            raise BadInput("kind", "a tree is needed, this topology is a mesh")
        ids, parents, ends = _depth_first(topology)
        parent = np.array(parents, dtype=np.int64)
        return cls(
            tuple(ids),
            {id: place for place, id in enumerate(ids)},
            parent,
            np.array(ends, dtype=np.int64),
            _least_of_ranges(parent),
        )

    def ancestors(self, left: Ints, right: Ints) -> Ints:
        """The lowest common ancestor of each pair; left ≤ right.

        All positions in (left, right] lie below the ancestor, and one of them is its child: so it is the
        least of their parents.
        """
        width = np.maximum(right - left, 1)
        # The exponent of a whole number below 2^53, exactly.
        level = np.frexp(width.astype(np.float64))[1] - 1
        found = left.copy()
        for row, lowest in enumerate(self._lowest):
            of_row = (level == row) & (right > left)
            start = left[of_row] + 1
            found[of_row] = np.minimum(lowest[start], lowest[right[of_row] + 1 - (1 << row)])
        return found

    def from_root(self, weights: Floats) -> Floats:
        """D: the sum of the weights on the path from the root to each position, without the root's own."""
        total = weights.tolist()
        total[0] = 0.0
        for place, above in enumerate(self.parent.tolist()[1:], start=1):
            total[place] += total[above]
        return np.array(total, dtype=np.float64)

    def sums_below(self, values: Floats) -> Floats:
        """The sum of the values in each position's subtree."""
        running = np.concatenate(([0.0], np.cumsum(values)))
        sums: Floats = running[self.end] - running[:-1]
        return sums

    def link_costs(self, topology: Topology) -> Floats:
        """C_l of the link above each position; 0 at the root."""
        return self._of_links({link.ends: link.cost for link in topology.links})

    def link_latencies(self, topology: Topology) -> Floats | None:
        """Milliseconds of the link above each position; None if a link states none."""
        latencies: dict[tuple[str, str], float] = {}
        for link in topology.links:
            if link.latency_ms is None:
                return None
            latencies[link.ends] = link.latency_ms
        return self._of_links(latencies)

    def broker_costs(self, topology: Topology) -> Floats:
        """C_b of each position."""
        costs = {broker.id: broker.cost for broker in topology.brokers}
        return np.array([costs[id] for id in self.ids], dtype=np.float64)

    def _of_links(self, values: Mapping[tuple[str, str], float]) -> Floats:
        pairs = zip(self.ids[1:], self.parent.tolist()[1:], strict=True)
        above = ((id, self.ids[parent]) for id, parent in pairs)
        return np.array([0.0, *(values[min(pair), max(pair)] for pair in above)], dtype=np.float64)


def _depth_first(topology: Topology) -> tuple[list[str], list[int], list[int]]:
    near = topology.neighbours
    ids: list[str] = []
    parents: list[int] = []
    waiting = [(topology.ids[0], 0)]
    while waiting:
        id, parent = waiting.pop()
        above = ids[parent] if ids else None
        place = len(ids)
        ids.append(id)
        parents.append(parent)
        waiting.extend((other, place) for other in sorted(near[id], reverse=True) if other != above)
    ends = list(range(1, len(ids) + 1))
    for place in range(len(ids) - 1, 0, -1):
        ends[parents[place]] = max(ends[parents[place]], ends[place])
    return ids, parents, ends


def _least_of_ranges(values: Ints) -> tuple[Ints, ...]:
    rows = [values]
    width = 1
    while 2 * width <= len(values):
        above = rows[-1]
        rows.append(np.minimum(above[:-width], above[width:]))
        width *= 2
    return tuple(rows)
