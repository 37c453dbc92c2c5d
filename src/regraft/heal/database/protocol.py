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
    """Without ids: all brokers. `here`: only from this database's own store, for a peer."""

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
    """Replaces the set of version `expected`; refused if that is not the current one."""

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
    """`refused`: why the request was refused. Otherwise another field may hold a result."""

    number: int
    refused: str = ""
    again: bool = False
    """The request is not at fault but this database: another one may accept it."""
    grant: Grant | None = None
    brokers: tuple[BrokerRecord, ...] = ()
    document: str | None = None
    rules: RuleSet | None = None
    adaptations: tuple[Adaptation, ...] = ()
    copies: int = 0
    """How many databases have stored what was put."""


def trouble(reason: str) -> Answer:
    """This database cannot do it now; another one may."""
    return Answer(number=0, refused=reason, again=True)


LARGEST = 8 << 20
ASKED: Format[Call, Answer] = Format(Call, LARGEST)
"""The database's end of a connection."""
ASKING: Format[Answer, Call] = Format(Answer, LARGEST)
"""The asker's end."""
