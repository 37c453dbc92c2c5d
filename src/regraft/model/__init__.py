"""Frozen values that travel between packages. Imports nothing else of Regraft."""

from regraft.model.errors import BadInput, BrokenPlan, IllegalTransition, RegraftError
from regraft.model.limits import ActionCosts, Limits
from regraft.model.plan import Action, Bounds, Infeasible, Plan, Proof, Step
from regraft.model.topology import Broker, Ends, Kind, Link, Topology, ends

__all__ = [
    "Action",
    "ActionCosts",
    "BadInput",
    "Bounds",
    "BrokenPlan",
    "Broker",
    "Ends",
    "IllegalTransition",
    "Infeasible",
    "Kind",
    "Limits",
    "Link",
    "Plan",
    "Proof",
    "RegraftError",
    "Step",
    "Topology",
    "ends",
]
