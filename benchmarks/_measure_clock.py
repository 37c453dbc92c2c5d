"""What both sides of the comparison share: the width of a window, and how time is taken."""

import os
import time
from typing import Any

from benchmarks._measure_child import cpu_seconds

WIDTH = 10_000_000
"""Microseconds: more windows than with the usual 60 s, so that there is something to compare."""


class Clock:
    """Seconds and processor seconds of each table."""

    def __init__(self) -> None:
        self.began, self.cpu = time.perf_counter(), cpu_seconds(os.getpid())
        self.tables: dict[str, float] = {}
        self._last = self.began

    def done(self, table: str) -> None:
        now = time.perf_counter()
        self.tables[table] = round(now - self._last, 2)
        self._last = now

    def answer(self) -> dict[str, Any]:
        cpu = cpu_seconds(os.getpid()) - self.cpu
        return {"seconds": self._last - self.began, "cpu": cpu, "tables": self.tables}
