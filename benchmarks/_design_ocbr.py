"""Tree designs for traffic (OCBR): the global search against exhaustive search, known optima, OCBR itself.

Called by `scripts/bench design`; alone: `python -m benchmarks._design_ocbr --data FOLDER`, where the
folder holds `steinlib`, `sndlib`, `rocketfuel` and `topology_zoo`. Parts whose data is not there are
left out and say so.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import networkx as nx
import numpy as np
from benchmarks._table import Line, show

from regraft.design.ocbr import Problem, cost_of
from regraft.design.ocbr.bound import lower_bound
from regraft.design.ocbr.exact import steiner, tabulate
from regraft.design.ocbr.kernel_region import Region, tree_cost
from regraft.design.ocbr.starts import starts
from regraft.design.ocbr.warm import warm
from regraft.lab.ocbr_networks import Instance, read_optima, read_rocketfuel, read_sndlib, read_stp
from regraft.lab.ocbr_timed import Clock, searched, settled
from regraft.lab.ocbr_workload import geographic, pairs_by_gravity, random_tree
from regraft.model import Topology
from regraft.model.topology_files import read_topology
from regraft.testing.trees import all_trees


class Bench(NamedTuple):
    """Where the data is, if anywhere, and whether only a glance is wanted."""

    data: Path | None
    quick: bool
    log: Callable[[str], object]
    only: str = ""
    """Of the longer parts, the lines that hold this text."""
    pictures: Path = Path("out/bench/design")

    def wants(self, what: str) -> bool:
        return self.only in what


def parts(data: Path | None, quick: bool, log: Callable[[str], object]) -> Iterator[Line]:
    """All lines; the slowest last."""
    bench = Bench(data, quick, log)
    warm()
    for part in PARTS.values():
        yield from part(bench)


def exhaustive(bench: Bench) -> Iterator[Line]:
    """Small networks: every labelled tree is priced."""
    equal, cases = 0, 0
    for size in range(3, 8):
        for seed in range(2 if bench.quick else 8):
            instance = geographic(size, 4 * size, seed, near=None if seed % 2 else 3)
            problem = Problem.of(None, instance.traffic, instance.network, 1.0, float(seed % 3))
            table = tabulate(problem)
            least = min(_priced(table, tree, size) for tree in all_trees(size))
            alone = cost_of(problem, next(iter(starts(problem).values()))).total
            found, _ = searched(problem, None, 0.5, seed)
            offset = alone - _priced_start(problem, table, size)
            cases += 1
            equal += found <= (least + offset) * (1 + 1e-9)
        bench.log(f"exhaustive: {size} brokers, {equal} of {cases} equal")
    what = "OCBR global search, 3 to 7 brokers: equal to exhaustive search"
    yield Line(what, "all", f"{equal} of {cases}", equal == cases, {"equal": equal, "cases": cases})


def _priced(table: Region, tree: frozenset[tuple[int, int]], size: int) -> float:
    """The cost of a labelled tree from the table of demands; infinite if a link is not possible."""
    if any(not np.isfinite(table.prices[a, b]) for a, b in tree):
        return math.inf
    graph = nx.Graph(list(tree))
    parent = np.full(size, -1, np.int64)
    for above, below in nx.bfs_edges(graph, 0):
        parent[below] = above
    return float(tree_cost(table, parent, size))


def _priced_start(problem: Problem, table: Region, size: int) -> float:
    """The table leaves classes of one broker out: the difference is the same for every tree."""
    return float(tree_cost(table, next(iter(starts(problem).values())), size))


def steinlib(bench: Bench) -> Iterator[Line]:
    """One class is the Steiner tree problem; non-terminals are in the tree but cost nothing."""
    what = "OCBR with one class, SteinLib: average above the known optimum"
    folder = bench.data / "steinlib" if bench.data else None
    if folder is None or not folder.is_dir():
        yield Line(what, "≤ 1 %", "no data folder given", None, {})
        return
    optima = read_optima(folder / "optima.csv")
    seconds = 2.0 if bench.quick else 5.0
    gaps: dict[str, dict[str, float]] = {"ours": {}, "networkx": {}, "cheapest links": {}}
    proven = 0
    for path in sorted(folder.glob("*/*.stp")):
        instance = read_stp(path)
        problem = Problem.of(None, instance.traffic, instance.network, 1.0, 0.0)
        exact = steiner(problem)
        proven += exact is not None
        cost = cost_of(problem, exact).total if exact is not None else searched(problem, None, seconds)[0]
        found = {
            "ours": cost,
            "networkx": _networkx_steiner(instance),
            "cheapest links": cost_of(problem, starts(problem)["cheapest links"]).total,
        }
        for name, value in found.items():
            gaps[name][instance.name] = value / optima[instance.name] - 1
        bench.log(f"{instance.name}: {cost:g}, optimum {optima[instance.name]:g}")
    mean = {name: fmean(each.values()) for name, each in gaps.items()}
    optimal = sum(gap < 1e-9 for gap in gaps["ours"].values())
    measured = (
        f"{100 * mean['ours']:.2f} % (worst {100 * max(gaps['ours'].values()):.1f} %; {optimal} of "
        f"{len(gaps['ours'])} optimal, {proven} proven; networkx's approximation "
        f"{100 * mean['networkx']:.1f} %, minimum spanning tree {100 * mean['cheapest links']:.0f} %)"
    )
    yield Line(what, "≤ 1 %", measured, mean["ours"] <= 0.01, {"gaps": gaps, "seconds": seconds})


def _networkx_steiner(instance: Instance) -> float:
    """The peer: networkx's Steiner tree approximation (Mehlhorn)."""
    graph = nx.Graph()
    for pair, link in instance.network.by_ends.items():
        graph.add_edge(*pair, weight=link.cost)
    (one,) = instance.traffic
    tree = nx.approximation.steiner_tree(graph, sorted(one.members), method="mehlhorn")
    return float(tree.size(weight="weight"))


