"""Networks and workloads as Content routes §7.1 draws them, and large real ones."""

import csv
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from regraft.model.network_files import read_network
from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import Edge, SwitchNetwork, both_ways

SUBSCRIBERS_PER_PUBLISHER = 4
CABLES_PER_SWITCH = 2


def random_network(switches: int, lot: random.Random) -> SwitchNetwork:
    """Connected, with twice as many cables as switches between pairs drawn by lot."""
    pairs = {(lot.randrange(number), number) for number in range(1, switches)}
    while len(pairs) < CABLES_PER_SWITCH * switches:
        one, other = sorted(lot.sample(range(switches), 2))
        pairs.add((one, other))
    names = [f"r{number}" for number in range(switches)]
    return SwitchNetwork.of([(names[one], names[other]) for one, other in sorted(pairs)], names)


def random_workload(
    network: SwitchNetwork,
    publishers: int,
    lot: random.Random,
    shortest: int = 2,
    longest: int = 6,
    subscribers: int | None = None,
) -> RouteWorkload:
    """Filters of random digits and at least the shortest length; rates 1 to 10."""

    def filter() -> tuple[str, ...]:
        return ("".join(lot.choices("01", k=lot.randint(shortest, longest))),)

    count = SUBSCRIBERS_PER_PUBLISHER * publishers if subscribers is None else subscribers
    return RouteWorkload(
        tuple(
            Publisher(f"p{n}", lot.choice(network.switches), float(lot.randint(1, 10)), filter())
            for n in range(publishers)
        ),
        tuple(Subscriber(f"s{n}", lot.choice(network.switches), filter()) for n in range(count)),
    )


def part_of(network: SwitchNetwork, switches: int) -> SwitchNetwork:
    """The switches nearest to the one with the most cables: a connected part of this size."""
    near: dict[str, list[str]] = {switch: [] for switch in network.switches}
    for edge in network.edges:
        near[edge.source].append(edge.target)
    start = max(network.switches, key=lambda switch: len(near[switch]))
    kept, queue = {start: None}, deque([start])
    while queue:
        for switch in near[queue.popleft()]:
            if switch not in kept and len(kept) < switches:
                kept[switch] = None
                queue.append(switch)
    edges = tuple(edge for edge in network.edges if edge.source in kept and edge.target in kept)
    return SwitchNetwork(tuple(kept), edges)


def steinlib(
    data: Path | None, groups: tuple[str, ...]
) -> Iterator[tuple[str, SwitchNetwork, list[str], float]]:
    """Instances of SteinLib: name, network, terminals, and the known optimum."""
    folder = data / "steinlib" if data else None
    if folder is None or not folder.exists():
        return
    with (folder / "optima.csv").open() as file:
        optima = {
            Path(row["file"]).stem: float(row["optimum"]) for row in csv.DictReader(file) if row["optimum"]
        }
    for path in sorted(each for group in groups for each in (folder / group).glob("*.stp")):
        edges: list[Edge] = []
        terminals = []
        for line in path.read_text().splitlines():
            match line.split():
                case ["E", one, other, weight]:
                    edges += both_ways(one, other, f"c{len(edges)}", float(weight))
                case ["T", vertex]:
                    terminals.append(vertex)
        switches = dict.fromkeys(end for edge in edges for end in edge[:2])
        yield path.stem, SwitchNetwork(tuple(switches), tuple(edges)), terminals, optima[path.stem]


def zoo(data: Path | None, name: str) -> SwitchNetwork | None:
    """A network of the Topology Zoo, if its folder was given."""
    path = data / "topology_zoo" / f"{name}.graphml" if data else None
    return read_network(path) if path and path.exists() else None
