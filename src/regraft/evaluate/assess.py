"""`assess` judges one topology by all objectives; `compare` judges two, and names the classes that differ."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

import numpy as np

from regraft.evaluate.case import Case
from regraft.evaluate.degree import degree
from regraft.evaluate.fault_tolerance import fault_tolerance
from regraft.evaluate.latency import latency
from regraft.evaluate.load import load
from regraft.evaluate.routing_cost import class_costs, routing_cost
from regraft.evaluate.topic_diameter import topic_diameter
from regraft.model import BadInput, Topology
from regraft.model.assessment import Assessment, ClassChange, Comparison, Finding
from regraft.model.workload import Workload

Objective = Callable[[Case], Finding]

OBJECTIVES: Mapping[str, Objective] = {
    "routing-cost": routing_cost,
    "degree": degree,
    "load": load,
    "latency": latency,
    "topic-diameter": topic_diameter,
    "fault-tolerance": fault_tolerance,
}
"""An objective that does not apply to a case (no traffic, no interest, another kind) finds nothing."""


def assess(
    topology: Topology,
    workload: Workload,
    objectives: Iterable[str] = tuple(OBJECTIVES),
    alpha: float = 1.0,
    beta: float = 1.0,
) -> Assessment:
    """What each objective finds. `BadInput` for an unknown objective, member or node."""
    return _assess(Case(topology, workload, alpha, beta), objectives)


def compare(
    first: Topology,
    second: Topology,
    workload: Workload,
    objectives: Iterable[str] = tuple(OBJECTIVES),
    alpha: float = 1.0,
    beta: float = 1.0,
    most: int = 10,
) -> Comparison:
    """Both assessments, and the `most` classes whose routing cost falls or rises most in the second."""
    names = tuple(objectives)
    cases = [Case(topology, workload, alpha, beta) for topology in (first, second)]
    assessed = [_assess(case, names) for case in cases]
    if not all(case.has_traffic for case in cases):
        return Comparison(assessed[0], assessed[1], (), (), 0, 0, 0)
    before, after = (class_costs(case) for case in cases)
    change = after - before
    order = np.argsort(change, kind="stable")

    def changes(places: Iterable[int]) -> tuple[ClassChange, ...]:
        return tuple(
            ClassChange(tuple(sorted(members)), demand, float(before[place]), float(after[place]))
            for place in places
            for members, demand in (workload.traffic[place],)
        )

    return Comparison(
        assessed[0],
        assessed[1],
        changes(place for place in order[:most].tolist() if change[place] < 0),
        changes(place for place in order[::-1][:most].tolist() if change[place] > 0),
        int((change < 0).sum()),
        int((change > 0).sum()),
        int((change == 0).sum()),
    )


def _assess(case: Case, objectives: Iterable[str]) -> Assessment:
    findings = [_objective(name)(case) for name in objectives]
    return Assessment(
        case.topology.sha256,
        dict(chain.from_iterable(finding.numbers.items() for finding in findings)),
        dict(chain.from_iterable(finding.parts.items() for finding in findings)),
        tuple(chain.from_iterable(finding.notes for finding in findings)),
    )


def _objective(name: str) -> Objective:
    if name not in OBJECTIVES:
        raise BadInput("objective", f"unknown objective {name!r}; known are {', '.join(OBJECTIVES)}")
    return OBJECTIVES[name]
