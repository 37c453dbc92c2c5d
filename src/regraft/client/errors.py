"""What an application may have to handle."""

from regraft.model import RegraftError


class Refused(RegraftError):
    """The broker refuses a filter, a publication or the connection, and says why."""


class NotAdvertised(Refused):
    """A publication that none of the client's advertisements announces."""


class Unreachable(RegraftError):
    """None of the addresses answers."""


class NotInPlace(RegraftError):
    """A filter was not in place in time; says what it waits for, if the broker did."""


class Closed(RegraftError):
    """The session has ended."""


def refused(reason: str) -> Refused:
    return NotAdvertised(reason) if reason == "not advertised" else Refused(reason)
