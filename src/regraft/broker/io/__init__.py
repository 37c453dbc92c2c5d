"""The broker's shell: asyncio, sockets, the journal, telemetry, metrics. It acts and decides nothing."""

from regraft.broker.io.configuration import Address, Allowed, Configuration, Telemetry, Tls, Tokens
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.running import run
from regraft.broker.io.server import BrokerServer

__all__ = [
    "Address",
    "Allowed",
    "BrokerServer",
    "Configuration",
    "Overlay",
    "Telemetry",
    "Tls",
    "Tokens",
    "run",
]
