"""What the demo's traffic is, and a ledger that counts what becomes of it. No clock, no network.

Cities publish readings, subscribers want some of them by content. The ledger knows what every subscriber is
due from plain predicates of its own, not from the filters that the brokers route by.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from regraft.protocol.events import Value

Reading = dict[str, Value]
PUBLISHERS = ("London", "Madrid", "Istanbul", "Vienna", "Amsterdam", "Bucharest", "Marseille", "Milan")


class Interest(NamedTuple):
    """A subscriber in a city: its filter, and the same as the ledger understands it."""

    city: str
    filter: str
    wants: Callable[[Reading], bool]


INTERESTS = (
    Interest("Frankfurt", "TRUE", lambda at: True),
    Interest("Dublin", "kind = 'alarm'", lambda at: at["kind"] == "alarm"),
    Interest("Roma", "load > 90", lambda at: int(at["load"]) > 90),
    Interest("Lyon", "city IN ('Madrid', 'Milan')", lambda at: at["city"] in ("Madrid", "Milan")),
    Interest(
        "Kiev",
        "load >= 20 AND load <= 50 AND city LIKE '%m'",
        lambda at: 20 <= int(at["load"]) <= 50 and str(at["city"]).endswith("m"),
    ),
    Interest(
        "Lisbon",
        "kind = 'alarm' OR city = 'Istanbul'",
        lambda at: at["kind"] == "alarm" or at["city"] == "Istanbul",
    ),
)


def reading(city: str, number: int) -> Reading:
    """What a city publishes as its message of this number."""
    load = (number * 37 + len(city) * 11) % 100
    return {"city": city, "kind": "alarm" if number % 10 == 0 else "load", "load": load, "number": number}


class Counts(NamedTuple):
    """Deliveries, counted end to end."""

    published: int
    due: int
    delivered: int
    lost: int
    repeated: int
    reordered: int
    unwanted: int

    @property
    def flawless(self) -> bool:
        return not (self.lost or self.repeated or self.reordered or self.unwanted)


class Arrival(NamedTuple):
    publisher: str
    number: int
    at: float


class Ledger:
    """Every message published and every delivery, with their times."""

    def __init__(self, interests: tuple[Interest, ...] = INTERESTS) -> None:
        self.interests = interests
        self.published: dict[tuple[str, int], tuple[Reading, float]] = {}
        self.arrivals: dict[str, list[Arrival]] = {interest.city: [] for interest in interests}

    def publishes(self, publisher: str, number: int, what: Reading, at: float) -> None:
        self.published[publisher, number] = what, at

    def arrived(self, subscriber: str, publisher: str, number: int, at: float) -> None:
        self.arrivals[subscriber].append(Arrival(publisher, number, at))

    @property
    def deliveries(self) -> int:
        return sum(map(len, self.arrivals.values()))

    def counts(self) -> Counts:
        due = delivered = repeated = reordered = unwanted = 0
        for interest in self.interests:
            wanted = {key for key, (what, _) in self.published.items() if interest.wants(what)}
            seen: set[tuple[str, int]] = set()
            highest: dict[str, int] = defaultdict(lambda: -1)
            for publisher, number, _ in self.arrivals[interest.city]:
                if (publisher, number) in seen:
                    repeated += 1
                elif number < highest[publisher]:
                    reordered += 1
                highest[publisher] = max(highest[publisher], number)
                seen.add((publisher, number))
            due += len(wanted)
            delivered += len(wanted & seen)
            unwanted += len(seen - wanted)
        return Counts(len(self.published), due, delivered, due - delivered, repeated, reordered, unwanted)

    def slowest(self, begun: float, ended: float) -> float:
        """Seconds of the slowest delivery that was on its way at some time between the two."""
        return max(
            (
                each.at - sent
                for arrivals in self.arrivals.values()
                for each in arrivals
                if (sent := self.published[each.publisher, each.number][1]) < ended and each.at > begun
            ),
            default=0.0,
        )
