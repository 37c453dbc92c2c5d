"""What brokers ask a destination database, and databases ask each other; one connection to ask on.

A frame is a `Call` or an `Answer`; an answer has the number of its call. Garbage ends the connection with a
reason.
"""

import msgspec

from regraft.heal.database.records import Adaptation, BrokerRecord, RuleSet
from regraft.heal.grant import Grant, GrantRequest
from regraft.model import RegraftError
from regraft.wire.frames import Format
from regraft.wire.requests import Away, Caller


class _Ask(msgspec.Struct, frozen=True, kw_only=True, tag_field="ask"):
    pass


class GetGrant(_Ask, frozen=True, kw_only=True, tag="LE"):
    request: GrantRequest


class ReleaseGrant(_Ask, frozen=True, kw_only=True, tag="release"):
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
    GetGrant
    | ReleaseGrant
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


class DatabaseAnswer(msgspec.Struct, frozen=True, kw_only=True):
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


def trouble(reason: str) -> DatabaseAnswer:
    """This database cannot do it now; another one may."""
    return DatabaseAnswer(number=0, refused=reason, again=True)


LARGEST = 8 << 20
ASKED: Format[Call, DatabaseAnswer] = Format(Call, LARGEST)
"""The database's end of a connection."""
ASKING: Format[DatabaseAnswer, Call] = Format(DatabaseAnswer, LARGEST)
"""The asker's end."""


class DatabaseAway(RegraftError):
    """This database does not answer, or answers garbage; another one may know."""


class DatabaseConnection:
    """Connects at the first call; there may be many calls at a time. `place` names it in messages.

    On failure: a call that is not answered in time, or is answered with garbage, or whose connection ends,
    raises `DatabaseAway` with the reason; the next call connects again.
    """

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.place = f"database at {host}:{port}"
        self._caller = Caller((host, port), ASKING, lambda answer: answer.number)

    async def call(self, ask: Ask, seconds: float) -> DatabaseAnswer:
        try:
            return await self._caller.call(lambda number: Call(number, ask), seconds)
        except TimeoutError:
            raise DatabaseAway(f"{self.place}: no answer in {seconds:g} s") from None
        except Away as fault:
            raise DatabaseAway(f"{self.place}: {fault}") from None

    def close(self) -> None:
        self._caller.close()
