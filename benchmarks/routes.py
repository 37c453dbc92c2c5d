"""Content routes: the published settings, distance from the optimum, large networks, one publisher joining.

Prints one table (Markdown) to standard output: what was promised, what was measured. `--part` picks some,
`--quick` runs fewer, `--data FOLDER` says where the Topology Zoo (`topology_zoo`) is, `--plots FOLDER`
where CSV files and pictures of Figures 7.1–7.24 go. `--spark MASTER` spreads the networks of that
sweep over a Spark cluster; their times are then those of cores that have other work, too.
"""

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._routes_plots import SETTINGS, Outcome, Setting, draw, write_reductions, write_times
from benchmarks._routes_workload import part_of, random_network, random_workload, steinlib, zoo
from benchmarks._table import Line, show

from regraft.measure.session import start
from regraft.model.routes import Publisher, RouteFigures
from regraft.model.switch_network import SwitchNetwork
from regraft.routes import RouteSettings, RouteState, compute_routes, update_routes
from regraft.routes.bounds import finest_demands, least_cost
from regraft.routes.check import check
from regraft.routes.parallel import process_pool
from regraft.routes.problem import graph_of, problem_of
from regraft.routes.steiner_graph import SteinerGraph
from regraft.routes.warm import warm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROCESSES = 2
SEEDS_COMPONENTS = RouteSettings(
    paths="linear-program",
    clustering="prefix",
    selection="rings",
    rings=1,
    subgraph="combination",
    time_limit=2.0,
)
"""Those of Content routes §6. Each setting runs on tables that know the publisher, for trees of its own
as in §6.1, and on tables that do not: several publishers in one program, and cycles that go back into it."""


@dataclass(frozen=True)
class Bench:
    data: Path | None
    plots: Path
    quick: bool
    spark: str | None = None
    matching: str | None = None


def figures_of(state: object) -> tuple[RouteState, RouteFigures, RouteFigures]:
    assert isinstance(state, RouteState), state
    assert state.routes.figures is not None
    assert state.routes.initial is not None
    return state, state.routes.figures, state.routes.initial


def run_setting(setting: Setting, seed: int) -> Outcome:
    lot = random.Random(f"{setting.switches} {setting.publishers} {seed}")
    network = random_network(setting.switches, lot)
    workload = random_workload(network, setting.publishers, lot)
    chosen = replace(SEEDS_COMPONENTS, matching=setting.matching)
    if setting.fragments:
        chosen = replace(chosen, fragmentation="exchange", fragment_size=4, rounds=4)
    state, after, before = figures_of(compute_routes(network, workload, chosen, time.perf_counter))
    assert not check(state.routes).faults
    calls = {name: seconds for name, seconds in state.calls.items() if name != "bound"}
    again = calls.pop("subgraph again", ())
    calls["subgraph"] += again
    flows, rates = (before.flows, after.flows), (before.data_rate, after.data_rate)
    return Outcome(setting, seed, calls, flows, rates, len(again))


def swept(trials: Sequence[tuple[Setting, int]], master: str | None) -> list[Outcome]:
    """Every trial's outcome, here one after the other or on a cluster."""
    if master is None:
        return [run_setting(*trial) for trial in trials]
    spark = start(master)
    try:
        return spread(trials, spark)
    finally:
        spark.stop()


def spread(trials: Sequence[tuple[Setting, int]], spark: "SparkSession") -> list[Outcome]:
    """One task for each trial."""
    # By its name: this module is called __main__ where it is started.
    return (
        spark.sparkContext.parallelize(trials, len(trials))
        .map(lambda trial: import_module("benchmarks.routes").run_setting(*trial))
        .collect()
    )


