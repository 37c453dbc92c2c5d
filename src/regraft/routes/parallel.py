"""Many demands over several processes (Content routes §8, outlook): demands do not depend on each other.

The pool comes from outside. Each process gets a share of the demands, dealt out in turn, and loads the
component by its name: functions of components need not travel.
"""

from collections.abc import Sequence
from concurrent.futures import Executor

from regraft.routes.interface import Tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import Settings

WORTH_IT = 64
"""Fewer demands than this are done sooner than they are sent."""


def optimise_in_parts(
    graph: Graph, demands: Sequence[Demand], settings: Settings, pool: Executor | None
) -> list[Tree | None]:
    """The sub graph program for all demands, over the pool if there is one and enough to do."""
    if pool is None or settings.processes < 2 or len(demands) < WORTH_IT:
        return _optimise(graph, demands, settings)
    count = settings.processes
    shares = [demands[start::count] for start in range(count)]
    found: list[Tree | None] = [None] * len(demands)
    results = pool.map(_optimise, [graph] * count, shares, [settings] * count)
    for start, trees in enumerate(results):
        found[start::count] = trees
    return found


def _optimise(graph: Graph, demands: Sequence[Demand], settings: Settings) -> list[Tree | None]:
    trees: list[Tree | None] = component("subgraph", settings.subgraph)(graph, demands, (), settings)
    return trees
