"""What the destination database keeps (Mimosa Pudica §3.2): brokers, the map of paths, rules, adaptations.

The second layer holds these as JSON. A record that does not decode, or holds impossible values, is `Garbled`:
it is refused with the reason, and another replica is asked.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from regraft.model import RegraftError
from regraft.model.intents import Intent

STATES = ("up", "down", "left")
MAX_NOTES = 65_536


class Garbled(RegraftError):
    """A database returned data that no database of ours writes."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class BrokerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`heir`: the broker that serves its clients since it died. `notes` belong to the owner: sessions,
    components.

    Of two records of one broker the one with the higher `stamp` is valid, so replicas agree in the end,
    whatever the order of the writes. `version` counts the writes, `writer` is the database that took the last
    one.
    """

    id: str
    host: str = ""
    port: int = 0
    region: str = ""
    life: int = 0
    state: str = "up"
    heir: str = ""
    notes: dict[str, str] = {}
    version: int = 0
    writer: str = ""

    @property
    def stamp(self) -> tuple[int, str]:
        return self.version, self.writer


class RuleText(msgspec.Struct, frozen=True, kw_only=True):
    """One rule as stored; `version` counts its changes."""

    name: str
    text: str
    version: int = 1


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """All rules, in the order in which they were stored first; `version` counts the changes of the set."""

    version: int = 0
    rules: tuple[RuleText, ...] = ()
    definitions: dict[str, float | str | bool] = {}

    @property
    def text(self) -> str:
        return "\n\n".join(rule.text for rule in self.rules)


class Adaptation(msgspec.Struct, frozen=True, kw_only=True):
    """One adaptation: its cause, its rules and leader, how long its four phases took, and its outcome."""

    id: str
    kind: str
    cause: str
    at: float
    """Seconds since 1970."""
    rules: tuple[str, ...] = ()
    leader: str = ""
    view: int = 0
    intents: tuple[Intent, ...] = ()
    timeout_ms: float = 0.0
    vote_ms: float = 0.0
    election_ms: float = 0.0
    adaptation_ms: float = 0.0
    outcome: str = "done"
    reason: str = ""


class Map(msgspec.Struct, frozen=True, kw_only=True):
    """The tree that all paths follow, as the deployer keeps it in ZooKeeper; `epoch` grows with each
    change."""

    epoch: int = 0
    kind: str = "tree"
    brokers: list[str] = []
    links: list[tuple[str, str]] = []


T = TypeVar("T")


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def decoded(data: bytes | str, type: type[T], place: str) -> T:
    try:
        return msgspec.json.decode(data, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise Garbled(place, f"holds no {type.__name__}: {str(fault).splitlines()[0]}") from None


def broker_record(data: bytes | str, id: str, place: str) -> BrokerRecord:
    return checked(decoded(data, BrokerRecord, f"{place}: broker {id!r}"), id, place)


def checked(record: BrokerRecord, id: str, place: str) -> BrokerRecord:
    """The record, if it is valid and that of broker `id`; otherwise `Garbled`."""
    where = f"{place}: broker {id!r}"
    if record.id != id:
        raise Garbled(where, f"is the record of {record.id!r}")
    if record.state not in STATES:
        raise Garbled(where, f"its state must be one of {', '.join(STATES)}, not {record.state[:20]!r}")
    if not 0 <= record.port < 65_536 or record.life < 0 or record.version < 0:
        raise Garbled(where, "port, life and version must not be negative, and a port is below 65536")
    if sum(len(key) + len(text) for key, text in record.notes.items()) > MAX_NOTES:
        raise Garbled(where, f"its notes are longer than {MAX_NOTES} characters")
    return record


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# Replicas of one record that differ: which is valid, and which databases need it


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
