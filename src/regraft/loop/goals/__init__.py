"""What a topology should be, in order of priority: one goal per file, hard ones before soft ones.

A hard goal is kept or broken; a soft one is a number that should be small. A change may never break a hard
goal, nor make a goal worse for the sake of one that stands after it: see `regraft.loop.judging`.
"""

from regraft.loop.goals.balance import Balance
from regraft.loop.goals.capacity import Capacity
from regraft.loop.goals.degree import Degree
from regraft.loop.goals.diameter import Diameter
from regraft.loop.goals.goal import Goal, Limits, Seen, Verdict, goal_name
from regraft.loop.goals.k import K
from regraft.loop.goals.latency import Latency
from regraft.loop.goals.routing_cost import RoutingCost
from regraft.loop.goals.validity import Validity

GOALS: tuple[Goal, ...] = (
    Validity(),
    Degree(),
    Capacity(),
    Latency(),
    K(),
    RoutingCost(),
    Diameter(),
    Balance(),
)

__all__ = ["GOALS", "Goal", "Limits", "Seen", "Verdict", "goal_name"]
