"""Which k holds: fewer than k failures on a topic never cut it (kTCO §IV, Definition 1).

A topic's k is its sub-overlay's vertex connectivity, 0 if it is not connected. Every k holds for a clique:
the brokers that are left are joined. The overlay's k is the least of its topics'.
"""

import numpy as np

from regraft.evaluate.case import Case, Topic
from regraft.model.assessment import Finding
from regraft.model.k_connectivity import largest_k


def fault_tolerance(case: Case) -> Finding:
    """`k` is None, with a note, where every k holds."""
    if not case.workload.interest:
        return Finding()
    found = {topic.name: topic_k(topic) for topic in case.topics()}
    bounded = [k for k in found.values() if k is not None]
    cliques = len(found) - len(bounded)
    notes = (f"every k holds for {cliques} of {len(found)} topics: all their brokers are joined",)
    return Finding(
        {"k": float(min(bounded)) if bounded else None},
        {"k": {name: None if k is None else float(k) for name, k in found.items()}},
        notes if cliques else (),
    )


def topic_k(topic: Topic) -> int | None:
    links = topic.links.tocoo()
    once = links.row < links.col
    pairs = np.column_stack((links.row[once], links.col[once])).astype(np.int64)
    return largest_k(len(topic.brokers), pairs)
