"""Run a process within limits of time and memory; at a limit it is ended with all that it started."""

import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal, NamedTuple

from regraft.processes.programs import kill_program, start_program

LOOK_EVERY = 0.05
"""Seconds between two checks of a running process. It measures its own time, so this may be coarse."""


class Ended(NamedTuple):
    """How a process ended: at which limit, if any; the highest memory use that was seen; its time."""

    limit: Literal["out of time", "out of memory"] | None
    peak_mb: float | None
    seconds: float


def run_limited(
    command: Sequence[str],
    output: IO[str],
    errors: IO[str],
    seconds: float,
    memory_mb: float,
    directory: Path | None = None,
) -> Ended:
    """Run until the end or a limit. What the process started ends with it, and it ends with us."""
    started = time.monotonic()
    peak: float | None = None
    limit: Literal["out of time", "out of memory"] | None = None
    process = start_program(command, output, errors, directory=directory)
    try:
        while limit is None and process.poll() is None:
            peak = max(peak or 0.0, peak_mb(process.pid) or 0.0)
            if peak > memory_mb:
                limit = "out of memory"
            elif time.monotonic() - started > seconds:
                limit = "out of time"
            else:
                time.sleep(LOOK_EVERY)
        return Ended(limit, peak, time.monotonic() - started)
    finally:
        kill_program(process)


def peak_mb(pid: int | Literal["self"] = "self") -> float | None:
    """The high-water mark of a process's memory in MB.

    From /proc where there is one: `ru_maxrss` starts at the size of the process that spawned it.
    """
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    if pid != "self":
        return None
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
