"""Traffic-driven broker trees: the tree that costs its traffic least (OCBR).

`propose_tree` designs for a whole network; `Master` is the distributed form, one for each broker.
"""

from regraft.design.ocbr.budget import Exchange, Way
from regraft.design.ocbr.cost import Cost, cost_of, link_loads, local_view
from regraft.design.ocbr.effort import Effort, Progress
from regraft.design.ocbr.master import Master
from regraft.design.ocbr.neighbourhoods import Tabu
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.propose import METHODS, Design, propose_tree
from regraft.design.ocbr.rearrange import Costs

__all__ = [
    "METHODS",
    "Cost",
    "Costs",
    "Design",
    "Effort",
    "Exchange",
    "Master",
    "Problem",
    "Progress",
    "Tabu",
    "Way",
    "cost_of",
    "link_loads",
    "local_view",
    "propose_tree",
]
