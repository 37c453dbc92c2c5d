"""One run of the large part: `regraft up`, the clients, `regraft serve` in a mode, two minutes of traffic.

Brokers with their agents are one process, publishers and subscribers two, the loop with its Spark one,
ZooKeeper one. The traffic begins with a window, when Spark is warm.
"""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks._loop_large_work import Size, Spent, spent
from benchmarks._loop_parts import PROGRAM, configured, process, processor_seconds, wait_for
from benchmarks._overlay_work import Arrivals

from regraft.model.topology_files import write_topology

ROOM = 3.0
"""Seconds from the word to begin until the traffic does."""
NONE = "none"
"""A mode in which there is no loop at all."""
REPOSITORY = Path(__file__).parents[1]


class Seen(NamedTuple):
    """What one run has left behind."""

    mode: str
    began: float
    """Seconds since 1970."""
    arrivals: Arrivals
    sent: "np.ndarray[Any, np.dtype[np.float64]]"
    """When each of them was to leave, in seconds of the run."""
    spent: Spent
    decisions: list[dict[str, Any]]
    operations: list[dict[str, Any]]
    windows: list[dict[str, Any]]
    processors: dict[str, float]
    """Cores that each process took while the traffic lasted."""


def settings(size: Size, mode: str) -> dict[str, dict[str, Any]]:
    """Bold, as for traffic that changes within a minute: one window is enough, and no budget of an hour."""
    return {
        "loop": {
            "mode": mode,
            "window": f"{size.window}s",
            "confirm": 1,
            "cool_down": f"{size.window}s",
        },
        "automatic": {"max_actions": 80, "actions_per_hour": 0, "transformations_per_hour": 0},
        # Every delivery is audited here.
        "deploy": {"canaries": 0, "at_once": 3},
        "plan": {"minimise": "actions"},
    }


def run(size: Size, mode: str, folder: Path) -> Seen:
    folder.mkdir(parents=True, exist_ok=True)
    write_topology(size.tree(), folder / "tree.json")
    configured(folder, settings(size, mode))
    log, arrivals = folder / "serve.log", folder / "arrivals.npy"
    with ExitStack() as stack:
        enter = stack.enter_context
        up = [*PROGRAM, "up", "tree.json", "--telemetry", "out/telemetry", "--no-metrics", "--json"]
        overlay = enter(process(folder, *up, errors=enter((folder / "up.log").open("w"))))
        rows = json.loads(_line(overlay))["brokers"]
        told = {"size": size, "addresses": {id: row["address"] for id, row in rows.items()}}
        (folder / "brief.json").write_text(json.dumps(told))
        publishers, subscribers = (
            enter(_clients(role, folder, arrivals)) for role in ("publish", "subscribe")
        )
        _expect(publishers, "ready")
        _expect(subscribers, "ready")
        parts = {"brokers": overlay, "publishers": publishers, "subscribers": subscribers}
        if mode != NONE:
            serve = (*PROGRAM, "serve", "--no-web", "--json")
            parts["loop"] = enter(process(folder, *serve, errors=enter(log.open("w"))))
            _line(parts["loop"])
            # Spark has started and is warm when quiet windows are answered.
            wait_for(log, "quiet")
        began = _next_window(size)
        _say(publishers, f"{began}")
        time.sleep(max(0.0, began - time.time()))
        before = {name: processor_seconds(part.pid) for name, part in parts.items()}
        time.sleep(size.seconds)
        used = {name: processor_seconds(part.pid) - before[name] for name, part in parts.items()}
        _expect(publishers, "done")
        _say(subscribers)
        _expect(subscribers, "done")
    columns = np.load(arrivals)
    clock = time.monotonic() - time.time()
    came = Arrivals(columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2])
    return Seen(
        mode,
        began,
        came,
        columns[:, 3] - clock - began,
        spent(folder / "out" / "telemetry", began, size.seconds),
        *_told(folder / "out" / "loop" / "state.sqlite"),
        {name: seconds / size.seconds for name, seconds in used.items()},
    )


def _next_window(size: Size) -> float:
    """When the next but one begins, if the next is too near."""
    return float(-((-time.time() - ROOM) // size.window) * size.window)


Documents = list[dict[str, Any]]


def _told(path: Path) -> tuple[Documents, Documents, Documents]:
    """Decisions, operations and windows of the loop, in the order of time."""
    if not path.exists():
        return [], [], []
    with sqlite3.connect(path) as store:
        documents = store.execute("SELECT kind, document FROM documents ORDER BY at").fetchall()
        decisions = store.execute("SELECT document FROM decisions ORDER BY id").fetchall()
    of: dict[str, list[dict[str, Any]]] = {"operation": [], "window": []}
    for kind, document in documents:
        of.setdefault(kind, []).append(json.loads(document))
    return [json.loads(document) for (document,) in decisions], of["operation"], of["window"]


# Processes


@contextmanager
def _clients(role: str, folder: Path, file: Path) -> Iterator["subprocess.Popen[str]"]:
    """Killed at the end: nobody waits for a thousand polite goodbyes."""
    command = (sys.executable, "-m", "benchmarks._loop_large_clients", role)
    with subprocess.Popen(
        (*command, str(folder / "brief.json"), str(file)),
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        sys.exit("bench: a process ended without a report; what it said is above or in its log")
    return line.rstrip("\n")


def _expect(process: "subprocess.Popen[str]", wanted: str) -> None:
    if (line := _line(process)) != wanted:
        sys.exit(f"bench: expected {wanted!r}, got {line!r}")


def _say(process: "subprocess.Popen[str]", line: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
