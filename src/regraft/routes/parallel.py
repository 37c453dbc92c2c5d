"""Sub graphs and fragments on several processes (Content routes §8): none depends on another.

The caller provides the pool. Items are dealt out to the processes in turn; a process loads components by
name, so their functions need not be pickled. The seconds that calls took come back with the results; the
clock is sent along, so it must be a function that can be pickled (`time.perf_counter` can).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from regraft.processes.orphans import end_with_parent
from regraft.routes.interface import Tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import single_roots
from regraft.routes.steiner_graph import Bounded, Key, prepared
from regraft.routes.stopwatch import Stopwatch

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[Stopwatch, T], R]

FEWEST_TO_SEND = 64
"""Fewer items than this are computed here faster than they are sent."""
PROGRAMS = ("combination", "steiner-program", "spanning-tree-cut")
"""Components that take so long for one item that two are worth sending."""
PRELOADED = ["__main__", "regraft.routes"]
CHUNK = 16
"""How many items are computed between two reports of progress."""


def process_pool(processes: int) -> ProcessPoolExecutor:
    """A pool of processes that are not forked from this one: a solver that has run here has threads, which a
    forked process does not have but would wait for forever. They end with this process, however it ends.

    The process that forks them has loaded the modules for all of them."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return ProcessPoolExecutor(processes, context, initializer=end_with_parent, initargs=(0.0,))


def fewest_to_send(settings: RouteSettings) -> int:
    return 2 if settings.subgraph in PROGRAMS else FEWEST_TO_SEND


def map_over_pool(
    work: Work[T, R],
    items: Sequence[T],
    watch: Stopwatch,
    pool: Executor | None,
    processes: int,
    worth: int = FEWEST_TO_SEND,
    stage: str = "sub graphs",
) -> list[R]:
    """`work` for each item, on the pool if there is one and enough to do; then `work` is pickled."""
    if pool is None or processes < 2 or len(items) < worth:
        found: list[R] = []
        for item in items:
            found.append(work(watch, item))
            if len(found) % CHUNK == 0:
                watch.tell(stage, len(found), len(items))
        return found
    shares = [items[start::processes] for start in range(processes)]
    results: list[R | None] = [None] * len(items)
    done = 0
    for start, (part, calls) in enumerate(pool.map(partial(_share, work, watch.clock), shares)):
        results[start::processes] = part
        watch.add(calls)
        done += len(part)
        watch.tell(stage, done, len(items))
    return results  # type: ignore[return-value]  # every place is filled


def _share(
    work: Work[T, R], clock: Callable[[], float], items: Sequence[T]
) -> tuple[list[R], dict[str, list[float]]]:
    watch = Stopwatch(clock)
    return [work(watch, item) for item in items], watch.calls


def optimise_over_pool(
    graph: Graph, demands: Sequence[Demand], settings: RouteSettings, pool: Executor | None
) -> list[Tree | None]:
    """The sub graph component for all demands on one graph, on the pool if there is one and enough to do."""
    count = settings.processes
    if pool is None or count < 2:
        return _optimise(graph, demands, settings)
    if (
        settings.subgraph == "steiner"
    ):  # nearly all its work is in single-root trees, which bounds need as well
        solve_ahead(graph, demands, count, pool)
        return _optimise(graph, demands, settings)
    if len(demands) < fewest_to_send(settings):
        return _optimise(graph, demands, settings)
    shares = [demands[start::count] for start in range(count)]
    found: list[Tree | None] = [None] * len(demands)
    results = pool.map(_optimise, [graph] * count, shares, [settings] * count)
    for start, trees in enumerate(results):
        found[start::count] = trees
    return found


def solve_ahead(graph: Graph, demands: Sequence[Demand], processes: int, pool: Executor) -> None:
    """Solve the single-root trees that these demands will need, on the pool; this process remembers them."""
    steiner = prepared(graph)
    keys = dict.fromkeys(key for demand in demands for key in single_roots(demand))
    open_keys = [key for key in keys if key not in steiner.solved]
    if len(open_keys) < FEWEST_TO_SEND:
        return
    shares = [open_keys[start::processes] for start in range(processes)]
    for share, found in zip(shares, pool.map(_solve, [graph] * processes, shares), strict=True):
        steiner.solved.update(zip(share, found, strict=True))


def _solve(graph: Graph, keys: Sequence[Key]) -> list[Bounded]:
    return [prepared(graph).solve(*key) for key in keys]


def _optimise(graph: Graph, demands: Sequence[Demand], settings: RouteSettings) -> list[Tree | None]:
    trees: list[Tree | None] = component("subgraph", settings.subgraph)(graph, demands, (), settings)
    return trees
