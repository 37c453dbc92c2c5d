"""What brokers ask a destination database, and databases ask each other.

A frame is a `Call` or an `Answer`; an answer has the number of its call. Garbage ends the connection with a
reason.
"""

import msgspec

from regraft.heal.database.records import Adaptation, BrokerRecord, RuleSet
from regraft.heal.grant import Grant, Request
from regraft.wire.frames import Format


class _Ask(msgspec.Struct, frozen=True, kw_only=True, tag_field="ask"):
    pass


class AskGrant(_Ask, frozen=True, kw_only=True, tag="LE"):
    request: Request


class Release(_Ask, frozen=True, kw_only=True, tag="release"):
    grant: str


class GetBrokers(_Ask, frozen=True, kw_only=True, tag="get brokers"):
    """No ids: all. `here`: what this database has itself, for a peer that puts the whole together."""

    ids: tuple[str, ...] = ()
    here: bool = False


class PutBroker(_Ask, frozen=True, kw_only=True, tag="put broker"):
    record: BrokerRecord


class Keep(_Ask, frozen=True, kw_only=True, tag="keep"):
    """From a peer: records, documents and adaptations to be stored as they are."""

    brokers: tuple[BrokerRecord, ...] = ()
    documents: dict[str, str] = {}
    adaptations: tuple[Adaptation, ...] = ()


class GetDocument(_Ask, frozen=True, kw_only=True, tag="get document"):
    name: str


class GetRules(_Ask, frozen=True, kw_only=True, tag="get rules"):
    """Answered when the set is newer than `since`, or after `wait` seconds."""

    since: int = -1
    wait: float = 0.0


class PutRules(_Ask, frozen=True, kw_only=True, tag="put rules"):
    """Instead of the set of version `expected`."""

    rules: RuleSet
    expected: int


class PutAdaptation(_Ask, frozen=True, kw_only=True, tag="put adaptation"):
    adaptation: Adaptation


class GetAdaptations(_Ask, frozen=True, kw_only=True, tag="get adaptations"):
    most: int = 100
    here: bool = False


Ask = (
    AskGrant
    | Release
    | GetBrokers
    | PutBroker
    | Keep
    | GetDocument
    | GetRules
    | PutRules
    | PutAdaptation
    | GetAdaptations
)


class Call(msgspec.Struct, frozen=True):
    number: int
    ask: Ask


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`refused`: why not; one of the others otherwise, or none of them: it is done."""

    number: int
    refused: str = ""
    again: bool = False
    """The refusal is the database's trouble, not the asker's: another one may do it."""
    grant: Grant | None = None
    brokers: tuple[BrokerRecord, ...] = ()
    document: str | None = None
    rules: RuleSet | None = None
    adaptations: tuple[Adaptation, ...] = ()
    copies: int = 0
    """Databases that have what was put."""


def trouble(reason: str) -> Answer:
    """Not this database, not now."""
    return Answer(number=0, refused=reason, again=True)


LARGEST = 8 << 20
ASKED: Format[Call, Answer] = Format(Call, LARGEST)
"""The end of a database."""
ASKING: Format[Answer, Call] = Format(Answer, LARGEST)
"""The end of those who ask it."""
