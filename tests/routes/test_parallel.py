"""Sub graphs and fragments in real processes: the same routes, and the work was really done there."""

import os
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from tests.routes.networks import random_graph, random_network, random_workload

from regraft.routes import RouteSettings, RouteState, compute_routes, update_routes
from regraft.routes.parallel import PRELOADED, map_over_pool
from regraft.routes.stopwatch import Stopwatch


class Counting(ProcessPoolExecutor):
    """Two processes; how much was sent to them is counted."""

    sent = 0

    def submit(self, *given: Any, **named: Any) -> Any:
        self.sent += 1
        return super().submit(*given, **named)


@pytest.fixture(scope="module")
def pool() -> Iterator[Counting]:
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with Counting(2, mp_context=context) as both:
        yield both


NETWORK = random_network(14, 26, 8, (1.0, 2.0))
WORKLOAD = random_workload(NETWORK, 10, 40, 9, (1, 5))
RINGS = {"selection": "rings", "rings": 1}
PARTS = {"fragmentation": "parts", "fragment_size": 5}
EXCHANGE = {"fragmentation": "exchange", "fragment_size": 5, "rounds": 2}
FEW = {"clustering": "prefix", "prefix": 1, "subgraph": "steiner-program"}
"""Few sub graphs, each worth a process."""


@pytest.mark.parametrize("matching", ["filter", "publisher"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"subgraph": "balanced"}, RINGS | FEW, PARTS | FEW, EXCHANGE | FEW, RINGS | EXCHANGE | FEW],
    ids=str,
)
def test_the_same_routes_come_from_several_processes(
    settings: dict[str, Any], matching: Any, pool: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regraft.routes.parallel.FEWEST_TO_SEND", 8)  # a small workload is enough to do
    alone = compute_routes(NETWORK, WORKLOAD, RouteSettings(matching=matching, **settings))
    sent = pool.sent
    both = compute_routes(
        NETWORK,
        WORKLOAD,
        RouteSettings(matching=matching, processes=2, **settings),
        time.perf_counter,
        None,
        pool,
    )
    assert isinstance(alone, RouteState)
    assert isinstance(both, RouteState)
    assert both.routes.tables == alone.routes.tables
    assert pool.sent > sent, "nothing was done in another process"
    assert both.routes.seconds["subgraph"] > 0


def test_cycles_of_several_sub_graphs_go_back_into_programs_elsewhere(pool: Counting) -> None:
    network = random_network(8, 14, 8)
    workload = random_workload(network, 3, 7, 15, (1, 3))
    settings = RouteSettings(
        subgraph="combination", clustering="prefix", prefix=1, apart_above=1.0, rings=1, selection="rings"
    )
    alone = compute_routes(network, workload, settings, time.perf_counter)
    both = compute_routes(network, workload, replace(settings, processes=2), time.perf_counter, None, pool)
    assert isinstance(alone, RouteState)
    assert isinstance(both, RouteState)
    assert alone.calls["subgraph again"]
    assert len(both.calls["subgraph again"]) == len(alone.calls["subgraph again"])
    assert both.routes.tables == alone.routes.tables


def test_an_update_uses_the_pool_too(pool: Counting) -> None:
    settings = RouteSettings(processes=2, matching="publisher", **RINGS, **FEW)  # type: ignore[arg-type]
    first = compute_routes(NETWORK, WORKLOAD, settings, pool=pool)
    assert isinstance(first, RouteState)
    down = frozenset({max(NETWORK.edges, key=lambda edge: edge.cable).cable})
    sent = pool.sent
    both, alone = update_routes(first, down=down, pool=pool), update_routes(first, down=down)
    assert isinstance(both, RouteState)
    assert isinstance(alone, RouteState)
    assert both.routes.tables == alone.routes.tables
    assert pool.sent > sent


def which_process(watch: Stopwatch, item: int) -> tuple[int, int]:
    with watch.timing("looking"):
        return item, os.getpid()


def test_work_is_dealt_out_and_comes_back_in_order_with_its_times(pool: Counting) -> None:
    watch, told = Stopwatch(time.perf_counter), []
    watch.report = lambda *far: told.append(far)
    found = map_over_pool(which_process, range(10), watch, pool, 2, 4, "looking")
    assert [item for item, _ in found] == list(range(10))
    assert os.getpid() not in {process for _, process in found}
    assert len(watch.calls["looking"]) == 10
    assert told[-1] == ("looking", 10, 10)


def test_a_graph_travels_with_its_usable_edges() -> None:
    graph = random_graph(6, 9, 1, (1.0, 2.0)).among([0, 1, 2, 3, 4])
    assert graph.leaving  # worked out before, and left behind
    other = pickle.loads(pickle.dumps(graph))
    assert "leaving" not in other.__dict__
    assert np.array_equal(other.edges, graph.edges)
    for name in ("sources", "targets", "cables", "weights"):
        assert np.array_equal(getattr(other, name)[other.edges], getattr(graph, name)[graph.edges])
    assert (other.leaving, other.opposite) == (graph.leaving, graph.opposite)
