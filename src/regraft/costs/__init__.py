"""What links and brokers cost, from what was measured: C_l and C_b of OCBR §2. Pure."""

from regraft.costs.costs import Costs
from regraft.costs.measured import MeasuredCosts, RecentCosts

__all__ = ["Costs", "MeasuredCosts", "RecentCosts"]
