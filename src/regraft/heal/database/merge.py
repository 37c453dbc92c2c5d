"""Replicas of one record that differ: which is valid, and which databases need it. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from regraft.heal.database.records import BrokerRecord


class Merged(NamedTuple):
    """`stale`: for each database, the records that it needs."""

    records: dict[str, BrokerRecord]
    stale: dict[str, tuple[BrokerRecord, ...]]


def merged(answers: Mapping[str, Mapping[str, BrokerRecord]], holders: Mapping[str, Iterable[str]]) -> Merged:
    """The newest record of each broker among the answers, and which holders do not have it.

    A database that did not answer is left out: it catches up when it is back.
    """
    newest: dict[str, BrokerRecord] = {}
    for records in answers.values():
        for id, record in records.items():
            if id not in newest or record.stamp > newest[id].stamp:
                newest[id] = record
    stale: dict[str, list[BrokerRecord]] = {}
    for id, record in newest.items():
        for database in holders.get(id, ()):
            if database in answers and _older(answers[database].get(id), record):
                stale.setdefault(database, []).append(record)
    return Merged(newest, {database: tuple(records) for database, records in stale.items()})


def _older(one: BrokerRecord | None, newest: BrokerRecord) -> bool:
    return one is None or one.stamp < newest.stamp
