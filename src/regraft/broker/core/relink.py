"""The participant's part in a change of links."""

from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.tables import Tables


class Relink:
    def __init__(self, broker: str, tables: Tables, forwarding: Forwarding) -> None:
        self.broker = broker
        self.tables = tables
        self.forwarding = forwarding
