"""Which databases hold a broker's record: at least two, evenly spread, near the broker, with few moves. Pure.

The first layer keeps the answer (`Placement`); it changes when brokers come, and when a database has been
away for too long and its records are copied elsewhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

REPLICAS = 2

Holders = Mapping[str, tuple[str, ...]]
"""For each broker, the databases that have its record."""


def placed(
    brokers: Mapping[str, str], databases: Mapping[str, str], before: Holders, replicas: int = REPLICAS
) -> dict[str, tuple[str, ...]]:
    """The holders of each broker's record. Both mappings give regions; `databases` are the running ones.

    Replicas at running databases stay. A missing one goes to the broker's own region if that has none yet,
    otherwise to the database with the fewest records.
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
    """For each database, the brokers whose records it has to get."""
    moves: dict[str, list[str]] = {}
    for broker, holders in after.items():
        for database in holders:
            if database not in before.get(broker, ()):
                moves.setdefault(database, []).append(broker)
    return {database: tuple(sorted(brokers)) for database, brokers in moves.items()}


def asked(
    missing: Iterable[str], holders: Holders, me: str, tried: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """By database, the missing brokers to ask it for: each at its first holder that was not tried yet."""
    passed_over = {me, *tried}
    plan: dict[str, list[str]] = {}
    for broker in missing:
        whom = next((each for each in holders.get(broker, ()) if each not in passed_over), None)
        if whom is not None:
            plan.setdefault(whom, []).append(broker)
    return {database: tuple(brokers) for database, brokers in plan.items()}
