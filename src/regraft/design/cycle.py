"""CyclePT: every topic gets its own cycle, in a random order (kTCO §VIII).

This is what is usual without sharing links between topics, and the other algorithms are compared with it. It
is 2-topic-connected, with an average degree near twice the number of subscriptions.
"""

import numpy as np

from regraft.design.harary import build_harary, distinct
from regraft.design.matrix import Matrix, Pairs


def cycle(matrix: Matrix, random: np.random.Generator) -> Pairs:
    """A cycle through each topic's nodes in a random order; a link for two nodes."""
    found = [np.empty((0, 2), np.int64)]
    for t in range(matrix.topic_start.size - 1):
        nodes = random.permutation(matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]])
        found.append(nodes[build_harary(2, len(nodes))])
    return distinct(np.concatenate(found))
