"""The cycle measure → evaluate → design → plan → approve → deploy → verify (IPITT §IV-A, OCBR §3).

`step(state, event) -> (state, commands)` decides; the runtime in `serve` does what the commands say and comes
back with events. Nothing here knows a clock, a network, Spark or ZooKeeper: times stand in the events.
`phases` draws the cycle.
"""

from regraft.loop.policy import Policy
from regraft.loop.state import State
from regraft.loop.step import step

__all__ = ["Policy", "State", "step"]
