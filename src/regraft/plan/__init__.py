"""Topology A to topology B: actions, formulations, solvers, bounds, verify.

`make_plan` for trees, `make_mesh_plan` for meshes, `pareto` for the trade-off between steps and actions,
`verify` for the independent replay that every plan has to pass. All but `verify` are loaded when they are
first used: a process that only verifies, such as every broker that heals, needs no solver in memory.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regraft.plan.verify import verify

if TYPE_CHECKING:
    from regraft.plan.make import PLANNERS, make_plan
    from regraft.plan.mesh import make_mesh_plan
    from regraft.plan.trade_off import pareto
    from regraft.plan.watch import Progress, Watch

__all__ = ["PLANNERS", "Progress", "Watch", "make_mesh_plan", "make_plan", "pareto", "verify"]

_PLACES = {
    "PLANNERS": "make",
    "Progress": "watch",
    "Watch": "watch",
    "make_mesh_plan": "mesh",
    "make_plan": "make",
    "pareto": "trade_off",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
