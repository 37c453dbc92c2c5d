"""Judges, designs and plans: commands of the loop that need no network. Synchronous, and run in a thread.

Everything that is found here is checked by something that did not find it: plans by `plan.verify`, meshes by
`design.check`, trees because no other `Topology` can be built.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from regraft.design.ocbr import Effort, Problem, propose_tree
from regraft.design.ocbr.budget import within_degree
from regraft.estate.windows import MeasuredWindow, fitting, together
from regraft.evaluate import assess, saving_error
from regraft.loop.goals import Limits, Seen
from regraft.loop.hysteresis import buffered
from regraft.loop.judging import Comparison, beyond_chance, broken, compare, judge
from regraft.loop.policy import Policy
from regraft.loop.values import Candidate, Planned
from regraft.model import Action, Ends, Infeasible, Plan, Topology
from regraft.model import Limits as PlanLimits
from regraft.model.changes import changed
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload
from regraft.plan import make_mesh_plan
from regraft.plan.invariants import k_topic_connected
from regraft.plan.make import plan_within
from regraft.serve.network_facts import NetworkFacts

TREE = ("routing-cost", "degree", "load", "latency")
MESH = ("degree", "topic-diameter", "fault-tolerance", "latency")
WARM_BROKERS, WARM_SECONDS = 24, 0.1
KEPT_WAYS = 8


class Assessed(NamedTuple):
    """The current topology in a window, and the candidate and the proposal compared with it."""

    seen: Seen
    current: Comparison
    cost: float | None
    candidate: Comparison | None
    candidate_saved: float
    proposal: Comparison | None


@dataclass(frozen=True)
class TopologyDesigner:
    """How topologies are judged and found; `time_limit` is that of a search, in seconds."""

    network: NetworkFacts
    limits: Limits
    policy: Policy
    plan_limits: PlanLimits
    planner: str = "fast"
    tree_method: str = "auto"
    mesh_method: str = "greedy-k"
    alpha: float = 1.0
    beta: float = 1.0
    time_limit: float = 3.0
    design_for: Literal["forecast", "measured"] = "measured"
    """Whether a change is judged by forecast traffic, where a window has a forecast that is worth using."""
    ways: dict[tuple[str, str], tuple[Action, ...]] = field(default_factory=dict, compare=False, repr=False)
    """How each of the last designs leads from one topology to the other, shift by shift; by their hashes."""

    def warm(self) -> None:
        """Design and plan something small, so that compiled code is loaded before it is needed."""
        ids = [f"b{number}" for number in range(WARM_BROKERS)]
        chain = Topology.of(pairwise(ids))
        traffic = (TrafficClass(frozenset((ids[0], id, ids[-1])), 1.0) for id in ids)
        limits = replace(self.plan_limits, time_limit=WARM_SECONDS)
        small = replace(self, network=NetworkFacts(), plan_limits=limits, time_limit=WARM_SECONDS, ways={})
        window = MeasuredWindow(0.0, 1.0, Workload(tuple(traffic)), 1, 1, 1, None, None, None, None, {})
        found = small.design(chain, 1, [window])
        if not isinstance(found, str):
            small.plan(chain, 1, changed(chain, found.added, found.removed), window.workload, 1.0)

    def seen(self, topology: Topology, workload: Workload, seconds: float) -> Seen:
        """`topology` has to be annotated (`NetworkFacts`)."""
        objectives = TREE if topology.kind == "tree" else MESH
        found = assess(topology, fitting(workload, topology), objectives, self.alpha, self.beta)
        return Seen(topology, found, seconds)

    def assess(
        self,
        topology: Topology,
        window: MeasuredWindow,
        candidate: Candidate | None = None,
        proposal: Candidate | None = None,
    ) -> Assessed:
        now = self.seen(self.network.annotated(topology), window.workload, window.seconds)
        verdicts = judge(now, self.limits)
        errors = self.policy.gain_errors
        compared, saved = self._against(now, topology, window, candidate, errors)
        # As with the least gain, half is enough for a proposal, so that it does not come and go.
        proposed, _ = self._against(now, topology, window, proposal, errors / 2)
        current = Comparison(now=verdicts, then=verdicts)
        return Assessed(now, current, now.number("routing_cost"), compared, saved, proposed)

    def _against(
        self,
        now: Seen,
        topology: Topology,
        window: MeasuredWindow,
        candidate: Candidate | None,
        errors: float,
    ) -> tuple[Comparison | None, float]:
        if candidate is None:
            return None, 0.0
        goal = self.network.annotated(changed(topology, candidate.added, candidate.removed))
        return self._compared(now, goal, window, errors)

    def _compared(
        self, now: Seen, goal: Topology, window: MeasuredWindow, errors: float
    ) -> tuple[Comparison, float]:
        """Compare the topology `now`, as seen in the measured traffic, with the goal, and say what the change
        saves in a window: in the traffic that it is for.

        Hard goals have to hold in the measured traffic, too: a forecast may be wrong. A gain has to be more
        than `errors` times its standard error in the measured traffic, also if it is one in a forecast.
        """
        tolerance = self.policy.tolerance
        then = self.seen(goal, window.workload, window.seconds)
        error = self._gain_error(now, goal, window.workload, window.one_in)
        coming = self.coming(window, goal)
        if coming is None:
            found = compare(now, then, self.limits, tolerance)
        else:
            fault = broken(judge(now, self.limits), judge(then, self.limits), tolerance)
            now, then = (self.seen(each, coming, window.seconds) for each in (now.topology, goal))
            found = compare(now, then, self.limits, tolerance)
            found = msgspec.structs.replace(found, expects=str(window.forecast))
            found = found if fault is None else found.refused(fault)
        return beyond_chance(found, error, errors, window.one_in), saved(now, then)

    def _gain_error(self, now: Seen, goal: Topology, workload: Workload, one_in: float) -> float:
        """The standard error of what the goal saves, as a share of what the traffic costs now."""
        cost = now.number("routing_cost")
        if not cost or not workload.variances:
            return 0.0
        fitted = fitting(workload, now.topology)
        return saving_error(now.topology, goal, fitted, one_in, self.alpha, self.beta) / cost

    def coming(self, window: MeasuredWindow, topology: Topology) -> Workload | None:
        """The traffic to be expected after the window; None if that is not known better than by repeating. A
        mesh is designed for interest, which is not forecast."""
        forecast = window.forecast
        if self.design_for == "measured" or forecast is None or not forecast.seasonal:
            return None
        if topology.kind == "mesh":
            return None
        return Workload(forecast.traffic, window.workload.interest)

    def design(
        self,
        topology: Topology,
        epoch: int,
        windows: Sequence[MeasuredWindow],
        max_actions: int | None = None,
    ) -> Candidate | str:
        """A topology better for the traffic of the windows, judged in the last one; or why there is none.

        If the last one has a forecast that is worth using, the topology is for the traffic that will come."""
        annotated = self.network.annotated(topology)
        last = windows[-1]
        coming = self.coming(last, annotated)
        workload = fitting(coming or together(windows), annotated)
        found = (
            self._tree(annotated, workload, max_actions)
            if topology.kind == "tree"
            else self._mesh(annotated, workload)
        )
        if isinstance(found, str):
            return found
        goal, method = found
        if goal.sha256 == topology.sha256:
            return f"the topology is the best that {method} finds"
        now = self.seen(annotated, last.workload, last.seconds)
        comparison, gained = self._compared(now, goal, last, self.policy.gain_errors)
        return Candidate(
            goal=goal.sha256,
            initial=topology.sha256,
            epoch=epoch,
            method=method,
            added=tuple(sorted(goal.by_ends.keys() - topology.by_ends.keys())),
            removed=tuple(sorted(topology.by_ends.keys() - goal.by_ends.keys())),
            window=last.id,
            comparison=comparison,
            saved=gained,
        )

    def _tree(
        self, topology: Topology, workload: Workload, max_actions: int | None
    ) -> tuple[Topology, str] | str:
        possible = self.network.possible(topology)
        problem = Problem.of(topology, workload.traffic, possible, self.alpha, self.beta)
        began = time.monotonic()

        def spent() -> float:
            return (time.monotonic() - began) / self.time_limit

        effort = Effort(expired=lambda: spent() >= 1, fraction=spent)
        found = propose_tree(problem, topology, self.tree_method, max_actions, effort)
        goal, most = found.topology, self.limits.max_degree
        while len(self.ways) >= KEPT_WAYS:
            self.ways.pop(next(iter(self.ways)))
        shifts = tuple(shift for each in found.way.exchanges for shift in each.shifts)
        self.ways[topology.sha256, goal.sha256] = shifts
        if most is not None and max(map(len, goal.neighbours.values())) > most:
            goal = within_degree(topology, [(each.removed, each.added) for each in found.way.exchanges], most)
        return self.network.annotated(goal), found.method

    def _mesh(self, topology: Topology, workload: Workload) -> tuple[Topology, str] | str:
        from regraft.design.propose import better_mesh  # noqa: PLC0415 — compiles

        if not workload.interest:
            return "nobody is interested in any topic"
        k = self.limits.k or 1
        found = better_mesh(topology, workload.interest, k, self.mesh_method, self.limits.max_degree)
        if isinstance(found, Infeasible):
            return found.reason
        goal, method = found
        return self.network.annotated(goal), method

    def plan(
        self, topology: Topology, epoch: int, goal: Topology, workload: Workload, seconds: float
    ) -> tuple[Plan, Planned] | str:
        """A verified plan from one topology to the other, or why there is none."""
        if topology.kind == "tree":
            way = self.ways.get((topology.sha256, goal.sha256), ())
            most = self.policy.max_actions
            made = plan_within(topology, goal, self.plan_limits, self.planner, most, way)
        else:
            from regraft.design.propose import most_connected  # noqa: PLC0415 — compiles

            stay = set(topology.ids) & set(goal.ids)
            interest = fitting(workload, topology).interest
            # A weak mesh cannot keep more connectivity during its repair than it has before it.
            keeps = k_topic_connected(interest, most_connected(topology, interest, self.limits.k or 1), stay)
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

    def rates(self, topology: Topology, workload: Workload, seconds: float) -> dict[Ends, float]:
        """How many messages a second cross each link of a tree."""
        if topology.kind != "tree" or not workload.traffic or not topology.links:
            return {}
        found = self.seen(topology, workload, seconds).assessment.parts.get("link_load", {})
        named = {"-".join(link.ends): link.ends for link in topology.links}
        return {named[name]: (load or 0.0) / seconds for name, load in found.items()}


def saved(now: Seen, then: Seen) -> float:
    before, after = now.number("routing_cost"), then.number("routing_cost")
    return before - after if before is not None and after is not None else 0.0
