"""Plans for repairs, without a search: which shifts a join, a new broker or a leaving one needs. Pure.

The fast path of healing. A dead broker d with living neighbours N is to be replaced by a tree over N
(`repair`). The tree is rooted at one of them; each other one is shifted from d to its parent, the deepest
first: its parent is then still linked to d, which is the guard that the shift needs. All of one depth are
shifted in one step. That takes |N| − 1 shifts, and no plan takes fewer, because |N| − 1 links have to be made
and each takes an action. Dead brokers that were linked first pass their living neighbours on to one of them,
link by link.

After that the dead brokers are leaves. Another plan detaches them: that may have to wait for their clients.
Every plan passes the verifier of `plan` before it is carried out, as all plans do.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from regraft.heal.repair import Join
from regraft.model import Action, Bounds, Ends, Link, Plan, Step, Topology, ends
from regraft.model.topology import Broker

PLANNER = "repair"
Around = dict[str, set[str]]


def isolating(topology: Topology, dead: Iterable[str], join: Join) -> Plan | None:
    """Gives the living the links of the join, so that each gap is linked to one of them only. None if it is
    already."""
    gone = frozenset(dead)
    around: Around = {id: set(near) for id, near in topology.neighbours.items()}
    gaps = [_steps_of(gap, gone, around, join.links) for gap in _gaps(gone, around)]
    merged = [tuple(action for step in each for action in step) for each in zip_longest(*gaps, fillvalue=())]
    return _plan(topology, tuple(step for step in merged if step)) if any(merged) else None


def detaching(topology: Topology, leaving: Iterable[str]) -> Plan | None:
    """Detaches those of them that are leaves, or become leaves by this. None if there are none."""
    around: Around = {id: set(near) for id, near in topology.neighbours.items()}
    left, steps = set(leaving) & set(around), list[Step]()
    while leaves := sorted(id for id in left if len(around[id]) == 1 and not around[id] <= left):
        steps.append(tuple(Action("detach", (id, *around[id])) for id in leaves))
        _leave(leaves, around, left)
    # What is left of them is linked to others that leave: their ends go one at a time.
    while leaves := sorted(id for id in left if len(around[id]) == 1)[:1]:
        steps.append(tuple(Action("detach", (id, *around[id])) for id in leaves))
        _leave(leaves, around, left)
    return _plan(topology, tuple(steps)) if steps else None


def inserting(topology: Topology, broker: str, between: Sequence[str]) -> Plan:
    """Adds the broker beside one, or in the middle of the link of two."""
    first, *rest = between
    steps: list[Step] = [(Action("append", (broker, first)),)]
    if rest:
        steps.append((Action("shift", (rest[0], first, broker)),))
    return _plan(topology, tuple(steps))


def shifting(topology: Topology, one: str, away_from: str, to: str) -> Plan:
    return _plan(topology, ((Action("shift", (one, away_from, to)),),))


def _leave(leaves: Iterable[str], around: Around, left: set[str]) -> None:
    for id in leaves:
        (near,) = around.pop(id)
        around[near].discard(id)
        left.discard(id)


def _gaps(gone: frozenset[str], around: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of linked dead brokers: in each, the one with most links first, then by distance from it."""
    left, found = set(gone), list[list[str]]()
    while left:
        first = max(sorted(left), key=lambda id: len(around[id]))
        gap, at = [first], 0
        left.discard(first)
        while at < len(gap):
            near = sorted(around[gap[at]] & left)
            left.difference_update(near)
            gap += near
            at += 1
        found.append(gap)
    return found


def _steps_of(gap: list[str], gone: frozenset[str], around: Around, links: Iterable[Ends]) -> list[Step]:
    """Shifts all living neighbours to the first broker of the gap, then from there into the tree of the
    join."""
    first, *others = gap
    steps: list[Step] = []
    for id in reversed(others):  # the farthest first
        (up,) = (near for near in around[id] if near in gone and gap.index(near) < gap.index(id))
        living = sorted(around[id] - gone)
        if living:
            steps.append(tuple(Action("shift", (each, id, up)) for each in living))
        for each in living:
            _relink(around, each, id, up)
    near = around[first] - gone
    tree: Around = {id: set() for id in near}
    for one, other in links:
        if one in near and other in near and other not in around[one]:
            tree[one].add(other)
            tree[other].add(one)
    for layer in reversed(_layers(tree)):
        steps.append(tuple(Action("shift", (id, first, parent)) for id, parent in layer))
        for id, parent in layer:
            _relink(around, id, first, parent)
    return steps


def _relink(around: Around, one: str, old: str, new: str) -> None:
    around[one].discard(old)
    around[old].discard(one)
    around[one].add(new)
    around[new].add(one)


def _layers(tree: Around) -> list[list[tuple[str, str]]]:
    """Brokers and their parents by depth, from a root that makes it shallow; the root itself has no layer."""
    if not tree:
        return []
    rooted = [_rooted(tree, root) for root in sorted(tree)]
    return min(rooted, key=len)


def _rooted(tree: Around, root: str) -> list[list[tuple[str, str]]]:
    layers: list[list[tuple[str, str]]] = []
    layer, seen = [root], {root}
    while True:
        below = [(each, id) for id in layer for each in sorted(tree[id]) if each not in seen]
        if not below:
            return layers
        layers.append(below)
        layer = [each for each, _ in below]
        seen.update(layer)


def _plan(topology: Topology, steps: tuple[Step, ...]) -> Plan:
    links, ids = set(topology.by_ends), set(topology.ids)
    for action in (action for step in steps for action in step):
        match action:
            case ("shift", (i, j, k)):
                links.discard(ends(i, j))
                links.add(ends(i, k))
            case ("append", (i, j)):
                ids.add(i)
                links.add(ends(i, j))
            case ("detach", (i, j)):
                ids.discard(i)
                links.discard(ends(i, j))
    goal = Topology(tuple(map(Broker, sorted(ids))), tuple(map(Link, sorted(links))), "tree")
    return Plan("tree", topology.sha256, goal.sha256, steps, PLANNER, Bounds(1, 1))
