"""Builds the estate that the settings describe: the only module that chooses among estates.

So far only one kind can be configured: our own network.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from regraft.estate.protocol import Estate
from regraft.estate.regraft.estate import RegraftEstate
from regraft.estate.settings import EstateSettings
from regraft.estate.windows import Windows


@asynccontextmanager
async def opened(settings: EstateSettings, windows: Windows | None = None) -> AsyncIterator[Estate]:
    """`windows` measures instead of the Spark that the settings describe."""
    async with RegraftEstate.opened(settings, windows) as estate:
        yield estate
