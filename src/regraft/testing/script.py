"""What happens in one simulated run: a random tree of brokers, clients, and steps with their times.

Attributes are few and ranges small, so that filters often cover and overlap each other. How much of each
kind of trouble there is differs from seed to seed: some runs are all crashes, some all moves.
"""

from dataclasses import dataclass
from random import Random

from regraft.protocol.events import Event, encode
from regraft.testing.network import Weather
from regraft.testing.trees import random_tree

DURATION = 8.0
"""Seconds of virtual time in which steps and faults happen; then everything has to settle."""


@dataclass(frozen=True)
class Step:
    at: float
    kind: str
    who: str
    """A client or a broker; empty if the simulation chooses."""


@dataclass(frozen=True)
class Script:
    brokers: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    clients: tuple[tuple[str, str], ...]
    """Each client with the broker to which it connects first."""
    steps: tuple[Step, ...]
    weather: Weather
    window: int
    """The window of publishers and of subscribers."""
    most: int
    """How many publications a `Run` may hold."""
    failover: float
    """How likely a client tries another broker if its own is down."""


def random_filter(rng: Random) -> str:
    low, high = sorted((rng.randrange(10), rng.randrange(10)))
    kind = rng.choice("abc")
    return rng.choice(
        (
            "TRUE",
            f"k = '{kind}'",
            f"x >= {low} AND x <= {high}",
            f"x >= {low}",
            f"x < {high}",
            f"k = '{kind}' AND x >= {low} AND x <= {high}",
            f"k = '{kind}' AND x < {high}",
            f"k IN ('{kind}', 'b')",
            f"k = '{kind}' OR x > {low}",
            f"x > {low} AND y <= {high}",
            f"k = '{kind}' AND y >= {low}",
            f"k LIKE '{kind}%' AND x >= {low}",
        )
    )


def random_event(rng: Random, number: int) -> bytes:
    attributes: dict[str, str | int | float | bool] = {"k": rng.choice("abc"), "x": rng.randrange(10)}
    if rng.random() < 0.9:
        attributes["y"] = rng.randrange(10)
    return encode(Event(attributes, b"%d" % number))


def random_script(rng: Random) -> Script:
    size = rng.randint(2, 8)
    brokers = tuple(f"b{i}" for i in range(size))
    links = tuple(sorted((brokers[i], brokers[j]) for i, j in random_tree(size, rng)))
    publishers = [f"p{i}" for i in range(rng.randint(1, 3))]
    subscribers = [f"s{i}" for i in range(rng.randint(1, 4))]
    clients = tuple((name, rng.choice(brokers)) for name in (*publishers, *subscribers))
    steps = [
        *_beginnings(rng, publishers, subscribers),
        *_traffic(rng, publishers),
        *_changes(rng, publishers, subscribers),
        *_trouble(rng, brokers, links, [name for name, _ in clients]),
    ]
    return Script(
        brokers,
        links,
        clients,
        tuple(sorted(steps, key=lambda step: step.at)),
        _weather(rng),
        window=rng.choice((4, 16, 64)),
        most=rng.choice((1, 3, 16)),
        failover=rng.choice((0.0, 0.0, 0.5)),
    )


def _beginnings(rng: Random, publishers: list[str], subscribers: list[str]) -> list[Step]:
    steps = [
        Step(rng.uniform(0, 1), "advertise", name) for name in publishers for _ in range(rng.randint(1, 2))
    ]
    steps += [
        Step(rng.uniform(0, 2), "subscribe", name) for name in subscribers for _ in range(rng.randint(1, 4))
    ]
    if rng.random() < 0.3:  # a publisher that listens
        steps.append(Step(rng.uniform(0, 2), "subscribe", rng.choice(publishers)))
    return steps


def _traffic(rng: Random, publishers: list[str]) -> list[Step]:
    steps = []
    for name in publishers:
        steps += [Step(rng.uniform(0.5, DURATION), "publish", name) for _ in range(rng.randint(5, 30))]
        steps += [Step(rng.uniform(1, DURATION), "burst", name) for _ in range(rng.choice((0, 0, 1, 2)))]
    return steps


def _changes(rng: Random, publishers: list[str], subscribers: list[str]) -> list[Step]:
    much = rng.choice((0, 1, 3))
    kinds = (
        ("subscribe", subscribers, 4),
        ("unsubscribe", subscribers, 4),
        ("advertise", publishers, 1),
        ("unadvertise", publishers, 1),
    )
    return [
        Step(rng.uniform(1, DURATION), kind, rng.choice(names))
        for kind, names, times in kinds
        for _ in range(rng.randint(0, times * much))
    ]


def _trouble(
    rng: Random, brokers: tuple[str, ...], links: tuple[tuple[str, str], ...], clients: list[str]
) -> list[Step]:
    kinds: tuple[tuple[str, list[str], int], ...] = (
        ("crash", list(brokers), 2),
        ("crash in mid-effects", list(brokers), 1),
        ("reset", [""], 4),
        ("move", clients, 2),
        ("abandon", clients, 1),
        ("reconnect", clients, 1),
        ("slow", clients, 1),
    )
    steps = [
        Step(rng.uniform(0.5, DURATION), kind, rng.choice(names))
        for kind, names, times in kinds
        for _ in range(rng.choice((0, 0, times, times, 3 * times)))
    ]
    for kind in ("die", "leave"):
        if rng.random() < 0.1:
            steps.append(Step(rng.uniform(2, DURATION), kind, rng.choice(clients)))
    return steps


def _weather(rng: Random) -> Weather:
    bad = rng.choice((0.0, 0.002, 0.01))
    return Weather(
        slowest=rng.choice((0.005, 0.03, 0.2)),
        late=rng.choice((0.0, 0.01)),
        drop=rng.random() * bad,
        duplicate=rng.random() * 2 * bad,
        reorder=rng.random() * bad,
        split=rng.choice((0.0, 0.3)),
    )
