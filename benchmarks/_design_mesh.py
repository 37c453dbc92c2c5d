"""Meshes for topics (kTCO): speed and scale, links against the published algorithms, the printed figures."""

import math
import multiprocessing
import resource
from collections.abc import Callable, Iterator
from statistics import fmean, median
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks._design_interest import SETS, read_set
from benchmarks._design_ocbr import Bench
from benchmarks._table import Line

from regraft.design import MeshDesign, MeshOptions, check, design_mesh, repair
from regraft.design.divide import PART
from regraft.design.explain import fewest_possible
from regraft.design.matrix import Matrix, Pairs
from regraft.design.repair import Repaired, excess
from regraft.lab.ktco_figures import figures
from regraft.lab.ktco_printed import beside
from regraft.lab.ktco_trial import OURS, design, overlay
from regraft.lab.ktco_workload import DISTRIBUTIONS, named, workload
from regraft.testing.mesh_oracles import fewest_links

GIB = 2**30
MANY = 20_000
"""Nodes of real data beyond which they are designed in parts."""


def timed(matrix: Matrix, algorithm: str, k: int, rounds: int = 3) -> tuple[Pairs, float]:
    """The overlay, and the median time it took."""
    times = []
    for _ in range(rounds):
        began = perf_counter()
        links = design(matrix, algorithm, k, 0)
        times.append(perf_counter() - began)
    return links, median(times)


def valid(matrix: Matrix, links: Pairs, k: int) -> bool:
    return check(overlay(links, matrix.node_start.size - 1), named(matrix), k) is None


def speed(bench: Bench) -> Iterator[Line]:
    """GM and GM2 at the sizes that were promised."""
    for algorithm, k, topics, wanted in (("GM", 1, 100, 3.8), ("GM2", 2, 200, 10.0), (OURS, 2, 200, 10.0)):
        for distribution in DISTRIBUTIONS:
            matrix = workload(distribution, 1000, topics, 30)
            links, seconds = timed(matrix, algorithm, k)
            good = valid(matrix, links, k)
            what = f"{algorithm}, k = {k}, 1,000 nodes × {topics} topics, 30 each, {distribution}"
            shown = f"{seconds:.3f} s, {len(links):,} links{'' if good else ', INVALID'}"
            yield Line(what, f"<= {wanted:g} s", shown, good and seconds <= wanted, {"seconds": seconds})


def large(bench: Bench) -> Iterator[Line]:
    """10,000 nodes × 1,000 topics, each design in a process of its own, for its memory."""
    nodes = 3_000 if bench.quick else 10_000
    for algorithm, k in (("GM2", 2), (OURS, 2), (OURS, 4)):
        for distribution in DISTRIBUTIONS:
            what = f"{algorithm}, k = {k}, {nodes:,} nodes × 1,000 topics, 30 each, {distribution}"
            if not bench.wants(what):
                continue
            bench.log(what)
            row = in_process(alone, distribution, nodes, 1_000, algorithm, k)
            shown = f"{row['seconds']:.1f} s, {row['peak'] / GIB:.2f} GiB, {row['links']:,} links"
            met = row["valid"] and row["seconds"] <= 600 and row["peak"] <= 8 * GIB
            yield Line(what, "<= 600 s and 8 GiB, valid", shown, met, row)


def in_process(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def alone(distribution: str, nodes: int, topics: int, algorithm: str, k: int) -> dict[str, Any]:
    design(workload(distribution, 50, 20, 5), algorithm, k, 0)  # loads what is compiled
    matrix = workload(distribution, nodes, topics, 30)
    began = perf_counter()
    links = design(matrix, algorithm, k, 0)
    seconds = perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "peak": peak, "links": len(links), "valid": valid(matrix, links, k)}


def links(bench: Bench) -> Iterator[Line]:
    """How many links are left, against faithful GM2 and HararyPT."""
    shares: dict[str, list[float]] = {}
    for distribution in DISTRIBUTIONS:
        matrix = workload(distribution, 1000, 200, 30)
        interest = named(matrix)
        for method, k, rival in (
            ("gm2", 2, "GM2"),
            ("greedy-k", 2, "GM2"),
            ("gm", 1, "GM"),
            ("harary", 4, "HararyPT"),
            ("greedy-k", 4, "HararyPT"),
        ):
            published = len(design(matrix, rival, k, 0))
            found = design_mesh(interest, method, MeshOptions(k))
            assert isinstance(found, MeshDesign)
            good = check(found.topology, interest, k) is None
            bound = fewest_possible(matrix, k)
            share = len(found.links) / published
            name = f"{method}, k = {k}, improved, against {rival}"
            shares.setdefault(name, []).append(share)
            shown = f"{share:.3f} ({len(found.links):,} of {published:,}; no overlay below {bound:,})"
            stages = {stage.name: stage.links for stage in found.stages}
            yield Line(f"links of {name}, {distribution}", "valid", shown, good, {"stages": stages})
    for name, wanted in (
        ("gm2, k = 2", 0.82),
        ("greedy-k, k = 2", 0.82),
        ("harary, k = 4", 0.7),
        ("greedy-k, k = 4", 0.7),
    ):
        found_shares = next(values for key, values in shares.items() if key.startswith(name))
        mean = fmean(found_shares)
        yield Line(f"links of {name}, improved, average", f"<= {wanted:g}", f"{mean:.3f}", mean <= wanted, {})


