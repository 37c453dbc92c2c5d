"""Publisher and subscriber for applications: `async with connect("host:port") as c`.

`regraft.client.sync` is the same without `await`.
"""

from regraft.client.errors import Closed, NotAdvertised, Refused, Unreachable
from regraft.client.session import Session, connect
from regraft.client.subscription import Subscription
from regraft.protocol.events import Event

__all__ = ["Closed", "Event", "NotAdvertised", "Refused", "Session", "Subscription", "Unreachable", "connect"]
