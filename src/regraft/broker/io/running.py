"""The event loop: uvloop where it is installed, which moves bytes about twice as fast."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from regraft.broker.io.garbage import set_aside

T = TypeVar("T")
LOAD_AFTER_SECONDS = 30.0


async def undisturbed(main: Coroutine[Any, Any, T]) -> T:
    """Run it in a process that does nothing but run brokers, so that nothing stops them for long."""
    tasks = [asyncio.create_task(task()) for task in (set_aside, _load)]
    try:
        return await main
    finally:
        for task in tasks:
            task.cancel()


async def _load() -> None:
    """Load the code that matches many filters before it is needed. Loading takes a second, as long as a
    broker takes to start; a client that brings many filters sooner has to wait for it."""
    from regraft.filters.index import load_compiled  # noqa: PLC0415 — loads numpy, which clients do without

    await asyncio.sleep(LOAD_AFTER_SECONDS)
    await asyncio.to_thread(load_compiled)


def run(main: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop  # noqa: PLC0415 — optional
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