def growth(bench: Bench) -> Iterator[Line]:
    """Time from 100 to 10,000 nodes, 200 topics: the exponent of the cost per node must be below 2."""
    sizes = (100, 300, 1000) if bench.quick else (100, 300, 1000, 3000, 10_000)
    for algorithm, k in (("GM", 1), ("GM2", 2), (OURS, 2), ("HararyPT", 4)):
        for distribution in ("zipf", "unif"):
            what = f"growth of {algorithm}, k = {k}, {distribution}"
            if not bench.wants(what):
                continue
            times = []
            for nodes in sizes:
                bench.log(f"growth: {algorithm}, {nodes} nodes, {distribution}")
                matrix = workload(distribution, nodes, 200, 30)
                times.append(timed(matrix, algorithm, k, 3 if nodes <= 1000 else 1)[1])
            slope = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
            shown = f"time ~ |V|^{slope:.2f}, per node |V|^{slope - 1:.2f} (" + ", ".join(
                f"{nodes:,}: {seconds:.3g} s" for nodes, seconds in zip(sizes, times, strict=True)
            )
            yield Line(what, "per node below |V|^2", shown + ")", slope - 1 < 2, {"seconds": times})


def printed(bench: Bench) -> Iterator[Line]:
    """The seed's figures drawn anew (`regraft lab ktco`); what it prints of them beside the same of ours."""
    folder = bench.pictures / "ktco-quick" if bench.quick else bench.pictures / "ktco"
    few: dict[str, Any] = {
        "nodes": (200, 1000),
        "topics": (100, 1000),
        "subscriptions": (10, 100),
        "repeats": 1,
    }
    rows = figures(folder, **(few if bench.quick else {}))
    for each in beside(rows):
        seed, value = each.printed, each.measured
        near = value is not None and abs(value - seed.value) <= 0.02 * seed.value
        shown = "not measured" if value is None else f"{value:.2f}{' (within 2 %)' if near else ''}"
        figure = f"Figure {seed.figure}, " if seed.figure else ""
        what = f"kTCO {figure}{seed.section}: {seed.says}"
        yield Line(what, f"seed: {seed.value:g}", shown, None, {"value": value})
    pictures = sorted(path.stem for path in folder.glob("figure_*.png"))
    done = [f"figure_{number}" for number in (3, 4, 5, 6, 8)]
    shown = f"{len(rows):,} points, {len(pictures)} pictures in {folder}"
    yield Line("kTCO Figures 3-6 and 8", "drawn", shown, pictures == done, {})


def optimum(bench: Bench) -> Iterator[Line]:
    """Tiny inputs, where the optimum is found by trying everything."""
    random = np.random.default_rng(1)
    ratios: dict[str, list[float]] = {}
    bounds: dict[str, list[float]] = {}
    for _ in range(20 if bench.quick else 100):
        nodes = [f"n{number}" for number in range(random.integers(3, 6))]
        interest = {
            f"t{number}": frozenset(name for name in nodes if random.random() < 0.7) or frozenset(nodes)
            for number in range(random.integers(1, 4))
        }
        for k, method in ((1, "gm"), (2, "gm2")):
            best = max(1, fewest_links(interest, k))
            start = sum(map(len, interest.values()))
            bound = 1 + math.log(start) + (max(map(len, interest.values())) if k == 2 else 0)
            for name, faithful in ((method, True), (f"{method} improved", False)):
                found = design_mesh(interest, method, MeshOptions(faithful=faithful))
                assert isinstance(found, MeshDesign)
                ratios.setdefault(name, []).append(max(1, len(found.links)) / best)
                bounds.setdefault(name, []).append(bound)
    for name, values in ratios.items():
        hits = f"{values.count(1.0)} of {len(values)} optimal"
        shown = f"{fmean(values):.3f} times on average, {max(values):.2f} at worst, {hits}"
        met = all(ratio <= bound for ratio, bound in zip(values, bounds[name], strict=True))
        yield Line(f"links of {name} against the optimum", "within the proven ratio", shown, met, {})


