"""Publisher and subscriber for applications: `async with connect("host:port") as c`.

`regraft.client.sync` is the same without `await`. All that an application may have to handle is here.
"""

from regraft.client.errors import Closed, Misuse, NotAdvertised, NotConnected, Refused, TimedOut, Unreachable
from regraft.client.session import Session, connect
from regraft.client.subscription import Subscription
from regraft.filters import BadFilter
from regraft.model import BadInput, RegraftError
from regraft.protocol.events import Event

__all__ = [
    "BadFilter",
    "BadInput",
    "Closed",
    "Event",
    "Misuse",
    "NotAdvertised",
    "NotConnected",
    "Refused",
    "RegraftError",
    "Session",
    "Subscription",
    "TimedOut",
    "Unreachable",
    "connect",
]