def large(bench: Bench) -> Iterator[Line]:
    """1,000 brokers, 100,000 classes, all pairs possible: from three starting trees."""
    size, classes = (300, 10_000) if bench.quick else (1_000, 100_000)
    seconds = 15.0 if bench.quick else 57.0  # with what comes before and after: a minute
    instance = geographic(size, classes, 1)
    problem = Problem.of(None, instance.traffic, instance.network)
    trees = {
        "random tree": problem.parents(random_tree(instance.network, 1)),
        **{("minimum spanning tree" if name == "cheapest links" else "star"): tree
           for name, tree in list(starts(problem).items())[:2]},
    }  # fmt: skip
    for name, start in trees.items():
        before = cost_of(problem, start).total
        alone, spent = settled(problem, start, before, seconds)
        clock = Clock()
        found, _ = searched(problem, start, seconds)
        saved = 1 - found / before
        measured = (
            f"{100 * saved:.0f} % lower in {clock.seconds:.0f} s (neighbourhoods alone "
            f"{100 * (1 - alone / before):.0f} % in {spent:.0f} s)"
        )
        bench.log(f"{name}: {measured}")
        what = f"OCBR, {size:,} brokers, {classes:,} classes, from the {name}"
        data = {"before": before, "found": found, "neighbourhoods": alone, "seconds": spent}
        yield Line(what, "≥ 30 % lower in 60 s", measured, saved >= 0.3, data)


def growth(bench: Bench) -> Iterator[Line]:
    """The same number of moves per broker, and neighbourhoods to their fixpoint, on larger networks."""
    sizes = (100, 300, 1_000) if bench.quick else (100, 300, 1_000, 3_000, 10_000)
    rows: dict[int, tuple[float, float]] = {}
    for size in sizes:
        instance = geographic(size, 10 * size, 1, near=10)
        problem = Problem.of(None, instance.traffic, instance.network)
        start = starts(problem)["shortest paths from " + _centre(problem)]
        before = cost_of(problem, start).total
        _, spent = settled(problem, start, before, 300.0)
        rows[size] = (spent / size, _seconds_per_move(problem, start))
        bench.log(f"growth: {size} brokers, {1e3 * spent / size:.2f} ms per broker")
    slopes = [
        math.log(rows[sizes[-1]][column] / rows[sizes[0]][column]) / math.log(sizes[-1] / sizes[0])
        for column in range(2)
    ]
    shown = ", ".join(f"{size:,}: {1e3 * row[0]:.1f} ms, {1e6 * row[1]:.0f} µs" for size, row in rows.items())
    what = "OCBR, 10 classes per broker: time per broker to the neighbourhoods' fixpoint, time per move"
    measured = f"{shown}; grow as n^{slopes[0]:.2f} and n^{slopes[1]:.2f}"
    yield Line(what, "sub-quadratic", measured, max(slopes) < 2, {"rows": rows, "slopes": slopes})


