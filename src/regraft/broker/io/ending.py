"""How processes that we have started end: all are asked at once, and those that do not end are killed.

They stop when their standard input ends. Many that stop at once on few processors take long: nobody is killed
as long as one after the other ends.
"""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Iterable

STOP_SECONDS = 10.0
"""If none of them ends for so long, those that are left hang."""


async def end_all(processes: Iterable[Process]) -> None:
    ending = {asyncio.create_task(process.wait()): process for process in processes}
    for process in ending.values():
        if process.stdin is not None:
            process.stdin.close()
    while ending:
        done, _ = await asyncio.wait(ending, timeout=STOP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del ending[task]
        for process in ending.values() if not done else ():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
