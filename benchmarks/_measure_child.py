"""Runs one side of a comparison in a process of its own, and watches what it and its children take."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_PAGE, _TICK = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
EVERY = 0.2


def measured(module: str, *arguments: str | int | Path) -> dict[str, Any]:
    """What `python -m MODULE ARGUMENTS` says in its last line (JSON), and `peak_gib` of all its processes."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        peak = 0
        while child.poll() is None:
            peak = max(peak, sum(map(_resident, family(child.pid))))
            time.sleep(EVERY)
        assert child.stdout is not None
        said = child.stdout.read().strip().splitlines()
    if child.returncode or not said:
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}")
    answer: dict[str, Any] = json.loads(said[-1])
    return answer | {"peak_gib": round(peak / 2**30, 2)}


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONUNBUFFERED": "1"}


def family(pid: int) -> list[int]:
    """A process, its children, theirs, and so on."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def cpu_seconds(pid: int) -> float:
    """Of a process and all its living descendants."""
    return sum(map(_cpu, family(pid)))


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # Its own, and that of children that have ended.
    return sum(map(int, fields[11:15])) / _TICK


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0
