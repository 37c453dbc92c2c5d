"""The web server in its own thread, for tests that drive a browser in theirs."""

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from regraft.serve.interface import ServiceInterface
from regraft.web.serving import serving
from regraft.web.settings import WebSettings

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
UNUSED = (
    # A window of Chromium loads two pages of its own for the list below its address bar, and keeps a process
    # ready for the next site: for tests that open many windows that is more work than the page under test.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "SpareRendererForSitePerProcess",
    # What Playwright switches off: Chromium obeys only the last of several lists.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)
ARGUMENTS = ("--no-sandbox", f"--disable-features={','.join(UNUSED)}")
"""With which tests start the browser."""
T = TypeVar("T")


def browser() -> str | None:
    """The system's browser that Playwright can drive."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@dataclass
class Background:
    """A running server; `call` runs a function in its event loop and waits for the result."""

    url: str
    loop: asyncio.AbstractEventLoop

    def call(self, work: Callable[[], T]) -> T:
        async def run() -> T:
            return work()

        return self.wait(run())

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


@contextmanager
def background(service: ServiceInterface, settings: WebSettings) -> Iterator[Background]:
    """Serves until the context is left; a fault at the start is raised here."""
    ready, stop = threading.Event(), asyncio.Event()
    found: list[Background | BaseException] = []

    async def run() -> None:
        async with serving(service, settings) as here:
            found.append(Background(here.url, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as fault:
            found.append(fault)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="web")
    thread.start()
    ready.wait(60)
    first = found[0]
    if not isinstance(first, Background):
        thread.join()
        raise first
    try:
        yield first
    finally:
        first.loop.call_soon_threadsafe(stop.set)
        thread.join(20)
