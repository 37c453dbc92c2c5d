"""Publisher and subscriber for applications: `async with connect("host:port") as c`.

`regraft.client.sync` is the same without `await`.
"""

from regraft.broker.core.events import Event
from regraft.client.errors import Closed, NotAdvertised, Refused, Unreachable
from regraft.client.session import Session, connect
from regraft.client.subscription import Subscription

__all__ = ["Closed", "Event", "NotAdvertised", "Refused", "Session", "Subscription", "Unreachable", "connect"]