def seed_figures(bench: Bench) -> Iterator[Line]:
    """Figures 7.1–7.24 with the components of Content routes."""
    seeds = range(1 if bench.quick else 3)
    chosen = [each for each in SETTINGS if bench.matching in (None, each.matching)]
    started = time.perf_counter()
    outcomes = swept([(setting, seed) for setting in chosen for seed in seeds], bench.spark)
    took = time.perf_counter() - started
    where = f"on {bench.spark}" if bench.spark else "one after the other"
    yield Line(f"seed's figures: {len(outcomes)} runs {where}", "-", f"{took:.1f} s", None, {"seconds": took})
    for setting in chosen:
        runs = [one for one in outcomes if one.setting == setting]
        flows = statistics.mean(1 - one.flows[1] / one.flows[0] for one in runs)
        rate = statistics.mean(1 - one.data_rate[1] / one.data_rate[0] for one in runs)
        spent = statistics.mean(sum(map(sum, one.calls.values())) for one in runs)
        share = statistics.mean(
            sum(one.calls["subgraph"]) / sum(map(sum, one.calls.values())) for one in runs
        )
        name = f"{setting.switches} switches, {setting.publishers} publishers"
        name += ", smaller fragments" if setting.fragments else ""
        name += ", shared trees" if setting.matching == "filter" else ""
        measured = f"flows {-flows:+.1%}, data rate {-rate:+.1%}, {spent:.2f} s ({share:.0%} in sub graphs)"
        if setting.matching == "filter":
            measured += f", {sum(one.cycles for one in runs)} times cycles went back"
        data = {"flows": flows, "data_rate": rate, "seconds": spent, "subgraph_share": share}
        yield Line(f"seed's components: {name}", "-", measured, None, data)
    bench.plots.mkdir(parents=True, exist_ok=True)
    write_times(outcomes, bench.plots)
    write_reductions(outcomes, bench.plots)
    draw(outcomes, bench.plots)


def quality(bench: Bench) -> Iterator[Line]:
    """Against plain shortest-path trees, and against the global optimum."""
    for switches, publishers in ((10, 5), (10, 20), (25, 10), (25, 25), (25, 50)):
        saved, flows, gaps, unproven = [], [], [], 0
        for seed in range(5 if bench.quick else 20):
            lot = random.Random(f"quality {switches} {publishers} {seed}")
            network = random_network(switches, lot)
            workload = random_workload(network, publishers, lot)
            state, after, before = figures_of(compute_routes(network, workload))
            assert not check(state.routes).faults
            problem = problem_of(network, workload)
            demands = [each for p in range(publishers) for each in finest_demands(problem, p)]
            least = least_cost(problem.graph, demands, 20.0)
            unproven += least is None
            if least:
                gaps.append(after.cost / least - 1)
            if before.data_rate:
                saved.append(1 - after.data_rate / before.data_rate)
                flows.append(1 - after.flows / before.flows)
        what = f"{switches} switches, {publishers} publishers, {len(saved)} networks"
        less, most = statistics.mean(saved), max(gaps)
        data = {"saved": saved, "flows": flows, "above_optimum": gaps, "unproven": unproven}
        wanted = "at least 15 %" if (switches, publishers) == (25, 25) else "-"
        met = less >= 0.15 if (switches, publishers) == (25, 25) else None
        measured = f"data rate {less:.1%} less (flows {statistics.mean(flows):.1%} less)"
        yield Line(f"below shortest-path trees: {what}", wanted, measured, met, data)
        measured = f"{statistics.mean(gaps):.2%} on average, at most {most:.2%}; {unproven} not proven"
        yield Line(f"above the global optimum: {what}", "at most 2 %", measured, most <= 0.02, {})


def steiner(bench: Bench) -> Iterator[Line]:
    """Steiner trees and their bounds against the known optima of SteinLib."""
    above, below, seconds = [], [], []
    for _, network, terminals, optimum in steinlib(bench.data, ("B", "SP", "I080")):
        graph, number = graph_of(network), network.number
        root, *ends = (number[each] for each in terminals)
        started = time.perf_counter()
        found = SteinerGraph(graph).solve(root, ends)
        seconds.append(time.perf_counter() - started)
        above.append(found.cost / optimum - 1)
        below.append(1 - found.bound / optimum)
    if not above:
        yield Line("Steiner trees of SteinLib", "-", "no data folder was given", None, {})
        return
    optimal = sum(each < 1e-9 for each in above)
    measured = f"{optimal} optimal, {statistics.mean(above):.2%} above on average, at most {max(above):.2%}; "
    measured += f"bounds {statistics.mean(below):.2%} below, at most {max(below):.2%}; "
    measured += f"{1000 * statistics.median(seconds):.1f} ms each (median)"
    yield Line(f"Steiner trees of SteinLib, {len(above)} instances", "-", measured, None, {"above": above})


