"""A gap in the overlay as a small problem: its living neighbours, and the traffic between them. Pure.

Behind each neighbour hangs a part of the tree that stays as it is. A traffic class (OCBR §2) with members in
two or more parts has to get from neighbour to neighbour, whichever way they are joined; what it costs inside
the parts is the same for every join. So a class is a row of a 0/1 matrix over the neighbours, with its
demand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regraft.model import Ends, Topology, ends
from regraft.model.traffic import Traffic

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Gap:
    """The k living neighbours of a gap. `classes[t, i]`: class t has members behind neighbour i."""

    names: tuple[str, ...]
    classes: Ints
    """Whole numbers: their products need no BLAS, whose threads would wait for a busy machine's cores."""
    demand: Floats
    link_costs: Floats
    """k × k: C_l of the link that could join two of them."""
    broker_costs: Floats
    capacity: tuple[int, ...]
    """How many links each may still get."""

    @property
    def uniform(self) -> bool:
        """Every link costs the same, and so does every neighbour: then the links' loads alone decide."""
        k = len(self.names)
        links = self.link_costs[~np.eye(k, dtype=bool)]
        return bool(np.ptp(links) == 0 and np.ptp(self.broker_costs) == 0) if k > 1 else True

    @property
    def free(self) -> bool:
        """No tree over the neighbours can exceed the degree limit."""
        return min(self.capacity, default=0) >= len(self.names) - 1

    def cost(self, links: list[tuple[int, int]]) -> float:
        """OCBR's function (1), over the new links and the neighbours, for a tree that joins them all."""
        inside = self.classes @ sides_of(len(self.names), links).T
        crossing = (inside > 0) & (inside < self.classes.sum(axis=1, keepdims=True))
        loads = (self.demand[:, None] * crossing).sum(axis=0)
        of_links = float(loads @ np.array([self.link_costs[link] for link in links]))
        if np.ptp(self.broker_costs) == 0:  # a class that crosses n links of a tree visits n + 1 brokers
            return of_links + float(self.broker_costs[0] * (loads.sum() + self.demand.sum()))
        incident = np.zeros((len(links), len(self.names)), dtype=np.int64)
        for number, link in enumerate(links):
            incident[number, list(link)] = 1
        visited = (crossing.astype(np.int64) @ incident) > 0
        return of_links + float((self.demand[:, None] * visited).sum(axis=0) @ self.broker_costs)


def sides_of(k: int, links: list[tuple[int, int]]) -> Ints:
    """For each link of a tree: 1 for the neighbours on the side away from neighbour 0."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(k)]
    for number, (i, j) in enumerate(links):
        near[i].append((j, number))
        near[j].append((i, number))
    sides = np.zeros((len(links), k), dtype=np.int64)
    order, above = [(0, -1)], {0: -1}
    for place, _ in order:
        for other, number in near[place]:
            if number != above[place]:
                above[other] = number
                order.append((other, number))
    for place, number in reversed(order):
        if number >= 0:
            sides[number, place] = 1
            parent = next(end for end in links[number] if end != place)
            if above[parent] >= 0:
                sides[above[parent]] += sides[number]
    return sides


def gap_of(
    topology: Topology,
    group: frozenset[str],
    gone: frozenset[str],
    traffic: Traffic,
    costs: Mapping[Ends, float],
    capacity: Mapping[str, int],
) -> Gap:
    """`group`: the linked dead brokers that leave this gap; `gone`: all dead brokers."""
    near = topology.neighbours
    around = {each for broker in group for each in near[broker]} - gone
    # The neighbour with the fewest links comes first: where nothing else decides, it gets the others.
    names = tuple(sorted(around, key=lambda name: (len(near[name]), name)))
    rows = _rows(traffic, _bits(topology, group, gone, names))
    cost_of = {broker.id: broker.cost for broker in topology.brokers if broker.id in around}
    link_costs = np.array(
        [[0.0 if a == b else costs.get(ends(a, b), 1.0) for b in names] for a in names], dtype=np.float64
    ).reshape(len(names), len(names))
    return Gap(
        names,
        _matrix(list(rows), len(names)),
        np.array(list(rows.values()), dtype=np.float64),
        link_costs,
        np.array([cost_of[name] for name in names], dtype=np.float64),
        tuple(capacity[name] for name in names),
    )


def _bits(
    topology: Topology, group: frozenset[str], gone: frozenset[str], names: tuple[str, ...]
) -> dict[str, int]:
    """Behind which neighbour each living broker is: one bit for each neighbour."""
    near = topology.neighbours
    bits = dict.fromkeys(group, 0)
    for number, name in enumerate(names):
        bits[name] = 1 << number
        waiting = [name]
        while waiting:
            for other in near[waiting.pop()]:
                if other not in bits:
                    bits[other] = 1 << number
                    waiting.append(other)
    return bits | dict.fromkeys(gone, 0)


def _rows(traffic: Traffic, bits: Mapping[str, int]) -> dict[int, float]:
    """The demand of each set of neighbours; classes behind one neighbour need no join."""
    rows: dict[int, float] = {}
    of = bits.__getitem__
    for members, demand in traffic:
        touched = 0
        for bit in map(of, members):
            touched |= bit
        if touched & (touched - 1) and demand > 0:  # two bits or more
            rows[touched] = rows.get(touched, 0.0) + demand
    return rows


def _matrix(sets: list[int], k: int) -> Ints:
    width = (k + 7) // 8
    packed = np.frombuffer(b"".join(each.to_bytes(width, "little") for each in sets), dtype=np.uint8)
    bits = np.unpackbits(packed.reshape(-1, width), axis=1, bitorder="little", count=k)
    return bits.astype(np.int64)
