"""Who publishes and who subscribes, by the demands of SNDlib's network cost266 (data/LICENCE.md).

The cities with the largest demands publish, at rates in proportion to them; every city subscribes to the
publishers whose demand towards it is largest. The topic of an event is the city that publishes it.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from regraft.model.traffic import Traffic, TrafficClass, merged

PUBLISHERS = 12
WANTED = 4
"""How many publishers a city subscribes to."""


class Workload(NamedTuple):
    """`rates`: events a second of each publishing city. `wants`: the topics that each city subscribes to."""

    rates: dict[str, float]
    wants: dict[str, tuple[str, ...]]

    @property
    def rate(self) -> float:
        return sum(self.rates.values())


@cache
def demands() -> Mapping[str, Mapping[str, float]]:
    """The demand from each city to each other city."""
    text = (files("regraft.demo") / "data" / "cost266.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)
    return found


def workload(
    cities: Iterable[str], rate: float, publishers: int = PUBLISHERS, wanted: int = WANTED
) -> Workload:
    """The traffic among these cities. `rate`: events a second of all publishers together."""
    known = [city for city in cities if city in demands()]
    total = {city: sum(demands()[city][other] for other in known if other != city) for city in known}
    chosen = sorted(known, key=lambda city: (-total[city], city))[:publishers]
    of_all = sum(total[city] for city in chosen)
    wants = {
        city: tuple(
            sorted(
                (each for each in chosen if each != city), key=lambda each: (-demands()[each][city], each)
            )[:wanted]
        )
        for city in known
    }
    return Workload({city: rate * total[city] / of_all for city in chosen}, wants)


def classes(work: Workload) -> Traffic:
    """The same as traffic classes, one for each publisher: the brokers that its events concern."""
    return merged(
        TrafficClass(
            frozenset({city, *(each for each, wanted in work.wants.items() if city in wanted)}), rate
        )
        for city, rate in work.rates.items()
    )


def filter_of(wanted: Iterable[str]) -> str:
    """The filter of a subscriber to these cities."""
    return "topic IN ({})".format(", ".join(f"'{city}'" for city in wanted))
