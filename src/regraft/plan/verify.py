"""The independent replay: is this plan what it claims to be? Shares no code with the planners.

A step is a set of actions that may run at once, so it is accepted only if every order of them is
safe. One argument covers all of them. Take the tree at the start of a step and leave out every link
that the step removes: what is left falls into *islands*, and the removed links join the islands to
a tree. An action that replaces a removed link by another link between the same two islands keeps
that tree, whatever the others have done so far. So the replay asks of each action (IPITT §III-C):

- its preconditions hold at the start of the step;
- a shift's guard link is removed by no other action;
- no link is removed twice, added twice or added while it is there;
- a removed link is not in the goal tree (`rem`); a broker joins unlinked and leaves as a leaf.

A full check of the tree after each step does not rely on the argument.

Limits. The degree of a broker in a step is its links before the step plus all that the step adds:
links are made before others are broken. `exclusive` counts the brokers that an action names.

Meshes change by `link` and `unlink`, which the kind implies; goal links may be dropped on the way.
`verify_mesh` follows their invariant.
"""

from collections import Counter
from typing import NamedTuple, NoReturn

from regraft.model import Action, BrokenPlan, Ends, Limits, Plan, Step, Topology, ends
from regraft.plan.verify_mesh import Invariant, Keeps

Around = dict[str, set[str]]
"""The neighbours of each broker that is in the overlay."""

ARGUMENTS = {"shift": 3, "append": 2, "detach": 2, "link": 2, "unlink": 2}
OF_KIND = {"tree": {"shift", "append", "detach"}, "mesh": {"link", "unlink", "append", "detach"}}


class Effect(NamedTuple):
    """What an action changes, and the link that must be there and stay."""

    removes: Ends | None = None
    adds: Ends | None = None
    guard: Ends | None = None


def effect(action: Action) -> Effect:
    """Add, delete and guard of IPITT §III-C, for an action with the right number of brokers."""
    match action:
        case ("shift", (i, j, k)):
            return Effect(removes=ends(i, j), adds=ends(i, k), guard=ends(j, k))
        case ("append" | "link", (i, j)):
            return Effect(adds=ends(i, j))
        case ("detach" | "unlink", (i, j)):
            return Effect(removes=ends(i, j))
    raise BrokenPlan(f"{action}: no such operation")


def verify(
    plan: Plan, current: Topology, goal: Topology, limits: Limits = Limits(), keeps: Keeps | None = None
) -> None:
    """Replay the plan on `current`; raise BrokenPlan with the step, the action and the broken rule."""
    check_claims(plan, current, goal)
    around: Around = {id: set(near) for id, near in current.neighbours.items()}
    if limits.max_degree is not None:
        for id, near in around.items():
            if len(near) > limits.max_degree:
                raise BrokenPlan(f"start: {id!r} has {len(near)} links, over max-degree {limits.max_degree}")
    invariant = Invariant(current, goal, keeps) if keeps and plan.kind == "mesh" else None
    for number, actions in enumerate(plan.steps, 1):
        step = StepCheck(number, actions, around, goal, limits, plan.kind)
        step.check()
        if invariant:
            invariant.check(number, step.added, step.removed)
        step.apply()
        if plan.kind == "tree":
            check_tree(number, around)
    check_goal(around, goal)


def check_claims(plan: Plan, current: Topology, goal: Topology) -> None:
    """The plan is for these two topologies, and does not beat the lower bounds that it states."""
    if not plan.kind == current.kind == goal.kind:
        raise BrokenPlan(f"start: a {plan.kind} plan from a {current.kind} to a {goal.kind}")
    if plan.initial != current.sha256:
        raise BrokenPlan("start: the plan's initial hash is not that of the current topology")
    if plan.goal != goal.sha256:
        raise BrokenPlan("start: the plan's goal hash is not that of the goal topology")
    if len(plan.steps) < plan.bounds.steps or plan.actions < plan.bounds.actions:
        achieved = f"{len(plan.steps)} steps and {plan.actions} actions"
        raise BrokenPlan(f"start: {achieved} are below the stated bounds {tuple(plan.bounds)}")


