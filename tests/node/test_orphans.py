"""Processes that were started by one that is killed with `kill -9` end, also if they hang."""

import subprocess
import sys
import time
from pathlib import Path

STARTS_AND_WAITS = """
import asyncio, os, subprocess, sys, time
from pathlib import Path
from regraft.demo.forking import ForkServer
from regraft.routes.parallel import process_pool

HANGS = "from regraft.processes.orphans import end_with_parent; import time; end_with_parent(0.1); {}"

def hang():
    time.sleep(600)

def pid(_):
    return os.getpid()

async def main():
    forked = await ForkServer().start(hang, Path(sys.argv[1]))
    code = HANGS.format("print(flush=True); time.sleep(600)")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    pool = process_pool(1)
    print(forked.pid, child.pid, *pool.map(pid, [0]), flush=True)
    await asyncio.sleep(600)

if __name__ == "__main__":
    asyncio.run(main())
"""


def runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_process_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    """A process of the demo, one that was started as brokers are, one that computes routes."""
    script = tmp_path / "starts_and_waits.py"
    script.write_text(STARTS_AND_WAITS)
    command = [sys.executable, str(script), str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        started = parent.stdout.readline().split()
        assert len(started) == 3
        assert all(map(runs, started))
        parent.kill()
    until = time.monotonic() + 60
    while left := [pid for pid in started if runs(pid)]:
        assert time.monotonic() < until, left
        time.sleep(0.1)
