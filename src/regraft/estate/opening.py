"""Builds the estate that the settings mean: the only module that chooses among estates.

There is one kind that can be configured so far, our own network.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from regraft.estate.protocol import Estate
from regraft.estate.regraft.estate import RegraftEstate
from regraft.estate.settings import EstateSettings
from regraft.estate.windows import Windows


@asynccontextmanager
async def opened(settings: EstateSettings, windows: Windows | None = None) -> AsyncIterator[Estate]:
    """`windows`: who measures, instead of what the settings say."""
    async with RegraftEstate.opened(settings, windows) as estate:
        yield estate
