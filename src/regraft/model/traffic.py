"""The application's demand as values: traffic classes (OCBR §2).

A class is a set of brokers whose clients exchange messages, each message published at one of them
and delivered at all the others; which of them publishes does not change the cost. `demand` counts
those messages. A class of one broker stays at that broker: it crosses no link.
"""

from collections.abc import Iterable
from typing import NamedTuple

from regraft.model.errors import BadInput


class TrafficClass(NamedTuple):
    """The brokers whose clients exchange messages, and how many messages."""

    members: frozenset[str]
    demand: float


Traffic = tuple[TrafficClass, ...]


def merged(classes: Iterable[TrafficClass]) -> Traffic:
    """Each member set once, with the sum of its demands, in the order of first mention.

    Classes without demand are left out: nothing is sent for them.
    """
    total: dict[frozenset[str], float] = {}
    for members, demand in classes:
        total[members] = total.get(members, 0.0) + demand
    return tuple(TrafficClass(members, demand) for members, demand in total.items() if demand > 0)


def check_members(traffic: Iterable[TrafficClass], known: Iterable[str]) -> None:
    """Every member is a known broker; `BadInput` names the first class that has another."""
    brokers = frozenset(known)
    for index, (members, _) in enumerate(traffic):
        if not members <= brokers:
            unknown = min(members - brokers)
            raise BadInput(f"classes[{index}].members", f"unknown broker id {unknown!r}")
