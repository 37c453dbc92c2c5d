"""Content routes over a switch network: exchangeable components around one framework (Content routes)."""

from regraft.routes.compute import RouteState, compute_routes, least_cost_of, update_routes
from regraft.routes.settings import RouteSettings

__all__ = ["RouteSettings", "RouteState", "compute_routes", "least_cost_of", "update_routes"]