def networks(bench: Bench) -> Iterator[tuple[str, SwitchNetwork]]:
    yield "random, 200 switches", random_network(200, random.Random("scale"))
    if (kdl := zoo(bench.data, "Kdl")) is not None:
        yield "Kdl, the 200 switches around its centre", part_of(kdl, 200)
    if (carrier := zoo(bench.data, "UsCarrier")) is not None:
        yield "UsCarrier, 158 switches", carrier
    if kdl is not None and not bench.quick:
        yield "Kdl, all 754 switches", kdl


def scale(bench: Bench) -> Iterator[Line]:
    """200 publishers, 800 subscribers; then publishers join one after another."""
    for name, network in networks(bench):
        lot = random.Random(f"scale {name}")
        workload = random_workload(network, 200, lot, 3, 8, subscribers=800)
        settings = RouteSettings(processes=PROCESSES)
        with process_pool(PROCESSES) as pool:
            list(pool.map(_warm, range(PROCESSES)))
            started = time.perf_counter()
            found = compute_routes(network, workload, settings, time.perf_counter, None, pool)
            seconds = time.perf_counter() - started
        state, after, before = figures_of(found)
        assert not check(state.routes).faults
        promised = "754" not in name
        less = 1 - after.data_rate / before.data_rate
        measured = f"{seconds:.1f} s; data rate {less:.1%} less, flows {before.flows} → {after.flows}, "
        measured += f"at most {after.gap:.2%} above the least"
        data = {"seconds": seconds, "gap": after.gap, "parts": dict(state.routes.seconds)}
        what = f"routes: {name}, 200 publishers, 800 subscribers"
        yield Line(
            what, "at most 60 s" if promised else "-", measured, seconds <= 60 if promised else None, data
        )
        yield joins(name, network, state, lot, promised)


def joins(name: str, network: SwitchNetwork, state: RouteState, lot: random.Random, promised: bool) -> Line:
    times = []
    for number in range(7):
        more = random_workload(network, 1, lot, 3, 8, subscribers=0).publishers[0]
        publishers = (*state.routes.workload.publishers, Publisher(f"new {number}", *more[1:]))
        workload = replace(state.routes.workload, publishers=publishers)
        started = time.perf_counter()
        found = update_routes(state, workload)
        times.append(time.perf_counter() - started)
        assert isinstance(found, RouteState), found
        state = found
    assert not check(state.routes).faults
    measured = f"{statistics.median(times):.2f} s (median of 7, at most {max(times):.2f} s)"
    met = max(times) <= 1 if promised else None
    return Line(
        f"one publisher joins: {name}", "at most 1 s" if promised else "-", measured, met, {"times": times}
    )


def _warm(_: int) -> None:
    warm()


PARTS = {"figures": seed_figures, "quality": quality, "steiner": steiner, "scale": scale}


def main() -> None:
    options = arguments().parse_args()
    warm()
    bench = Bench(options.data, options.plots, options.quick, options.spark, options.matching)
    lines = (line for name in options.part or list(PARTS) for line in PARTS[name](bench))
    show(lines, "quick" if options.quick else "full", options.out, quick=options.quick)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench routes", description=__doc__)
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this; may be repeated")
    parser.add_argument("--quick", action="store_true", help="fewer networks")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the data of others is")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", default=Path("out/routes"))
    parser.add_argument("--matching", choices=("publisher", "filter"), help="only these figures")
    parser.add_argument("--spark", metavar="MASTER", help="such as local[2] or spark://HOST:PORT")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


if __name__ == "__main__":
    main()
