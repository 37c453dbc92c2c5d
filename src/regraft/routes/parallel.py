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
from regraft.routes.shared_tree import single_roots
from regraft.routes.steiner_graph import Bounded, Key, prepared

WORTH_IT = 64
"""Fewer demands than this are done sooner than they are sent."""


def optimise_in_parts(
    graph: Graph, demands: Sequence[Demand], settings: Settings, pool: Executor | None
) -> list[Tree | None]:
    """The sub graph program for all demands, over the pool if there is one and enough to do."""
    count = settings.processes
    if pool is None or count < 2:
        return _optimise(graph, demands, settings)
    if settings.subgraph == "steiner":  # then all the work is in single trees, which bounds need as well
        solve_ahead(graph, demands, count, pool)
        return _optimise(graph, demands, settings)
    if len(demands) < WORTH_IT:
        return _optimise(graph, demands, settings)
    shares = [demands[start::count] for start in range(count)]
    found: list[Tree | None] = [None] * len(demands)
    results = pool.map(_optimise, [graph] * count, shares, [settings] * count)
    for start, trees in enumerate(results):
        found[start::count] = trees
    return found


def solve_ahead(graph: Graph, demands: Sequence[Demand], processes: int, pool: Executor) -> None:
    """Solve the trees of single roots that these demands will ask for; they are remembered here."""
    steiner = prepared(graph)
    keys = dict.fromkeys(key for demand in demands for key in single_roots(demand))
    open_keys = [key for key in keys if key not in steiner.solved]
    if len(open_keys) < WORTH_IT:
        return
    shares = [open_keys[start::processes] for start in range(processes)]
    for share, found in zip(shares, pool.map(_solve, [graph] * processes, shares), strict=True):
        steiner.solved.update(zip(share, found, strict=True))


def _solve(graph: Graph, keys: Sequence[Key]) -> list[Bounded]:
    return [prepared(graph).solve(*key) for key in keys]


def _optimise(graph: Graph, demands: Sequence[Demand], settings: Settings) -> list[Tree | None]:
    trees: list[Tree | None] = component("subgraph", settings.subgraph)(graph, demands, (), settings)
    return trees
