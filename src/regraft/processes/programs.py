"""Programs that are not ours (ZooKeeper, PostgreSQL, Open vSwitch, planners), run under a guard.

The guard is a shell that starts a watcher in the background and then becomes the program, so the program has
the process id, the exit code and the signals that a direct child has. The watcher reads from a pipe of which
only we hold the other end. When that is gone, however we ended, the watcher kills its process group: the
program and what it started. While the watcher lives, the system gives the number of the group to no other
process.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

# The watcher gets the pipe as descriptor 3: what a shell runs in the background has no standard input.
# `kill -9 0` means the group of the caller.
GUARD = """exec 3<&0
{ read -r _ <&3; kill -9 0; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null"""
END_SECONDS = 10.0
"""How long a program that was asked to end may take."""


def start_program(
    command: Sequence[str],
    output: IO[Any],
    errors: IO[Any] | None = None,
    *,
    directory: Path | None = None,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start it in a process group of its own; without `errors`, its errors go to `output`."""
    return subprocess.Popen(
        ["/bin/sh", "-c", GUARD, command[0], *command],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output if errors is None else errors,
        cwd=directory,
        user=user,
        env=environment,
        start_new_session=True,
    )


def kill_program(process: "subprocess.Popen[bytes]") -> None:
    """End it as a crash does, with all that it started, and its guard. It may have ended already."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def end_programs(processes: Sequence["subprocess.Popen[bytes]"], seconds: float = END_SECONDS) -> None:
    """Ask all of them to end (SIGTERM), wait for each, and kill what is left."""
    try:
        for process in processes:
            process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
    finally:
        for process in processes:
            kill_program(process)
