"""Living brokers that healing removes, counted for the whole overlay.

Groups that share no broker decide at the same time, and none of them knows what the others do; `heal.limits`
counts what one node has seen.

One value in ZooKeeper, changed by compare-and-set. Only removals of the living are written there: those that
can wait, and that a faulty rule could ask for everywhere at once.
"""

import msgspec

from regraft.coord import Conflict, Coord, Layout, Missing
from regraft.coord.typed import read, write
from regraft.heal.limits import RemovalLimits
from regraft.model.record import Record


class Removals(Record, frozen=True, kw_only=True):
    """Brokers and when, in seconds since 1970."""

    living: dict[str, float] = msgspec.field(default_factory=dict)


async def claim(coord: Coord, layout: Layout, broker: str, limits: RemovalLimits, now: float) -> str:
    """Empty: this living broker may be removed, and counts. Otherwise why it may not."""
    path = f"{layout.root}/heal/removals"
    while True:
        stored = await read(coord, path, Removals)
        known = stored.value.living if stored is not None else {}
        recent = {id: at for id, at in known.items() if abs(now - at) < limits.window}
        if broker in recent:
            return ""
        if len(recent) >= limits.healthy:
            others = ", ".join(sorted(recent))
            return f"{broker} lives, and {others} was removed within {limits.window:g} s: that is the limit"
        try:
            after = Removals(living={**recent, broker: now})
            await write(coord, path, after, stored.node if stored is not None else None)
            return ""
        except Missing:
            raise
        except Conflict:  # another leader was faster
            continue
