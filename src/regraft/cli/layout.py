"""Where brokers are in a picture: one place each, for all steps of a plan.

If every broker has coordinates, these are used. Else places are found so that distances in the picture
resemble numbers of hops, halfway between those over the links of both topologies taken
together and those in each alone (stress majorisation: each round moves all brokers to the optimum of
a bound on the stress). The start is a tree drawn in rings around its centre, so that branches do not
cross.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from regraft.model import Topology

Places = Mapping[str, tuple[float, float]]
Points = NDArray[np.float64]
ROUNDS = 150


def places(current: Topology, goal: Topology) -> Places:
    """A place in the unit square for every broker of either topology."""
    ids = list(dict.fromkeys([*current.ids, *goal.ids]))
    points = _on_the_map(ids, current, goal)
    if points is None:
        points = _turned(_by_distance(ids, current, goal))
    return {
        id: (float(x), float(y)) for id, (x, y) in zip(ids, _fitted(_spread(_fitted(points))), strict=True)
    }


def _on_the_map(ids: list[str], current: Topology, goal: Topology) -> Points | None:
    known = {
        broker.id: (broker.longitude, broker.latitude)
        for broker in (*goal.brokers, *current.brokers)
        if broker.longitude is not None and broker.latitude is not None
    }
    if len(known) < len(ids):
        return None
    points = np.array([known[id] for id in ids])
    points[:, 0] *= math.cos(math.radians(points[:, 1].mean()))
    return points


def _by_distance(ids: list[str], current: Topology, goal: Topology) -> Points:
    number = {id: index for index, id in enumerate(ids)}
    both = Topology.of({*current.by_ends, *goal.by_ends}, ids, kind="mesh")
    together = _hops(both, number)
    alone = [_hops(topology, number) for topology in (current, goal)]
    mean = np.mean([np.where(np.isfinite(hops), hops, together) for hops in alone], axis=0)
    distance = (together + mean) / 2
    far = float(np.max(distance[np.isfinite(distance)], initial=1.0))
    distance[~np.isfinite(distance)] = far + 1  # there is no path
    return _majorised(_rings(current, number, far), distance)


def _hops(topology: Topology, number: Mapping[str, int]) -> Points:
    """The number of links between each two brokers, infinite if there is no path."""
    hops = np.full((len(number), len(number)), np.inf)
    for start in topology.ids:
        row, reached = hops[number[start]], [start]
        row[number[start]] = 0
        for one in reached:
            for other in topology.neighbours[one]:
                if np.isinf(row[number[other]]):
                    row[number[other]] = row[number[one]] + 1
                    reached.append(other)
    return hops


def _rings(topology: Topology, number: Mapping[str, int], far: float) -> Points:
    """Each broker at its depth from the centre, within an angle as wide as its branch is large."""
    points = np.zeros((len(number), 2))
    angles = np.linspace(0, 2 * math.pi, len(number), endpoint=False)
    points[:, 0], points[:, 1] = far * np.cos(angles), far * np.sin(angles)
    if not topology.ids:
        return points
    order, parent = breadth_first(topology, centre(topology))
    leaves = dict.fromkeys(order, 0)
    for id in reversed(order):
        leaves[id] = leaves[id] or 1
        if (above := parent[id]) is not None:
            leaves[above] += leaves[id]
    start, depth = {order[0]: 0.0}, {order[0]: 0}
    taken = dict.fromkeys(order, 0.0)
    for id in order:
        if (above := parent[id]) is not None:
            start[id], depth[id] = start[above] + taken[above], depth[above] + 1
            taken[above] += leaves[id]
        angle = 2 * math.pi * (start[id] + leaves[id] / 2) / leaves[order[0]]
        points[number[id]] = (depth[id] * math.cos(angle), depth[id] * math.sin(angle))
    return points


def centre(topology: Topology) -> str:
    """The middle of a longest path: walk as far as possible, and from there as far as possible again."""
    order, _ = breadth_first(topology, topology.ids[0])
    order, parent = breadth_first(topology, order[-1])
    way = [order[-1]]
    while (above := parent[way[-1]]) is not None:
        way.append(above)
    return way[len(way) // 2]


def breadth_first(topology: Topology, root: str) -> tuple[list[str], dict[str, str | None]]:
    """The brokers in order of their distance from `root`, and the parent of each."""
    parent: dict[str, str | None] = {root: None}
    order = [root]
    for one in order:
        for other in sorted(topology.neighbours[one]):
            if other not in parent:
                parent[other] = one
                order.append(other)
    return order, parent


def _majorised(points: Points, distance: Points) -> Points:
    """SMACOF with weights 1/d²: near distances matter most."""
    size = len(points)
    if size < 3:
        return points
    apart = distance + np.eye(size)
    weight = (1 - np.eye(size)) / apart**2
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(ROUNDS):
        gap = np.linalg.norm(points[:, None] - points[None, :], axis=2)
        ratio = -weight * distance / np.maximum(gap, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        points = inverse @ (ratio @ points)
    return points


def _turned(points: Points) -> Points:
    """Turns the points so that their longest extent is horizontal."""
    middle = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(middle.T @ middle)
    turned: Points = middle @ axes[:, ::-1]
    return turned


def _fitted(points: Points) -> Points:
    """Scales the points into the unit square, with the proportions kept."""
    size = np.ptp(points, axis=0)
    fitted: Points = (points - points.min(axis=0) - size / 2) / (size.max() or 1.0) + 0.5
    return fitted


def _spread(points: Points) -> Points:
    """Pushes brokers apart that would overlap, a little at a time."""
    least = 0.55 / math.sqrt(len(points))
    for _ in range(60):
        offset = points[:, None] - points[None, :]
        gap = np.linalg.norm(offset, axis=2) + np.eye(len(points)) * 9
        close = gap < least
        if not close.any():
            break
        angle = np.arange(len(points)) * 2.4  # brokers at one point are pushed in different directions
        nudge = np.stack([np.cos(angle), np.sin(angle)], axis=1)[:, None] * 1e-3
        push = (offset + nudge) / (gap[:, :, None] + 1e-3) * (np.clip(least - gap, 0, None) / 2)[:, :, None]
        points = points + np.where(close[:, :, None], push, 0).sum(axis=1)
    return points
