"""The measured traffic, for repairs: the loop writes it to ZooKeeper, the node that closes a gap reads it.

Spark measures far from the brokers, and a repair cannot wait for it. So after each window with traffic the
loop writes its heaviest classes and the costs of links; the leader of a repair joins the neighbours of a dead
broker in the way that is cheapest for them. Only the loop writes, and an older window is better than none.
"""

from collections.abc import Mapping
from operator import attrgetter

from regraft.coord import Coord, Exists, Layout, Missing
from regraft.coord.typed import encode, read
from regraft.model import Ends, Topology, ends
from regraft.model.record import Record
from regraft.model.traffic import Traffic, TrafficClass

BYTES = 256 << 10
"""A quarter of what a node in ZooKeeper can hold: it is read while an overlay waits for its repair."""


class MeasuredDemand(Record, frozen=True, kw_only=True):
    """`left_out` is the demand of the classes that were too light to be kept."""

    window: str
    classes: tuple[tuple[tuple[str, ...], float], ...]
    costs: tuple[tuple[str, str, float], ...] = ()
    left_out: float = 0.0

    @property
    def traffic(self) -> Traffic:
        return tuple(TrafficClass(frozenset(members), demand) for members, demand in self.classes)

    @property
    def link_costs(self) -> Mapping[Ends, float]:
        return {ends(one, other): cost for one, other, cost in self.costs}


def demand_of(window: str, traffic: Traffic, network: Topology | None, most: int = BYTES) -> MeasuredDemand:
    """The heaviest classes that fit. A class of one broker crosses no link, and is left out."""
    costs = tuple((*link.ends, link.cost) for link in network.links) if network is not None else ()
    if len(encode(MeasuredDemand(window=window, classes=(), costs=costs))) > most // 2:
        costs = ()
    between = sorted(
        (each for each in traffic if len(each.members) > 1), key=attrgetter("demand"), reverse=True
    )
    classes = [(tuple(sorted(members)), demand) for members, demand in between]
    while True:
        left_out = sum(each.demand for each in between[len(classes) :])
        found = MeasuredDemand(window=window, classes=tuple(classes), costs=costs, left_out=left_out)
        if not classes or (size := len(encode(found))) <= most:
            return found
        del classes[min(len(classes) - 1, len(classes) * most // size) :]


async def publish(coord: Coord, layout: Layout, demand: MeasuredDemand) -> None:
    data = encode(demand)
    try:
        await coord.set(layout.demand, data, -1)
    except Missing:
        try:
            await coord.create(layout.demand, data)
        except Exists:
            await coord.set(layout.demand, data, -1)


async def last_measured(coord: Coord, layout: Layout) -> MeasuredDemand | None:
    stored = await read(coord, layout.demand, MeasuredDemand)
    return stored.value if stored is not None else None
