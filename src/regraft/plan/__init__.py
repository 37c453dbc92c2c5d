"""Topology A to topology B: actions, formulations, solvers, bounds, verify.

`make_plan` for trees, `make_mesh_plan` for meshes, `pareto` for the trade-off between steps and actions,
`verify` for the independent replay that every plan has to pass.
"""

from regraft.plan.make import PLANNERS, make_plan
from regraft.plan.mesh import make_mesh_plan
from regraft.plan.pareto import pareto
from regraft.plan.verify import verify
from regraft.plan.watch import Progress, Watch

__all__ = ["PLANNERS", "Progress", "Watch", "make_mesh_plan", "make_plan", "pareto", "verify"]
