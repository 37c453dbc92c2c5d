"""Brokers that join or leave: appended first, detached last (IPITT §IV-B).

A joining broker is appended to its neighbour in the goal tree that is nearer to a broker already there,
so its first link is already a goal link. A leaving broker keeps the link to its neighbour in the initial
tree that is nearer to a broker that stays, and is detached from it in the end. Added to the other tree,
these links make both trees span all brokers, and shifts do the rest.
"""

from collections import Counter
from collections.abc import Mapping, Set
from itertools import groupby

from regraft.model import Action, Infeasible, Limits, Step, Topology
from regraft.plan.problem import Problem, pair

Layered = list[tuple[int, str, str]]
"""(distance from the brokers in common, broker, its neighbour on the way there)"""


def frame(current: Topology, goal: Topology, limits: Limits) -> Problem | Infeasible:
    """Both trees over the same numbered brokers, or the limit that forbids the change of brokers."""
    here, there = set(current.ids), set(goal.ids)
    for names, operation in ((there - here, "append"), (here - there, "detach")):
        if names and operation not in limits.operations:
            return Infeasible(
                f"{operation} is not allowed, but the broker sets differ", operation, min(names), True
            )
    joining = _layers(goal.neighbours, here & there)
    leaving = _layers(current.neighbours, here & there)
    if not here & there:
        joining, leaving = _meet(current, goal)
    ids = (*current.ids, *(id for id in goal.ids if id not in here))
    number = {id: at for at, id in enumerate(ids)}

    def links(topology: Topology, extra: Layered) -> frozenset[tuple[int, int]]:
        pairs = [*topology.by_ends, *((broker, beside) for _, broker, beside in extra)]
        return frozenset(pair(number[one], number[other]) for one, other in pairs)

    return Problem(
        ids,
        links(current, joining),
        links(goal, leaving),
        _steps("append", joining, limits),
        tuple(reversed(_steps("detach", leaving, limits))),
    )


def _layers(neighbours: Mapping[str, frozenset[str]], common: Set[str]) -> Layered:
    """Brokers outside `common`, breadth first from it."""
    found: Layered = []
    seen, border, distance = set(common), sorted(common), 0
    while border:
        distance += 1
        beyond: list[str] = []
        for broker in border:
            for beside in sorted(neighbours[broker] - seen):
                seen.add(beside)
                beyond.append(beside)
                found.append((distance, beside, broker))
        border = beyond
    return found


def _meet(current: Topology, goal: Topology) -> tuple[Layered, Layered]:
    """No broker in common: the new tree grows beside the old one, over a link between their first brokers."""
    old, new = current.ids[0], goal.ids[0]
    joining = [(1, new, old), *((d + 1, one, other) for d, one, other in _layers(goal.neighbours, {new}))]
    leaving = [(1, old, new), *((d + 1, one, other) for d, one, other in _layers(current.neighbours, {old}))]
    return joining, leaving


def _steps(operation: str, layers: Layered, limits: Limits) -> tuple[Step, ...]:
    """One step per layer: a broker can only be appended to one that is there already."""
    steps: list[Step] = []
    for _, layer in groupby(layers, key=lambda entry: entry[0]):
        waiting = [Action(operation, (broker, beside)) for _, broker, beside in layer]
        while waiting:
            step = _one_each(waiting) if limits.exclusive else waiting
            steps.append(tuple(step))
            waiting = [action for action in waiting if action not in set(step)]
    return tuple(steps)


def _one_each(actions: list[Action]) -> list[Action]:
    """As many of the actions as fit when no broker takes part in two."""
    busy: set[str] = set()
    step = []
    for action in actions:
        if busy.isdisjoint(action.brokers):
            busy.update(action.brokers)
            step.append(action)
    return step


def over_degree(problem: Problem, limits: Limits) -> Infeasible | None:
    """Infeasible if one of the trees itself breaks the degree limit.

    If only the brokers that join or leave break it, they could be appended elsewhere: nothing is proven then.
    """
    if limits.max_degree is None:
        return None
    number = {id: at for at, id in enumerate(problem.ids)}
    joining, leaving = (
        {pair(*(number[id] for id in action.brokers)) for step in steps for action in step}
        for steps in (problem.appends, problem.detaches)
    )
    for links, name, proven in (
        (problem.initial - joining, "current tree", True),
        (problem.goal - leaving, "goal tree", True),
        (problem.initial, "current tree with the joining brokers", False),
        (problem.goal, "goal tree with the leaving brokers", False),
    ):
        degree = Counter(broker for link in links for broker in link)
        for broker, count in degree.items():
            if count > limits.max_degree:
                reason = f"a broker of the {name} has {count} links, {limits.max_degree} are allowed"
                return Infeasible(reason, "max-degree", problem.ids[broker], proven)
    return None
