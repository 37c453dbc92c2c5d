"""Plans for repairs, without a search: which shifts a join, a new broker or a leaving one needs. Pure.

The fast path of healing. A dead broker d with living neighbours N is to be replaced by a tree over N
(`repair`). Rooted at one of them, each other one is shifted from d to its parent, the deepest first: when
it is its turn its parent still hangs on d, which is the guard that the shift needs. All of one depth go at
once. That takes |N| − 1 shifts, and no plan takes fewer: so many links have to be made, and none is made
without an action. Dead brokers that were linked first hand their living neighbours on to one of them, link
by link.

The dead ones are leaves then, and are detached by a plan of its own: that may have to wait for their clients.
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
    """The living get the links of the join; the dead end as leaves, or hang on one that is. None: they do."""
    gone = frozenset(dead)
    around: Around = {id: set(near) for id, near in topology.neighbours.items()}
    gaps = [_steps_of(gap, gone, around, join.links) for gap in _gaps(gone, around)]
    merged = [tuple(action for step in each for action in step) for each in zip_longest(*gaps, fillvalue=())]
    return _plan(topology, tuple(step for step in merged if step)) if any(merged) else None


def detaching(topology: Topology, leaving: Iterable[str]) -> Plan | None:
    """Those of them that are leaves, or become leaves by this, leave. None: there is none."""
    around: Around = {id: set(near) for id, near in topology.neighbours.items()}
    left, steps = set(leaving) & set(around), list[Step]()
    while leaves := sorted(id for id in left if len(around[id]) == 1 and not around[id] <= left):
        steps.append(tuple(Action("detach", (id, *around[id])) for id in leaves))
        _leave(leaves, around, left)
    while leaves := sorted(
        id for id in left if len(around[id]) == 1
    ):  # a chain of them hangs on a living one
        leaves = leaves[:1]
        steps.append(tuple(Action("detach", (id, *around[id])) for id in leaves))
        _leave(leaves, around, left)
    return _plan(topology, tuple(steps)) if steps else None


def inserting(topology: Topology, broker: str, between: Sequence[str]) -> Plan:
    """Beside one, or in the middle of the link of two."""
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
    """Dead ones that are linked, the one with most links first, then away from it."""
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
    """Living neighbours come together at the first of the gap; then they are dealt out over the join."""
    first, *others = gap
    steps: list[Step] = []
    for id in reversed(others):  # those far away first
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
