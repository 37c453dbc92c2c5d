"""Errors that an application may have to handle: each is a `RegraftError`, and its text says what to do.

`BadInput` and its kind `BadFilter` (from `regraft.model` and `regraft.filters`) belong to it too: they are
raised for arguments that break a rule.
"""

from typing import NoReturn

from regraft.model import RegraftError

ENDED = "the session has ended: call `connect` for a new one"
BLOCKING = "this is the client for `async` programs: write `async {}`, or import `regraft.client.sync`"
AWAITED = "this is the client without `await`: write `{}` without `async`, or import `regraft.client`"


class Misuse(RegraftError):
    """A method that is called in the wrong place: the program has to change."""


class NotConnected(Misuse):
    """A session that is used outside of its `with` block."""


class Closed(RegraftError):
    """The session or subscription has ended."""


class Refused(RegraftError):
    """The broker refuses a filter, a publication or the connection, and says why."""


class NotAdvertised(Refused):
    """A publication that none of the client's advertisements announces."""


class TimedOut(RegraftError, TimeoutError):
    """What was waited for did not happen in time; the text says how the connection is."""


class Unreachable(TimedOut):
    """No broker let us in in time; or, at the end of a session, none acknowledged what was left."""


def refused(reason: str) -> Refused:
    if reason == "not advertised":
        return NotAdvertised(
            "the event matches nothing that this session has advertised: advertise a filter that it matches"
        )
    return Refused(reason)


class OnlyAsync:
    """Says what to do when `with` or `for` is used where `async with` or `async for` belongs.

    A base of the sessions and subscriptions for asynchronous programs: Python's own message does not help."""

    def __enter__(self) -> NoReturn:
        raise Misuse(BLOCKING.format("with"))

    def __exit__(self, *_: object) -> None: ...

    def __iter__(self) -> NoReturn:
        raise Misuse(BLOCKING.format("for"))


class OnlyBlocking:
    """The same for programs without `await`, the other way round."""

    async def __aenter__(self) -> NoReturn:
        raise Misuse(AWAITED.format("with"))

    async def __aexit__(self, *_: object) -> None: ...

    def __aiter__(self) -> NoReturn:
        raise Misuse(AWAITED.format("for"))
