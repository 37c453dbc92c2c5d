"""The event loop: uvloop where it is installed, which moves bytes about twice as fast."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from regraft.broker.io.garbage import set_aside

T = TypeVar("T")
LOAD_AFTER_SECONDS = 30.0


async def undisturbed(main: Coroutine[Any, Any, T]) -> T:
    """In a process that does nothing but run brokers: nothing stops them for long."""
    tasks = [asyncio.create_task(care()) for care in (set_aside, _load)]
    try:
        return await main
    finally:
        for task in tasks:
            task.cancel()


async def _load() -> None:
    """What matches many filters takes a second to load, as long as a broker takes to start. Whoever brings
    many filters sooner waits for it then; otherwise it is there before they come."""
    from regraft.filters.index import load_compiled  # noqa: PLC0415 — loads numpy, which clients do without

    await asyncio.sleep(LOAD_AFTER_SECONDS)
    await asyncio.to_thread(load_compiled)


def run(main: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop  # noqa: PLC0415 — optional
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
