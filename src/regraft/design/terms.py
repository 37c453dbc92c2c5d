"""What limits a design besides its interest: how many links a node may have, and what links cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from regraft.design.kernel_levels import Discount
from regraft.design.matrix import Ints
from regraft.model import BadInput

Prices = npt.NDArray[np.float64]
FREE = np.empty((0, 0), np.float64)
MOST_SUBSCRIPTIONS = 16_000
"""Per node, because what two nodes share is counted in 16 bits, up to four times."""


@dataclass(frozen=True)
class Terms:
    """`prices[v, w]` is what a link costs, such as its latency; without prices every link costs 1."""

    nodes: int
    max_degree: int | None = None
    prices: Prices = field(default_factory=lambda: FREE)

    def room(self) -> Ints:
        most = self.nodes if self.max_degree is None else self.max_degree
        return np.full(self.nodes, most, np.int64)

    def capacity(self, degree: Ints) -> Ints:
        """The most links of a node while links are exchanged: not many more than now, to save memory."""
        return np.minimum(2 * degree + 16, np.maximum(self.room(), degree))

    @property
    def discount(self) -> Discount:
        if not self.prices.size:
            return np.empty((0, 0), np.int16)
        cheapest = max(float(self.prices[self.prices > 0].min(initial=np.inf)), 1e-9)
        relative = np.maximum(self.prices / (cheapest if np.isfinite(cheapest) else 1.0), 1.0)
        discount: Discount = np.rint(20 * np.log(relative)).astype(np.int16)
        return discount


def prices_between(nodes: tuple[str, ...], latency: Mapping[tuple[str, str], float]) -> Prices:
    """The latency between each two nodes along the fastest path of a network of links with latencies."""
    from scipy.sparse import coo_array  # noqa: PLC0415 (only designs with prices need it)
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    known = sorted({end for link in latency for end in link})
    number = {name: place for place, name in enumerate(known)}
    if missing := [name for name in nodes if name not in number]:
        raise BadInput("network", f"node {missing[0]!r} of the interest has no link with a latency here")
    rows, columns = zip(*((number[one], number[other]) for one, other in latency), strict=True)
    for (one, other), value in latency.items():
        if not (np.isfinite(value) and value >= 0):
            raise BadInput("network", f"the latency of {one!r} - {other!r} must be a number from 0 on")
    graph = coo_array(
        (np.maximum(list(latency.values()), 1e-6), (rows, columns)), shape=(len(known), len(known))
    )
    chosen = np.array([number[name] for name in nodes])
    between: Prices = np.ascontiguousarray(dijkstra(graph.tocsr(), directed=False, indices=chosen)[:, chosen])
    if not np.isfinite(between).all():
        v, w = np.argwhere(~np.isfinite(between))[0]
        raise BadInput("network", f"no way joins {nodes[v]!r} and {nodes[w]!r}")
    return between
