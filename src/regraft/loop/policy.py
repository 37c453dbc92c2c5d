"""How bold the loop is: what an operator sets. One unit of price is one message over one link or broker."""

from typing import Literal

import msgspec

from regraft.loop.maintenance import Slot

Mode = Literal["observe", "propose", "automatic"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """None where a number says how many: no limit."""

    window_seconds: float = 60.0
    """Δt of OCBR §3."""
    settle_seconds: float = 2.0
    """After the end of a window, until the brokers have written what they know of it."""
    least_publications: int = 100
    """A window with fewer says nothing about the traffic."""
    confirm: int = 3
    """Windows in a row in which a candidate has to gain, the one it was designed in among them."""
    least_gain: float = 0.05
    """Of the first goal that a candidate improves, relative."""
    tolerance: float = 0.005
    """A goal that is worse by less than this share counts as kept."""
    payback_windows: float = 20.0
    """What is saved in so many windows has to be more than the price of the change."""
    action_price: float = 50.0
    buffered_price: float = 1.0
    """Of a message that waits while a link is changed."""
    action_seconds: float = 0.1
    """That a link change takes, for the messages that wait meanwhile."""
    cool_down_seconds: float = 180.0
    """After a change of the topology, until the next one may be designed."""
    memory_seconds: float = 3600.0
    """So long a change is remembered: undoing it needs twice the gain, undoing two of them four times."""
    max_actions: int | None = None
    """Of one plan."""
    actions_per_hour: int | None = None
    transformations_per_hour: int | None = None
    maintenance: tuple[Slot, ...] = ()
    """When automatic changes may happen; none: always."""
    heal: bool = True
    """Intents of healing are carried out at once, in every mode but observe; otherwise a person is asked."""
    back_off_seconds: float = 5.0
    """After a failure; doubled with every further one."""
    longest_back_off_seconds: float = 300.0
