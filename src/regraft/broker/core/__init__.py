"""The broker as a state machine without input or output: messages in, effects out.

Start with `protocol.messages` (what peers say to each other), then `broker` (how a broker reacts to it).
"""

from regraft.broker.core.broker import Broker
from regraft.broker.core.change import Change, shift
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Report, Send, Store
from regraft.broker.core.interface import Core, Inspection
from regraft.broker.core.settings import BrokerSettings

__all__ = [
    "Broker",
    "BrokerSettings",
    "Change",
    "Close",
    "Core",
    "Dial",
    "Effect",
    "Hangup",
    "Inspection",
    "Report",
    "Send",
    "Store",
    "shift",
]
