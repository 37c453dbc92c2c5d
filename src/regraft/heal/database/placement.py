"""Which database holds which brokers: at least two each, evenly, near where they are, with few moves. Pure.

The first layer keeps the answer (`Placement`); it changes when brokers come, and when a database has been
away for so long that what it held has to be copied elsewhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

REPLICAS = 2

Holders = Mapping[str, tuple[str, ...]]
"""Of each broker: the databases that have its record."""


def placed(
    brokers: Mapping[str, str], databases: Mapping[str, str], before: Holders, replicas: int = REPLICAS
) -> dict[str, tuple[str, ...]]:
    """Who holds each broker. Both mappings give regions; `databases` are those that live.

    What is held by living databases stays where it is. A missing replica goes to a database of the broker's
    own region if that one has none yet, then to the one that holds the fewest.
    """
    load = Counter(dict.fromkeys(databases, 0))
    kept = {broker: tuple(each for each in before.get(broker, ()) if each in databases) for broker in brokers}
    load.update(each for holders in before.values() for each in holders if each in databases)
    for broker, region in brokers.items():
        while len(kept[broker]) < min(replicas, len(databases)):
            others = [each for each in databases if each not in kept[broker]]
            at_home = any(databases[each] == region for each in kept[broker])
            best = min(others, key=lambda each: (at_home or databases[each] != region, load[each], each))
            kept[broker] += (best,)
            load[best] += 1
    return kept


def lacking(before: Holders, after: Holders) -> dict[str, tuple[str, ...]]:
    """By database: the brokers that it has to get a copy of."""
    moves: dict[str, list[str]] = {}
    for broker, holders in after.items():
        for database in holders:
            if database not in before.get(broker, ()):
                moves.setdefault(database, []).append(broker)
    return {database: tuple(sorted(brokers)) for database, brokers in moves.items()}


def asked(
    missing: Iterable[str], holders: Holders, me: str, tried: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """What to ask whom: each missing broker at the first of its holders that has not been tried yet."""
    passed_over = {me, *tried}
    plan: dict[str, list[str]] = {}
    for broker in missing:
        whom = next((each for each in holders.get(broker, ()) if each not in passed_over), None)
        if whom is not None:
            plan.setdefault(whom, []).append(broker)
    return {database: tuple(brokers) for database, brokers in plan.items()}
