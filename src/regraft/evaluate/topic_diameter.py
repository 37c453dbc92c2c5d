"""Topic diameters (kTCO §VIII-D): the longest shortest path within each topic's sub-overlay.

Diam is their maximum, diam̄ their average over all topics. A topic that is not connected has no
diameter; then there is neither a maximum nor an average.
"""

import numpy as np

from regraft.evaluate.case import Case, Topic
from regraft.model.assessment import Finding


def topic_diameter(case: Case) -> Finding:
    if not case.workload.interest:
        return Finding()
    diameters = {topic.name: diameter(topic) for topic in case.topics()}
    known = [each for each in diameters.values() if each is not None]
    cut = len(diameters) - len(known)
    notes = (f"no topic diameter: {cut} of {len(diameters)} topics are not connected",) if cut else ()
    return Finding(
        {
            "max_topic_diameter": None if cut else max(known),
            "average_topic_diameter": None if cut else sum(known) / len(known),
        },
        {"topic_diameter": diameters},
        notes,
    )


def diameter(topic: Topic) -> float | None:
    """In links; None if not connected."""
    longest = 0.0
    for distances in topic.distances(topic.links, unweighted=True):
        longest = max(longest, float(distances.max()))
        if longest == np.inf:
            return None
    return longest