def _centre(problem: Problem) -> str:
    names = [name for name in starts(problem) if name.startswith("shortest paths from ")]
    return names[0].removeprefix("shortest paths from ")


def _seconds_per_move(problem: Problem, start: np.ndarray) -> float:
    from regraft.design.ocbr import Effort  # noqa: PLC0415
    from regraft.design.ocbr.search import SearchState, descend  # noqa: PLC0415

    moves = 6_400
    state = SearchState(problem, Effort(moves=moves), start, cost_of(problem, start).total)
    clock = Clock()
    descend(state, start, state.cost, 1.0, "")
    return clock.seconds / state.moves


def networks(bench: Bench) -> Iterator[Line]:
    """Other people's networks: what the design saves over the cheapest links, and how near it is."""
    if bench.data is None:
        yield Line(
            "OCBR on the Topology Zoo, SNDlib and Rocketfuel", "reported", "no data folder given", None, {}
        )
        return
    for name, instances in _families(bench.data).items():
        rows = []
        found = list(instances)[: 5 if bench.quick else None]
        for instance in found:
            problem = Problem.of(None, instance.traffic, instance.network)
            tree = starts(problem)["cheapest links"]
            before = cost_of(problem, tree).total
            after, _ = searched(problem, tree, 1.0)
            alone, _ = settled(problem, tree, before, 10.0)
            rows.append((1 - after / before, 1 - alone / before, after / lower_bound(problem).value - 1))
            bench.log(f"{instance.name}: {100 * rows[-1][0]:.1f} % lower")
        saved, alone_saved, gap = (fmean(column) for column in zip(*rows, strict=True))
        measured = (
            f"{100 * saved:.1f} % below the minimum spanning tree on average, at most {100 * gap:.0f} % "
            f"above the best possible (neighbourhoods alone: {100 * alone_saved:.1f} %)"
        )
        yield Line(f"OCBR, {name}, {len(rows)} networks", "reported", measured, None, {"rows": rows})


def _families(data: Path) -> dict[str, Iterator[Instance]]:
    found: dict[str, Iterator[Instance]] = {}
    if (folder := data / "sndlib").is_dir():
        found["SNDlib with its demands"] = (read_sndlib(path) for path in sorted(folder.glob("*.json")))
    if (folder := data / "rocketfuel").is_dir():
        found["Rocketfuel, classes drawn by degree"] = (
            _with_traffic(path.parent.name, read_rocketfuel(path))
            for path in sorted(folder.glob("*/latencies.intra"))
        )
    if (folder := data / "topology_zoo").is_dir():
        found["Topology Zoo, classes drawn by degree"] = (
            _with_traffic(path.stem, read_topology(path)) for path in sorted(folder.glob("*.graphml"))
        )
    return found


def _with_traffic(name: str, network: Topology) -> Instance:
    return Instance(name, network, pairs_by_gravity(network, 1, 5 * len(network.ids)))


PARTS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "exhaustive": exhaustive,
    "networks": networks,
    "growth": growth,
    "steinlib": steinlib,
    "large": large,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the networks of others are")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this; may be repeated")
    parser.add_argument("--quick", action="store_true", help="smaller networks, less time")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    options = parser.parse_args()
    from rich.console import Console  # noqa: PLC0415

    warm()
    bench = Bench(options.data, options.quick, Console(stderr=True, highlight=False).log)
    lines = (line for name in options.part or PARTS for line in PARTS[name](bench))
    show(lines, "quick" if options.quick else "full", options.out)


if __name__ == "__main__":
    main()
