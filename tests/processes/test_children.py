"""Modules of ours in processes of their own: asked to end, killed if they hang, never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from pathlib import Path

import pytest

from regraft.processes import children
from regraft.processes.children import close_input, end_all, kill, send, start_module

CHILD = "tests.processes.a_child"
STARTS_AND_WAITS = f"""
import asyncio
from regraft.processes.children import start_module

async def main():
    child = await start_module("{CHILD}", "hang")
    await child.stdout.readline()
    print(child.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def started(*arguments: str) -> Process:
    child = await start_module(CHILD, *arguments)
    assert child.stdout is not None
    assert await child.stdout.readline() == " ".join(arguments).encode() + b"\n"
    return child


def test_a_child_ends_by_itself_when_its_input_does() -> None:
    async def run() -> int | None:
        child = await started("one", "two words")
        await end_all([child], close_input)
        return child.returncode

    assert asyncio.run(run()) == 5


def test_only_those_that_hang_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "STOP_SECONDS", 2.0)

    async def run() -> list[int | None]:
        both = await asyncio.gather(started("good"), started("hang"))
        await end_all(both, close_input)
        return [child.returncode for child in both]

    assert asyncio.run(run()) == [5, -signal.SIGKILL]


def test_killing_a_child_that_has_ended_is_no_error_and_keeps_its_exit_code() -> None:
    async def run() -> int | None:
        child = await started("x")
        close_input(child)
        for _ in range(3):  # the loop closes the pipe
            await asyncio.sleep(0)
        # Then the child ends, and asyncio does not notice: nothing here gives control back to the loop.
        until = time.monotonic() + 30
        while not _is_zombie(child.pid):
            assert time.monotonic() < until
            time.sleep(0.01)
        send(child, signal.SIGKILL)
        await kill(child)
        await kill(child)
        return child.returncode

    assert asyncio.run(run()) == 5


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:  # collected by the loop's watcher, which runs in a thread
        return True


def test_a_child_that_hangs_ends_when_its_parent_is_killed() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", STARTS_AND_WAITS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until = time.monotonic() + 60
    while not _is_zombie(pid):
        assert time.monotonic() < until
        time.sleep(0.1)
