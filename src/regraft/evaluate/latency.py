"""Expected delivery latency from the links' latencies.

In a tree, a message of class t is published at one of its members, all equally likely (OCBR §2: which one
publishes does not matter), and delivered at all the others. The expectation is over deliveries, so a class
counts d(t)·(|t| − 1) times. The latency between two members is the sum of both latencies from the root less
twice that of their common ancestor. Over all pairs of a class, these ancestors are the minima of all ranges
of the joints between neighbours, which one pass with a stack adds up.

In a mesh, a message takes the fastest path over brokers interested in its topic (kTCO §III); each pair of
each topic counts once.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import fsum

import numpy as np

from regraft.evaluate.case import Case, Topic
from regraft.model.assessment import Finding


def latency(case: Case) -> Finding:
    """`expected_latency_ms`; None, with a note, if a link states no latency."""
    if not case.has_traffic and (case.topology.kind == "tree" or not case.workload.interest):
        return Finding()
    silent = sum(link.latency_ms is None for link in case.topology.links)
    if silent:
        note = f"no expected latency: {silent} of {len(case.topology.links)} links do not say theirs"
        return Finding({"expected_latency_ms": None}, notes=(note,))
    return _of_tree(case) if case.topology.kind == "tree" else _of_mesh(case)


def _of_tree(case: Case) -> Finding:
    latencies = case.index.link_latencies(case.topology)
    assert latencies is not None
    spans, way = case.spans, case.index.from_root(latencies)
    count = len(spans)
    sizes = np.bincount(spans.member_class, minlength=count)
    # Every member is in |t| − 1 pairs, so its latency from the root counts that often.
    ways = (sizes - 1) * np.bincount(spans.member_class, way[spans.members], count)
    joints = way[spans.joints].tolist()
    starts = np.concatenate(([0], np.cumsum(np.bincount(spans.joint_class, minlength=count)))).tolist()
    shared = np.array([_least_of_all_ranges(joints[one:two]) for one, two in pairwise(starts)])
    pair_sums = ways - 2 * shared
    pairs = sizes * (sizes - 1) / 2
    deliveries = spans.demand * (sizes - 1)
    total = fsum(deliveries)
    if not total:
        return Finding({"expected_latency_ms": 0.0})
    per_delivery = np.divide(pair_sums, pairs, out=np.zeros(count), where=pairs > 0)
    return Finding({"expected_latency_ms": fsum(per_delivery * deliveries) / total})


def _least_of_all_ranges(values: list[float]) -> float:
    """The sum over all ranges of values of the least value in each."""
    total = ending_here = 0.0
    stack: list[tuple[float, int]] = []
    for value in values:
        ranges = 1
        while stack and stack[-1][0] >= value:
            least, count = stack.pop()
            ending_here -= least * count
            ranges += count
        stack.append((value, ranges))
        ending_here += value * ranges
        total += ending_here
    return total


def _of_mesh(case: Case) -> Finding:
    latencies = np.array([0.0, *(link.latency_ms or 0.0 for link in case.topology.links)])
    sums: list[float] = []
    pairs = cut = 0
    for topic in case.topics():
        for distances in _distances(topic, latencies):
            reached = np.isfinite(distances)
            cut += int((~reached).sum())
            pairs += int(reached.sum()) - len(distances)
            sums.append(float(distances[reached].sum()))
    if cut:
        note = f"no expected latency: {cut // 2} pairs of brokers with a common topic are not joined by it"
        return Finding({"expected_latency_ms": None}, notes=(note,))
    return Finding({"expected_latency_ms": fsum(sums) / pairs if pairs else 0.0})


def _distances(
    topic: Topic, latencies: np.typing.NDArray[np.float64]
) -> Iterator[np.typing.NDArray[np.float64]]:
    weighted = topic.links.copy()
    # In a sparse matrix 0 means no link; the least positive number changes no sum.
    weighted.data = np.maximum(latencies[weighted.data], np.finfo(np.float64).tiny)
    return topic.distances(weighted)
