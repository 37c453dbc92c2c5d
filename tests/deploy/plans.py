"""Small plans for the tests of this folder."""

from regraft.model import Action, Bounds, Limits, Plan, Topology, ends
from regraft.model.limits import TREE_OPERATIONS
from regraft.plan import verify as replay

CHAIN = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
STAR = Topology.of([("c", "a"), ("c", "b"), ("c", "d"), ("c", "e")])
RING_OPENED = Topology.of([("e", "a"), ("b", "c"), ("c", "d"), ("d", "e")])


def plan(current: Topology, goal: Topology, *steps: list[tuple[str, ...]]) -> Plan:
    made = tuple(tuple(Action(op, tuple(names)) for op, *names in step) for step in steps)
    return Plan(current.kind, current.sha256, goal.sha256, made, "test", Bounds(0, 0))


def links_of(topology: Topology) -> set[tuple[str, str]]:
    return {ends(*link.ends) for link in topology.links}


def verify(plan: Plan, current: Topology, goal: Topology) -> None:
    replay(plan, current, goal, Limits(operations=frozenset(TREE_OPERATIONS)))


TO_STAR = plan(CHAIN, STAR, [("shift", "a", "b", "c"), ("shift", "e", "d", "c")])
"""One step of two actions that share no link."""
AROUND = plan(
    CHAIN, RING_OPENED, [("shift", "a", "b", "c")], [("shift", "a", "c", "d")], [("shift", "a", "d", "e")]
)
"""Three steps of one action: a goes from b to e."""
