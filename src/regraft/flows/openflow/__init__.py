"""OpenFlow 1.3 on the wire: the few messages that installing rules needs. Bytes in, values out; no sockets.

A full library spends most of its time on what is not needed here: docs/decisions says what was compared.
"""

from regraft.flows.openflow.codec import read_flow_stats, write_flow_mod, write_flow_stats_request
from regraft.flows.openflow.session import Event, Failed, Finished, Garbage, Held, Ready, Session

__all__ = [
    "Event",
    "Failed",
    "Finished",
    "Garbage",
    "Held",
    "Ready",
    "Session",
    "read_flow_stats",
    "write_flow_mod",
    "write_flow_stats_request",
]
