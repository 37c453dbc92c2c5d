"""Random networks and workloads for tests, reproducible by a seed."""

import random
from collections.abc import Sequence

from regraft.model.routes import Publisher, RouteLimits, RouteWorkload, Subscriber
from regraft.model.switch_network import Edge, SwitchNetwork
from regraft.routes.problem import Graph, graph_of


def random_network(switches: int, cables: int, seed: int, weights: Sequence[float] = (1.0,)) -> SwitchNetwork:
    """Connected, with this many two-way cables between different pairs."""
    lot = random.Random(seed)
    names = [f"r{number}" for number in range(switches)]
    pairs = {(lot.randrange(number), number) for number in range(1, switches)}
    while len(pairs) < cables:
        one, other = sorted(lot.sample(range(switches), 2))
        pairs.add((one, other))
    edges = []
    for place, (one, other) in enumerate(sorted(pairs)):
        weight = lot.choice(weights)
        edges += [
            Edge(names[one], names[other], f"c{place}", weight),
            Edge(names[other], names[one], f"c{place}", weight),
        ]
    return SwitchNetwork(tuple(names), tuple(edges))


def random_graph(switches: int, cables: int, seed: int, weights: Sequence[float] = (1.0,)) -> Graph:
    return graph_of(random_network(switches, cables, seed, weights))


def random_workload(
    network: SwitchNetwork,
    publishers: int,
    subscribers: int,
    seed: int,
    digits: tuple[int, int] = (1, 5),
    limits: RouteLimits = RouteLimits(),  # noqa: B008  a frozen value
) -> RouteWorkload:
    lot = random.Random(seed)

    def expressions() -> tuple[str, ...]:
        count = lot.choice((1, 1, 2))
        return tuple("".join(lot.choices("01", k=lot.randint(*digits))) for _ in range(count))

    return RouteWorkload(
        tuple(
            Publisher(f"p{n}", lot.choice(network.switches), float(lot.randint(1, 9)), expressions())
            for n in range(publishers)
        ),
        tuple(Subscriber(f"s{n}", lot.choice(network.switches), expressions()) for n in range(subscribers)),
        limits,
    )
