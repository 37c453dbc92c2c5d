"""Workloads for OCBR: brokers on a map, links that cost their length, classes that are mostly local.

OCBR prints no workload (its simulations are in a separate report), so this one is ours: brokers stand at
random in a square of 100 × 100, a link costs its length plus one, and a class has at least two members, drawn
from the brokers nearest to a random one (`local` of the classes) or from all.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from regraft.lab.ocbr_networks import Instance
from regraft.model import Broker, Ends, Link, Topology, ends
from regraft.model.traffic import Traffic, TrafficClass

AROUND = 30
"""Brokers that a local class is drawn from."""


def geographic(
    size: int, classes: int, seed: int, near: int | None = None, local: float = 0.7
) -> Instance:  # fmt: skip
    """A network of all pairs, or of each broker and its `near` nearest ones, and never in pieces."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0.0, 100.0, (size, 2))
    ids = [f"b{number}" for number in range(size)]
    pairs = _all_pairs(size) if near is None else _near_pairs(points, near)
    length = np.hypot(*(points[pairs[:, 0]] - points[pairs[:, 1]]).T) + 1.0
    links = tuple(
        Link(ends(ids[a], ids[b]), cost=cost)
        for (a, b), cost in zip(pairs.tolist(), length.round(2).tolist(), strict=True)
    )
    network = Topology(tuple(Broker(id) for id in ids), links, "mesh")
    return Instance(f"{size} brokers", network, _classes(points, ids, classes, local, rng))


def _all_pairs(size: int) -> np.ndarray:
    return np.transpose(np.triu_indices(size, 1))


def _near_pairs(points: np.ndarray, near: int) -> np.ndarray:
    """Each broker and its nearest ones, and a chain from left to right so that no broker is cut off."""
    size = len(points)
    _, found = cKDTree(points).query(points, min(size, near + 1))
    here = np.repeat(np.arange(size), found.shape[1])
    chain = np.argsort(points[:, 0], kind="stable")
    both = np.concatenate(
        (np.stack((here, found.ravel()), axis=1), np.stack((chain[:-1], chain[1:]), axis=1))
    )
    both = np.sort(both[both[:, 0] != both[:, 1]], axis=1)
    return np.unique(both, axis=0)


def _classes(
    points: np.ndarray, ids: Sequence[str], classes: int, local: float, rng: np.random.Generator
) -> Traffic:
    size = len(ids)
    _, around = cKDTree(points).query(points, min(size, AROUND))
    found = []
    for _ in range(classes):
        count = min(size, 2 + int(rng.geometric(0.4)) - 1)
        pool = around[rng.integers(size)] if rng.random() < local else None
        drawn = rng.integers(size, size=count) if pool is None else rng.choice(pool, count)
        members = frozenset(ids[int(b)] for b in drawn)
        found.append(TrafficClass(members, float(rng.integers(1, 20))))
    return tuple(found)


def random_tree(network: Topology, seed: int) -> list[Ends]:
    """A tree of possible links, made by joining brokers along links in random order."""
    rng = np.random.default_rng(seed)
    above = {id: id for id in network.ids}

    def root(id: str) -> str:
        while above[id] != id:
            above[id] = above[above[id]]
            id = above[id]
        return id

    chosen: list[Ends] = []
    pairs = list(network.by_ends)
    for place in rng.permutation(len(pairs)).tolist():
        one, other = (root(end) for end in pairs[place])
        if one != other:
            above[one] = other
            chosen.append(pairs[place])
            if len(chosen) == len(above) - 1:
                break
    return chosen


def pairs_by_gravity(network: Topology, seed: int, classes: int) -> Traffic:
    """Classes for a network that comes without demands: members drawn by degree, two to four of them."""
    rng = np.random.default_rng(seed)
    degree = np.array([len(network.neighbours[id]) for id in network.ids], np.float64)
    share = degree / degree.sum()
    found = []
    for _ in range(classes):
        drawn = rng.choice(len(degree), min(len(degree), int(rng.integers(2, 5))), replace=False, p=share)
        members = frozenset(network.ids[int(b)] for b in drawn)
        found.append(TrafficClass(members, float(rng.integers(1, 20))))
    return tuple(found)
