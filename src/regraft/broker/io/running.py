"""The event loop: uvloop where it is installed, which moves bytes about twice as fast."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from regraft.broker.io.garbage import set_aside
from regraft.filters.index import load_compiled

T = TypeVar("T")


async def undisturbed(main: Coroutine[Any, Any, T]) -> T:
    """In a process that does nothing but run brokers: what would stop them for long is done before."""
    load_compiled()
    care = asyncio.create_task(set_aside())
    try:
        return await main
    finally:
        care.cancel()


def run(main: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop  # noqa: PLC0415 — optional
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
