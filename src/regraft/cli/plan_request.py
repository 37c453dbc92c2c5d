"""What the user asks of `regraft plan`, and the checks that need both files."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.cli.plan_options import with_costs
from regraft.model import ActionCosts, BadInput, Kind, Limits, Topology
from regraft.model.cost_files import read_costs
from regraft.model.interest_files import read_interest
from regraft.model.limits import Minimise
from regraft.model.topology_files import read_topology

if TYPE_CHECKING:
    from regraft.plan.mesh_task import Keeps

SECONDS = {"fast": 2.0}
"""Time limits when none is given; the planners that prove things get `SECONDS_TO_PROVE`."""
SECONDS_TO_PROVE = 60.0
TREE_ONLY = {"operations": "--operations", "costs": "--costs", "cost": "--cost", "pareto": "--pareto"}
"""Options that are for trees only; so is every planner but the default."""


@dataclass(frozen=True)
class PlanRequest:
    """What the user asked for; the names are those of the options."""

    from_: Path
    to: Path
    planner: str
    minimise: Minimise | None
    pareto: bool
    max_degree: int | None
    exclusive: bool
    operations: frozenset[str]
    costs: Path | None
    cost: dict[str, int]
    time_limit: float | None
    threads: int
    seed: int
    kind: Kind | None
    interest: str | None
    k: int
    output: Path | None
    picture: Path | None
    as_json: bool
    given: frozenset[str]
    """Names of the options that are on the command line, whatever their values."""

    def inputs(self) -> list[str | Path]:
        return [path for path in (self.from_, self.to, self.costs, self.interest) if path]

    def limits(self) -> Limits:
        costs = with_costs(read_costs(self.costs) if self.costs else ActionCosts(), self.cost)
        return Limits(
            minimise=self.minimise or ("cost" if self.costs or self.cost else "steps"),
            operations=self.operations,
            max_degree=self.max_degree,
            exclusive=self.exclusive,
            costs=costs,
            time_limit=self.time_limit or SECONDS.get(self.planner, SECONDS_TO_PROVE),
            threads=self.threads,
            seed=self.seed,
        )


def invariant(request: PlanRequest, current: Topology, goal: Topology) -> "Keeps":
    """What every step keeps: topics k-connected or, without interest, the mesh connected."""
    from regraft.plan.invariants import connected, k_topic_connected

    stay = set(current.ids) & set(goal.ids)
    if request.interest is None:
        return connected(stay)
    interest = read_interest(request.interest)
    known = set(current.ids) | set(goal.ids)
    for topic, nodes in interest.items():
        if unknown := sorted(nodes - known):
            raise BadInput(request.interest, f"topic {topic!r}: unknown broker id {unknown[0]!r}")
    return k_topic_connected(interest, request.k, stay)


def check_options(request: PlanRequest) -> None:
    """Refuses what can be refused before any file is read."""
    if "k" in request.given and request.interest is None:
        raise BadInput("-k", "is about the topics of --interest, which is not given")


def read_pair(request: PlanRequest) -> tuple[Topology, Topology]:
    """Both topologies; they must be of one kind."""
    current, goal = (_read(path, request.kind) for path in (request.from_, request.to))
    if current.kind != goal.kind:
        other, path = (goal, request.to) if goal.kind == "mesh" else (current, request.from_)
        raise BadInput(str(path), f"this is a mesh and the other file a tree: {_why_no_tree(other)}")
    if current.kind == "tree" and request.interest:
        raise BadInput(str(request.from_), "--interest and -k are for meshes, this is a tree")
    if current.kind == "mesh":
        _refuse_tree_only(request)
    return current, goal


def _refuse_tree_only(request: PlanRequest) -> None:
    wrong = ["--planner"] if request.planner != "fast" else []
    wrong += [option for name, option in TREE_ONLY.items() if name in request.given]
    if wrong:
        raise BadInput(str(request.from_), f"{wrong[0]} is for trees, this is a mesh")


def _read(path: Path, kind: Kind | None) -> Topology:
    topology = read_topology(path)
    try:
        return replace(topology, kind=kind or topology.kind)
    except BadInput as fault:
        raise fault.within(str(path)) from None


def _why_no_tree(mesh: Topology) -> str:
    try:
        replace(mesh, kind="tree")
    except BadInput as fault:
        return str(fault)
    return "both must be of one kind (--kind sets it)"


def check_brokers(request: PlanRequest, current: Topology, goal: Topology, limits: Limits) -> None:
    """Checks that brokers join and leave by allowed operations, and that costs name brokers that exist."""
    here, there = set(current.ids), set(goal.ids)
    for operation, ids, path in (
        ("append", there - here, request.to),
        ("detach", here - there, request.from_),
    ):
        if ids and operation not in limits.operations:
            rule = (
                f"broker {min(ids)!r} is not in the other file, and {operation} is not among the --operations"
            )
            raise BadInput(str(path), rule)
    for action in limits.costs.by_action:
        if unknown := [id for id in action.brokers if id not in here | there]:
            raise BadInput(str(request.costs), f"the cost of {action}: unknown broker id {unknown[0]!r}")
