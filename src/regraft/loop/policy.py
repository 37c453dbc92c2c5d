"""How bold the loop is: what an operator sets. A price of 1 is one message over one link or broker."""

from typing import Literal

import msgspec

from regraft.loop.maintenance import Slot

Mode = Literal["observe", "propose", "automatic"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that is None does not apply."""

    window_seconds: float = 60.0
    """Δt of OCBR §3."""
    settle_seconds: float = 4.0
    """How long to wait after the end of a window, until the brokers have written their telemetry of it."""
    least_publications: int = 100
    """A window with fewer publications says too little about the traffic."""
    confirm: int = 3
    """In how many consecutive windows a candidate has to gain, including the one it was designed in."""
    least_gain: float = 0.05
    """The share by which a candidate has to improve the first goal that it improves."""
    gain_errors: float = 1.96
    """A gain of the routing cost has to be more than this many of its standard errors, where the traffic is
    estimated from a sample: otherwise it may be chance."""
    tolerance: float = 0.005
    """A goal that is worse by less than this share counts as kept."""
    payback_windows: float = 20.0
    """What a change saves in this many windows has to be more than its price."""
    action_price: float = 50.0
    buffered_price: float = 1.0
    """The price of a message that waits while a link is changed."""
    action_seconds: float = 0.1
    """How long a link change takes, to estimate how many messages wait meanwhile."""
    cool_down_seconds: float = 180.0
    """How long after a change of the topology the next one may be designed."""
    memory_seconds: float = 3600.0
    """How long a change is remembered: undoing it needs twice the gain, undoing two of them four times."""
    max_actions: int | None = None
    """How many actions a plan may have."""
    actions_per_hour: int | None = None
    transformations_per_hour: int | None = None
    maintenance: tuple[Slot, ...] = ()
    """When automatic changes may happen; without slots, always."""
    heal: bool = True
    """Intents of healing are carried out at once, in every mode but observe; otherwise a person is asked."""
    back_off_seconds: float = 5.0
    """How long to wait after a failure; doubled with every further one."""
    longest_back_off_seconds: float = 300.0
