"""Writes that are sent again after a lost connection, and how to find out whether the first one happened.

Every write is one transaction of ZooKeeper's (all or nothing). When its answer is lost:

1. A transaction with a sequential create is looked for first: a unique name (a guid) is part of each
   sequential node's name, so it is found among the children if it happened. Then it is not sent again.
2. Everything else is sent again. A create, a delete and a write with a version cannot happen twice, so
   the second one is answered with a conflict if the first has happened, or if another client has written.
3. Which of the two it was, the nodes tell: each operation's node is read and compared with what that
   operation would have left behind (for a write: our data at the version that follows the expected one;
   for an ephemeral node: our session as its owner). All as left behind: it happened, and that is the
   answer. One that cannot have come from us: it did not happen, a `Conflict`. Neither: `Unknown`.

Two writers that write the same bytes to the same version cannot be told apart, and need not be. Where it
matters, put the writer's name into the data, or hold a lease and `Check` it in the transaction.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)

from regraft.coord.errors import Conflict, CoordError, Denied, Exists, Missing, TooLarge
from regraft.coord.values import Check, Create, Delete, Node, Operation, Set

MOST_BYTES = 1_000_000
"""Limit of one request; a server closes the connection at 2^20 - 1 (jute.maxbuffer)."""
OVERHEAD_BYTES = 200
"""What one operation needs in addition to path and data: headers and the ACL."""
SEQUENCE_DIGITS = 10

Result = str | Node | None
"""The result of a Create is its path, of a Set the node, of a Delete or Check None."""


class Seen(Enum):
    """What a node tells about an operation whose answer was lost."""

    DONE = "done"
    NOT_DONE = "not done"
    EITHER = "either"


def check_size(operations: Sequence[Operation]) -> None:
    sizes = [
        OVERHEAD_BYTES + len(one.path.encode()) + (len(one.data) if isinstance(one, Create | Set) else 0)
        for one in operations
    ]
    if sum(sizes) > MOST_BYTES:
        largest = max(range(len(sizes)), key=sizes.__getitem__)
        raise TooLarge(operations[largest].path, sum(sizes), MOST_BYTES)


def begin(client: KazooClient, operations: Sequence[Operation]) -> Any:
    """The request; sequential names are made unique by the caller."""
    request = client.transaction()
    for one in operations:
        match one:
            case Create():
                request.create(one.path, one.data, ephemeral=one.ephemeral, sequence=one.sequence)
            case Set():
                request.set_data(one.path, one.data, one.version)
            case Delete():
                request.delete(one.path, one.version)
            case Check():
                request.check(one.path, one.version)
    return request.commit_async()


def results(operations: Sequence[Operation], answers: Sequence[Any]) -> list[Result]:
    """The server's answers as values. If an operation failed, it is raised as a `CoordError`."""
    for one, answer in zip(operations, answers, strict=True):
        if isinstance(answer, Exception) and not isinstance(answer, RolledBackError | RuntimeInconsistency):
            raise fault_of(answer, one)
    for answer in answers:
        if isinstance(answer, Exception):
            raise CoordError(f"{operations[0].path}: the transaction was rolled back")
    return [_result(one, answer) for one, answer in zip(operations, answers, strict=True)]


def _result(one: Operation, answer: Any) -> Result:
    match one:
        case Create():
            return str(answer)
        case Set():
            return node_of(one.data, answer)
    return None


def node_of(data: bytes, stat: Any) -> Node:
    return Node(data, stat.version, stat.ephemeralOwner, stat.czxid, stat.mzxid)


def fault_of(answer: Exception, one: Operation) -> CoordError:
    """kazoo's fault of one operation as a `CoordError`."""
    path = one.path
    match answer:
        case NodeExistsError():
            return Exists(path)
        case NoNodeError():
            return Missing(parent(path) if isinstance(one, Create) else path)
        case BadVersionError():
            return Conflict(path, f"is no longer at version {getattr(one, 'version', '?')}")
        case NotEmptyError():
            return Conflict(path, "has children")
        case NoChildrenForEphemeralsError():
            return Conflict(parent(path), "is ephemeral and can have no children")
        case _:
            return plain_fault(answer, path)


def plain_fault(answer: BaseException, path: str) -> CoordError:
    if isinstance(answer, NoAuthError):
        return Denied(path, "this client's identity is not allowed to do that (ACL)")
    name = type(answer).__name__ if isinstance(answer, KazooException) else repr(answer)
    return CoordError(f"{path}: ZooKeeper answered {name}")


def seen(one: Operation, node: Node | None, session_id: int | None) -> Seen:
    """Whether `one` has happened, from its node as it is now. For a Create with its final name."""
    match one:
        case Create():
            return _seen_create(one, node, session_id)
        case Set():
            if node is None or (one.version >= 0 and node.version > one.version + 1):
                return Seen.EITHER  # written over, or deleted, after it happened or before
            as_left = node.data == one.data and (one.version < 0 or node.version == one.version + 1)
            return Seen.DONE if as_left else Seen.NOT_DONE
        case Delete():
            return Seen.DONE if node is None else Seen.EITHER
    return Seen.DONE  # a Check leaves nothing behind


def _seen_create(one: Create, node: Node | None, session_id: int | None) -> Seen:
    if node is None:
        return Seen.EITHER  # it existed a moment ago (`Exists`), so another client has deleted it since
    if one.ephemeral:
        return Seen.DONE if node.ephemeral_owner == session_id else Seen.NOT_DONE
    if node.ephemeral_owner:
        return Seen.NOT_DONE
    if node.version > 0:
        return Seen.EITHER
    return Seen.DONE if node.data == one.data else Seen.NOT_DONE


def together(sights: Sequence[Seen]) -> Seen:
    """For the whole transaction: if one operation did not happen, none did."""
    if Seen.NOT_DONE in sights:
        return Seen.NOT_DONE
    return Seen.EITHER if Seen.EITHER in sights else Seen.DONE


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def sequence_of(name: str) -> int:
    """The number that ZooKeeper gave to a sequential node."""
    return int(name[-SEQUENCE_DIGITS:])
