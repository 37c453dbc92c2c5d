"""The broker as a state machine without input or output: messages in, effects out.

Start with `messages` (what peers say to each other), then `broker` (who reacts to what).
"""

from regraft.broker.core.broker import Broker, Settings
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Report, Send, Store
from regraft.broker.core.relink import Shift

__all__ = ["Broker", "Close", "Dial", "Effect", "Hangup", "Report", "Send", "Settings", "Shift", "Store"]
