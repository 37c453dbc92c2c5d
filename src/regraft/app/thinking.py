"""The loop's commands that need no network: judge, design, plan. Synchronous; the shell runs it in a thread.

Everything that is found here is checked by something that did not find it: plans by `plan.verify`, meshes by
`design.check`, trees because no other `Topology` can be built.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from regraft.app.network import Network
from regraft.app.workloads import Measured, fitting, together
from regraft.design.ocbr import Effort, Problem, propose_tree
from regraft.evaluate import assess
from regraft.loop.goals import Limits, Seen
from regraft.loop.judging import Comparison, compare, judge
from regraft.loop.policy import Policy
from regraft.loop.price import buffered
from regraft.loop.values import Candidate, Planned
from regraft.model import Action, BadInput, Ends, Infeasible, Link, Plan, Topology
from regraft.model import Limits as PlanLimits
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Interest, Workload
from regraft.plan import make_mesh_plan, make_plan
from regraft.plan.invariants import k_topic_connected
from regraft.plan.schedule import as_early_as_possible
from regraft.plan.verify import verify

TREE = ("routing-cost", "degree", "load", "latency")
MESH = ("degree", "topic-diameter", "fault-tolerance", "latency")
WARM_BROKERS, WARM_SECONDS = 24, 0.1
KEPT_WAYS = 8


class Assessed(NamedTuple):
    """The topology of now in a window, and what was asked to be compared with it."""

    seen: Seen
    current: Comparison
    cost: float | None
    candidate: Comparison | None
    candidate_saved: float
    proposal: Comparison | None


@dataclass(frozen=True)
class Thinker:
    """How topologies are judged and found; `time_limit` of a search in seconds."""

    network: Network
    limits: Limits
    policy: Policy
    plan_limits: PlanLimits
    planner: str = "fast"
    tree_method: str = "auto"
    mesh_method: str = "greedy-k"
    alpha: float = 1.0
    beta: float = 1.0
    time_limit: float = 3.0
    ways: dict[tuple[str, str], tuple[Action, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Of the last designs: from one topology to the other, shift by shift."""

    def warm(self) -> None:
        """Something small, designed and planned: what is compiled is loaded before it is needed."""
        ids = [f"b{number}" for number in range(WARM_BROKERS)]
        chain = Topology.of(pairwise(ids))
        traffic = (TrafficClass(frozenset((ids[0], id, ids[-1])), 1.0) for id in ids)
        limits = replace(self.plan_limits, time_limit=WARM_SECONDS)
        small = replace(self, network=Network(), plan_limits=limits, time_limit=WARM_SECONDS, ways={})
        window = Measured(0.0, 1.0, Workload(tuple(traffic)), 1, 1, 1, None, None, None, None, {})
        found = small.design(chain, 1, [window])
        if not isinstance(found, str):
            small.plan(chain, 1, changed(chain, found.added, found.removed), window.workload, 1.0)

    def seen(self, topology: Topology, workload: Workload, seconds: float) -> Seen:
        """`topology` dressed."""
        objectives = TREE if topology.kind == "tree" else MESH
        found = assess(topology, fitting(workload, topology), objectives, self.alpha, self.beta)
        return Seen(topology, found, seconds)

    def assess(
        self,
        topology: Topology,
        window: Measured,
        candidate: Candidate | None = None,
        proposal: Candidate | None = None,
    ) -> Assessed:
        now = self.seen(self.network.dressed(topology), window.workload, window.seconds)
        verdicts = judge(now, self.limits)
        compared, saved = self._against(now, topology, window, candidate)
        proposed, _ = self._against(now, topology, window, proposal)
        current = Comparison(now=verdicts, then=verdicts)
        return Assessed(now, current, now.number("routing_cost"), compared, saved, proposed)

    def _against(
        self, now: Seen, topology: Topology, window: Measured, candidate: Candidate | None
    ) -> tuple[Comparison | None, float]:
        if candidate is None:
            return None, 0.0
        goal = self.network.dressed(changed(topology, candidate.added, candidate.removed))
        then = self.seen(goal, window.workload, window.seconds)
        return compare(now, then, self.limits, self.policy.tolerance), saved(now, then)

    def design(
        self, topology: Topology, epoch: int, windows: Sequence[Measured], max_actions: int | None = None
    ) -> Candidate | str:
        """A better topology for the traffic of the windows, seen in the last; or why there is none."""
        dressed = self.network.dressed(topology)
        workload = fitting(together(windows), dressed)
        found = (
            self._tree(dressed, workload, max_actions)
            if topology.kind == "tree"
            else self._mesh(dressed, workload)
        )
        if isinstance(found, str):
            return found
        goal, method = found
        if goal.sha256 == topology.sha256:
            return f"the topology is the best that {method} finds"
        last = windows[-1]
        now, then = (self.seen(each, last.workload, last.seconds) for each in (dressed, goal))
        return Candidate(
            goal=goal.sha256,
            initial=topology.sha256,
            epoch=epoch,
            method=method,
            added=tuple(sorted(goal.by_ends.keys() - topology.by_ends.keys())),
            removed=tuple(sorted(topology.by_ends.keys() - goal.by_ends.keys())),
            window=last.id,
            comparison=compare(now, then, self.limits, self.policy.tolerance),
            saved=saved(now, then),
        )

    def _tree(
        self, topology: Topology, workload: Workload, max_actions: int | None
    ) -> tuple[Topology, str] | str:
        possible = self.network.possible(topology)
        problem = Problem.of(topology, workload.traffic, possible, self.alpha, self.beta)
        began = time.monotonic()

        def gone() -> float:
            return (time.monotonic() - began) / self.time_limit

        effort = Effort(expired=lambda: gone() >= 1, fraction=gone)
        found = propose_tree(problem, topology, self.tree_method, max_actions, effort)
        goal, most = found.topology, self.limits.max_degree
        while len(self.ways) >= KEPT_WAYS:
            self.ways.pop(next(iter(self.ways)))
        shifts = tuple(shift for each in found.way.exchanges for shift in each.shifts)
        self.ways[topology.sha256, goal.sha256] = shifts
        if most is not None and max(map(len, goal.neighbours.values())) > most:
            goal = within_degree(topology, [(each.removed, each.added) for each in found.way.exchanges], most)
        return self.network.dressed(goal), found.method

    def _mesh(self, topology: Topology, workload: Workload) -> tuple[Topology, str] | str:
        from regraft.design import MeshOptions, beside, check, design_mesh, repair  # noqa: PLC0415 — compiles

        k = self.limits.k or 1
        if not workload.interest:
            return "nobody is interested in any topic"
        options = MeshOptions(k=k, max_degree=self.limits.max_degree)
        mended = repair(topology, {}, workload.interest, k, float("inf"), options=options)
        if isinstance(mended, Infeasible):
            return mended.reason
        found, method = mended.topology, "repair"
        if check(topology, workload.interest, k) is None:
            design = design_mesh(
                workload.interest,
                self.mesh_method,
                MeshOptions(
                    k=None if self.mesh_method in ("gm", "gm2", "cycle") else k,
                    max_degree=self.limits.max_degree,
                ),
            )
            if not isinstance(design, Infeasible) and len(design.links) < len(found.links):
                found, method = design.topology, self.mesh_method
        return self.network.dressed(beside(found, topology)), method

    def plan(
        self, topology: Topology, epoch: int, goal: Topology, workload: Workload, seconds: float
    ) -> tuple[Plan, Planned] | str:
        """The way from one topology to the other, verified; or why there is none."""
        if topology.kind == "tree":
            made = self._tree_plan(topology, goal)
        else:
            stay = set(topology.ids) & set(goal.ids)
            interest = fitting(workload, topology).interest
            keeps = k_topic_connected(interest, self._kept_k(topology, interest), stay)
            made = make_mesh_plan(topology, goal, self.plan_limits, keeps)
        if isinstance(made, Infeasible):
            return made.reason
        rates = self.rates(topology, workload, seconds)
        planned = Planned(
            plan=made.sha256,
            initial=made.initial,
            goal=made.goal,
            epoch=epoch,
            planner=made.planner,
            steps=len(made.steps),
            actions=made.actions,
            buffered=buffered(made, rates, self.policy),
        )
        return made, planned

    def _tree_plan(self, topology: Topology, goal: Topology) -> Plan | Infeasible:
        """A planner in haste, or one for fewest steps, may take more actions than the loop is allowed, and
        than the goal was designed for: then the way of the design, or fewest actions."""
        made = make_plan(topology, goal, self.plan_limits, self.planner)
        most = self.policy.max_actions
        if isinstance(made, Infeasible) or most is None or made.actions <= most:
            return made
        way = self.ways.get((topology.sha256, goal.sha256), ())
        if 0 < len(way) <= most:
            return along(way, made, topology, goal, self.plan_limits)
        shorter = make_plan(topology, goal, replace(self.plan_limits, minimise="actions"), self.planner)
        return made if isinstance(shorter, Infeasible) or shorter.actions >= made.actions else shorter

    def _kept_k(self, topology: Topology, interest: Interest) -> int:
        """While a mesh that is weak is mended, it can not keep more than it has."""
        from regraft.design import check  # noqa: PLC0415

        for k in range(self.limits.k or 1, 0, -1):
            if check(topology, interest, k) is None:
                return k
        return 0

    def rates(self, topology: Topology, workload: Workload, seconds: float) -> dict[Ends, float]:
        """Messages a second over each link of a tree."""
        if topology.kind != "tree" or not workload.traffic or not topology.links:
            return {}
        found = self.seen(topology, workload, seconds).assessment.parts.get("link_load", {})
        named = {"-".join(link.ends): link.ends for link in topology.links}
        return {named[name]: (load or 0.0) / seconds for name, load in found.items()}


