"""Carries the plans of repairs out, one after the other: an overlay has one run at a time.

On failure: a plan that does not fit any more is made again from the current topology; a run whose deployer
has died is finished first, whichever process began it; while ZooKeeper is away, repairs wait. A run of the
loop gives way: it is asked to stop after the changes that have begun.
"""

from collections.abc import Callable
from contextlib import suppress

from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.requests import Execute, ExecutionLimits, FinishOthers, ReadTopology
from regraft.heal.core.tasks import Signal, sleep
from regraft.model import Plan, RegraftError, Topology

PAUSE = 0.05
Make = Callable[[Topology], Plan | None]


class Repairs:
    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._busy: Signal[None] | None = None

    async def carry_out(self, make: Make, limits: ExecutionLimits, seconds: float) -> str:
        """Repeats until `make` has nothing left to do (None) or the time is over; returns why it is not
        done."""
        deadline = self._known.now + seconds
        while True:
            while self._busy is not None:
                await self._busy.within()
            ours = self._busy = Signal()
            try:
                reason = await self._once(make, limits)
            finally:
                self._busy = None
                ours.give(None)
            if reason is None:
                return ""
            if self._known.now > deadline:
                return reason or "no time left"
            if reason:
                await sleep(PAUSE * (0.5 + self._known.random.random()))

    async def _once(self, make: Make, limits: ExecutionLimits) -> str | None:
        """None: there is nothing to do. Empty: a plan was carried out. Otherwise why it was not."""
        try:
            topology = await ReadTopology()
            plan = make(topology) if topology is not None else None
            return await Execute(plan, limits) if plan is not None else None
        except RegraftError as fault:
            reason = str(fault)
        with suppress(RegraftError):  # the reason is known, and it is tried again
            await FinishOthers(limits)
        return reason