def real(bench: Bench) -> Iterator[Line]:
    """Interest of real users."""
    for name, file in SETS.items():
        if bench.data is None or not (path := bench.data / "interest" / file).exists():
            yield Line(f"{name}", "designed", "no data; give --data", None, {})
            continue
        interest = read_set(path)
        nodes = len(frozenset().union(*interest.values()))
        part = PART if nodes > MANY else None
        for method, k in (("gm2", 2), ("greedy-k", 2), ("greedy-k", 3)):
            if bench.quick and nodes > 5_000:
                continue
            if not bench.wants(f"{name}: {method}, k = {k}"):
                continue
            bench.log(f"{name}: {method}, k = {k}")
            began = perf_counter()
            effort = 0 if part else 10
            found = design_mesh(interest, method, MeshOptions(k, effort=effort, part=part))
            assert isinstance(found, MeshDesign)
            seconds = perf_counter() - began
            good = check(found.topology, interest, k) is None
            stages = " → ".join(f"{stage.links:,}" for stage in found.stages)
            shown = f"{stages} links, degree {2 * len(found.links) / nodes:.2f}, {seconds:.1f} s"
            divided = f", in parts of {part:,}, no exchanges" if part else ""
            what = f"{name}, {nodes:,} nodes × {len(interest):,} topics: {method}, k = {k}{divided}"
            yield Line(what, "valid", shown, good, {"seconds": seconds})


def changes(bench: Bench) -> Iterator[Line]:
    """A node leaves, again and again: what repair makes of it, against a fresh design."""
    for distribution in DISTRIBUTIONS:
        now = named(workload(distribution, 300, 100, 15))
        first = design_mesh(now, "greedy-k", MeshOptions(2))
        assert isinstance(first, MeshDesign)
        mesh = first.topology
        reference = excess(mesh, now, 2)
        moved, fresh, times, good = [], 0, [], True
        gone = sorted(frozenset().union(*now.values()))[: 10 if bench.quick else 60]
        for name in gone:
            after = {topic: nodes - {name} for topic, nodes in now.items()}
            began = perf_counter()
            step = repair(mesh, now, after, 2, reference)
            times.append(perf_counter() - began)
            assert isinstance(step, Repaired)
            good = good and check(step.topology, after, 2) is None
            moved.append(len(step.added) + sum(name not in link for link in step.removed))
            fresh += step.fresh
            mesh, now, reference = step.topology, after, step.reference
        anew = design_mesh(now, "greedy-k", MeshOptions(2))
        assert isinstance(anew, MeshDesign)
        drift = len(mesh.links) / len(anew.links) - 1
        shown = (
            f"{fmean(moved):.1f} links changed per node, {fresh} fresh designs, "
            f"{1000 * median(times):.0f} ms; then {drift:+.1%} links against a fresh design"
        )
        what = f"repair, {len(gone)} of 300 nodes leave one by one, {distribution}"
        yield Line(what, "valid; drift within 10 %", shown, good and drift <= 0.1, {"drift": drift})


def parts_of(bench: Bench) -> Iterator[Line]:
    """Divide and conquer against the whole."""
    nodes = 1_000 if bench.quick else 4_000
    for distribution in DISTRIBUTIONS:
        if not bench.wants(f"divide and conquer, {distribution}"):
            continue
        interest = named(workload(distribution, nodes, 200, 30))
        counts, times, good = [], [], True
        for part in (None, nodes // 8):
            began = perf_counter()
            found = design_mesh(interest, "greedy-k", MeshOptions(2, part=part, effort=10))
            times.append(perf_counter() - began)
            assert isinstance(found, MeshDesign)
            good = good and check(found.topology, interest, 2) is None
            counts.append(len(found.links))
        share = counts[1] / counts[0]
        shown = f"{share:.3f} of the links of the whole, {times[1]:.1f} s against {times[0]:.1f} s"
        yield Line(
            f"divide and conquer, {nodes:,} nodes in 8 parts, {distribution}", "valid", shown, good, {}
        )


PARTS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "mesh-speed": speed,
    "mesh-links": links,
    "mesh-printed": printed,
    "mesh-optimum": optimum,
    "mesh-growth": growth,
    "mesh-repair": changes,
    "mesh-divide": parts_of,
    "mesh-real": real,
    "mesh-large": large,
}