def along(
    shifts: Sequence[Action], made: Plan, topology: Topology, goal: Topology, limits: PlanLimits
) -> Plan:
    """The same change as the plan that was made, by these shifts, each as early as its links allow."""
    number = {id: place for place, id in enumerate(topology.ids)}
    one_by_one = []
    for each in shifts:
        i, j, k = (number[id] for id in each.brokers)
        one_by_one.append([(i, j, k)])
    steps = tuple(
        tuple(Action("shift", tuple(topology.ids[place] for place in shift)) for shift in step)
        for step in as_early_as_possible(one_by_one)
    )
    plan = Plan("tree", made.initial, made.goal, steps, "design", made.bounds)
    verify(plan, topology, goal, limits)
    return plan


def within_degree(topology: Topology, exchanges: Sequence[tuple[Ends, Ends]], most: int) -> Topology:
    """As many of the exchanges as keep a tree in which no broker has more links, in rounds of their order.

    The search for trees knows no limit of degrees; what it gains comes exchange by exchange, so a part of
    them is still a gain in nearly every case, which the goals check.
    """
    left, before = list(exchanges), -1
    while len(left) != before:
        before, waiting = len(left), []
        for removed, added in left:
            degrees = {end: len(topology.neighbours[end] - _other(removed, end)) for end in added}
            try:
                if any(degree >= most for degree in degrees.values()):
                    raise BadInput("degree", "is at its limit")
                topology = changed(topology, (added,), (removed,))
            except BadInput:  # the limit, or a cycle until another exchange has been made
                waiting.append((removed, added))
        left = waiting
    return topology


def _other(link: Ends, end: str) -> set[str]:
    return {one for one in link if one != end} if end in link else set()


def changed(topology: Topology, added: Sequence[Ends], removed: Sequence[Ends]) -> Topology:
    """The topology with these links instead of those."""
    gone = set(removed)
    kept = tuple(link for link in topology.links if link.ends not in gone)
    return Topology(topology.brokers, (*kept, *(Link(pair) for pair in added)), topology.kind)


def saved(now: Seen, then: Seen) -> float:
    before, after = now.number("routing_cost"), then.number("routing_cost")
    return before - after if before is not None and after is not None else 0.0
