"""What links cost, from round trips that were measured: C_l of OCBR §2. Pure."""

from regraft.costs.costs import Costs
from regraft.costs.measured import RecentCosts, RoundTrips, round_trips

__all__ = ["Costs", "RecentCosts", "RoundTrips", "round_trips"]