class StepCheck:
    """One step before it is applied: what it removes and adds, and every rule that it must keep."""

    def __init__(
        self, number: int, actions: Step, around: Around, goal: Topology, limits: Limits, kind: str
    ) -> None:
        self.number, self.actions, self.around = number, actions, around
        self.goal, self.limits, self.kind = goal, limits, kind
        self.removed: dict[Ends, Action] = {}
        self.added: dict[Ends, Action] = {}
        self.named: Counter[str] = Counter()

    def broken(self, action: Action, rule: str) -> NoReturn:
        raise BrokenPlan(f"step {self.number}, {action}: {rule}")

    def check(self) -> None:
        if not self.actions:
            raise BrokenPlan(f"step {self.number}: a step needs at least one action")
        for action in self.actions:
            self.check_form(action)
            self.collect(action, effect(action))
        for action in self.actions:
            self.check_brokers(action)
            self.check_links(action, effect(action))
        if self.limits.max_degree is not None:
            self.check_degree(self.limits.max_degree)

    def check_form(self, action: Action) -> None:
        """The operation exists for this kind, is allowed, and names enough different brokers."""
        operation, brokers = action
        if operation not in OF_KIND[self.kind]:
            self.broken(action, f"no operation of a {self.kind}")
        if operation not in self.limits.operations | {"link", "unlink"}:
            self.broken(action, "operation not allowed by the limits")
        if len(brokers) != ARGUMENTS[operation]:
            self.broken(action, f"needs {ARGUMENTS[operation]} brokers")
        if len(set(brokers)) < len(brokers):
            self.broken(action, "the brokers must be different")

    def collect(self, action: Action, change: Effect) -> None:
        """Note what the step removes and adds; nothing may happen to a link twice."""
        if change.removes:
            if change.removes in self.removed:
                self.broken(action, f"{self.removed[change.removes]} removes the same link in this step")
            self.removed[change.removes] = action
        if change.adds:
            if change.adds in self.added:
                self.broken(action, f"{self.added[change.adds]} adds the same link in this step")
            self.added[change.adds] = action
        for broker in set(action.brokers):
            self.named[broker] += 1

    def check_brokers(self, action: Action) -> None:
        """All brokers are in the overlay, but the one that joins; one that leaves is a leaf."""
        operation, brokers = action
        first, present = brokers[0], brokers
        if operation == "append":
            present = brokers[1:]
            if first in self.around:
                self.broken(action, f"{first!r} is in the overlay already")
            if first not in self.goal.neighbours:
                self.broken(action, f"{first!r} is not in the goal")
        for broker in present:
            if broker not in self.around:
                self.broken(action, f"{broker!r} is not in the overlay at the start of the step")
        if operation == "detach":
            if first in self.goal.neighbours:
                self.broken(action, f"{first!r} is in the goal")
            if len(self.around[first]) != 1:
                self.broken(action, f"{first!r} is not a leaf")
        if operation in ("append", "detach") and self.named[first] > 1:
            self.broken(action, f"another action of the step uses {first!r}")
        if self.limits.exclusive and (shared := [b for b in brokers if self.named[b] > 1]):
            self.broken(action, f"{shared[0]!r} takes part in two actions of the step (exclusive)")

    def check_links(self, action: Action, change: Effect) -> None:
        """Preconditions on links, which no other action of the step may take away."""
        if change.removes:
            if not self.is_there(change.removes):
                self.broken(action, f"the link {shown(change.removes)} is not there")
            if self.kind == "tree" and change.removes in self.goal.by_ends:
                self.broken(action, f"the link {shown(change.removes)} is in the goal and must stay")
        if change.adds and self.is_there(change.adds):
            self.broken(action, f"the link {shown(change.adds)} is there already")
        if change.guard:
            if not self.is_there(change.guard):
                self.broken(action, f"the guard link {shown(change.guard)} is not there")
            if change.guard in self.removed:
                other = self.removed[change.guard]
                self.broken(action, f"{other} removes the guard link {shown(change.guard)} in this step")

    def is_there(self, link: Ends) -> bool:
        return link[1] in self.around.get(link[0], ())

    def check_degree(self, most: int) -> None:
        gained: Counter[str] = Counter()
        for link, action in self.added.items():
            for broker in link:
                gained[broker] += 1
                if len(self.around.get(broker, ())) + gained[broker] > most:
                    self.broken(action, f"{broker!r} gets more than {most} links (max-degree)")

    def apply(self) -> None:
        for one, other in self.removed:
            self.around[one].discard(other)
            self.around[other].discard(one)
        for one, other in self.added:
            self.around.setdefault(one, set()).add(other)
            self.around.setdefault(other, set()).add(one)
        for operation, brokers in self.actions:
            if operation == "detach":
                del self.around[brokers[0]]


def shown(link: Ends) -> str:
    return f"{link[0]!r} - {link[1]!r}"


def check_tree(number: int, around: Around) -> None:
    """One link less than brokers, and all reached from any: connected and acyclic."""
    start = next(iter(around))
    seen, reached = {start}, [start]
    for one in reached:
        new = around[one] - seen
        seen |= new
        reached.extend(new)
    if len(seen) < len(around):
        lost = next(id for id in around if id not in seen)
        raise BrokenPlan(f"step {number}: not a tree after it, no path joins {start!r} and {lost!r}")
    if sum(map(len, around.values())) != 2 * (len(around) - 1):
        raise BrokenPlan(f"step {number}: not a tree after it, there is a cycle")


def check_goal(around: Around, goal: Topology) -> None:
    """Exactly the goal's brokers and links, nothing left over."""
    for id in [*goal.neighbours, *around]:
        if id not in around or id not in goal.neighbours:
            raise BrokenPlan(f"end: broker {id!r} {'should have left' if id in around else 'is missing'}")
    for id, wanted in goal.neighbours.items():
        for other in sorted(around[id] ^ wanted):
            fault = "is missing" if other in wanted else "is not in the goal"
            raise BrokenPlan(f"end: the link {shown(ends(id, other))} {fault}")
