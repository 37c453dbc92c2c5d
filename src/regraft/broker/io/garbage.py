"""Garbage collection that never stops a broker for long.

Nearly everything that a broker drops is freed at once, by its count of references. The collector is for
cycles, and to find them it walks over everything that was made since its last walk, and in the end over
everything: tens of milliseconds for each 100,000 filters. So only new objects are looked at; those that have
become old are set aside, and looked at again when the process has nothing else to do.
"""

import asyncio
import gc
import time

EVERY_SECONDS = 0.25
IDLE = 0.02
"""A process that computes for a smaller part of the time is idle."""
IDLE_ROUNDS = 8
GROWTH = 1.5
"""Everything is looked at again when it has grown by this factor."""
NEW_OBJECTS = 700
NEVER = 1_000_000_000


class SetAside:
    """`round` is called every EVERY_SECONDS; `used` is the processor time of the process so far."""

    def __init__(self) -> None:
        self._used = 0.0
        self._idle = 0
        self._looked_at = 0

    def begin(self) -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS, NEVER, NEVER)
        self._looked_at = gc.get_freeze_count()

    def round(self, used: float) -> bool:
        """Set aside what is old, and look at everything if the process is idle; returns whether it did."""
        self._idle = self._idle + 1 if used - self._used < IDLE * EVERY_SECONDS else 0
        self._used = used
        grown = self._idle >= IDLE_ROUNDS and gc.get_freeze_count() > GROWTH * self._looked_at
        if grown:
            gc.unfreeze()
            gc.collect()
        gc.freeze()
        if grown:
            self._looked_at = gc.get_freeze_count()
        return grown


async def set_aside() -> None:
    """Runs until it is cancelled, in a process that does nothing but run brokers."""
    before = gc.get_threshold()
    aside = SetAside()
    aside.begin()
    try:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            aside.round(time.process_time())
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
