"""Leader election among the brokers of a group (Mimosa Pudica §3.3, Algorithm 1). Sans-IO.

Events in, effects out, time is an argument: `core.Elections`. See docs/healing.md and decision 15.
"""

from regraft.heal.election.ballot import ElectionSettings
from regraft.heal.election.core import Elections
from regraft.heal.election.effects import Act, Choose, Effect, GaveUp, Learned, Send
from regraft.heal.election.messages import (
    Accepted,
    Decided,
    Decision,
    GroupInfo,
    Message,
    NewLeader,
    Vote,
    decode,
    encode,
)

__all__ = [
    "Accepted",
    "Act",
    "Choose",
    "Decided",
    "Decision",
    "Effect",
    "ElectionSettings",
    "Elections",
    "GaveUp",
    "GroupInfo",
    "Learned",
    "Message",
    "NewLeader",
    "Send",
    "Vote",
    "decode",
    "encode",
]
