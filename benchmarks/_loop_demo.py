"""The loop at demo size: from the end of a window to the first shift, and its cost while nothing happens.

Brokers, traffic and the loop are processes of their own; all of them, Spark and ZooKeeper share the machine.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._loop_parts import PROGRAM, configured, process, processor_seconds, wait_for
from benchmarks._table import Line

from regraft.model import Topology
from regraft.model.topology_files import write_topology

BROKERS = 24
SEED = 1
WANTED_DELAY = 15.0
WANTED_IDLE = 0.05


def tree() -> Topology:
    """Every broker is linked to a random one before it: not what the traffic needs."""
    chance = random.Random(SEED)
    ids = [f"b{number:02d}" for number in range(BROKERS)]
    return Topology.of([(ids[number], ids[chance.randrange(number)]) for number in range(1, BROKERS)])


def measured(folder: Path, window: int, rate: int, idle_seconds: float) -> dict[str, Any]:
    write_topology(tree(), folder / "tree.json")
    bold = {"mode": "automatic", "window": f"{window}s", "confirm": 1, "cool_down": "10m"}
    configured(folder, {"loop": bold})
    log = folder / "serve.log"
    up = [*PROGRAM, "up", "tree.json", "--telemetry", "out/telemetry", "--json"]
    with process(folder, *up) as overlay, log.open("w") as errors:
        assert overlay.stdout is not None
        overlay.stdout.readline()
        with process(folder, *PROGRAM, "serve", "--no-web", "--json", errors=errors) as loop:
            assert loop.stdout is not None
            loop.stdout.readline()
            # Spark has started and is warm when quiet windows are answered.
            wait_for(log, "quiet")
            talk = [sys.executable, "-m", "benchmarks._loop_traffic", "out/overlay.json", str(rate)]
            environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
            with subprocess.Popen(
                talk, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            ) as traffic:
                try:
                    wait_for(log, "verified")
                finally:
                    counts, _ = traffic.communicate()
            time.sleep(2 * window)
            before, began = processor_seconds(loop.pid), time.monotonic()
            time.sleep(idle_seconds)
            idle = (processor_seconds(loop.pid) - before) / (time.monotonic() - began)
    found = timed(folder / "out" / "loop" / "state.sqlite")
    return found | {"idle": idle, **json.loads(counts)}


def timed(path: Path) -> dict[str, Any]:
    """From the documents of the loop: when the window ended, was measured, and the first shift began."""
    with sqlite3.connect(path) as store:
        rows = store.execute("SELECT kind, document FROM documents ORDER BY at").fetchall()
    of: dict[str, list[Any]] = {}
    for kind, document in rows:
        of.setdefault(kind, []).append(json.loads(document))
    operation = next(each for each in of["operation"] if each["outcome"])
    proposal = next(each for each in of["proposal"] if each["sha256"] == operation["plan"])
    window = next(each for each in of["window"] if each["id"] == proposal["window"])
    begun = min(action["begun"] for action in operation["outcome"]["actions"] if action["begun"])
    canaries = operation["outcome"]["canaries"] or {}
    return {
        "delay": begun - window["end"],
        "measure_seconds": window["seconds"],
        "decide_seconds": proposal["made_at"] - window["measured_at"],
        "begin_seconds": begun - proposal["made_at"],
        "gain": proposal["gain"],
        "measured_gain": proposal["measured_gain"],
        "actions": proposal["actions"],
        "lost": canaries.get("lost"),
    }


def lines(window: int, rate: int, idle_seconds: float) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(prefix="regraft-bench-loop-") as name:
        data = measured(Path(name), window, rate, idle_seconds)
    parts = ", ".join(f"{data[f'{part}_seconds']:.1f} s to {part}" for part in ("measure", "decide", "begin"))
    yield Line(
        f"{BROKERS} brokers, {rate} publications/s: end of a window to the first shift",
        f"<= {WANTED_DELAY:g} s",
        f"{data['delay']:.1f} s ({parts})",
        data["delay"] <= WANTED_DELAY,
        data,
    )
    yield Line(
        f"idle cost of the loop, Spark and all, over {idle_seconds:g} s",
        f"<= {WANTED_IDLE:.0%} of a core",
        f"{data['idle']:.1%}",
        data["idle"] <= WANTED_IDLE,
        {"idle": data["idle"]},
    )
    missing = data["published"] - data["delivered"]
    gains = f"{data['gain']:.0%} expected, {data['measured_gain'] or 0:.0%} measured"
    yield Line(
        "routing cost saved by the change; publications that did not arrive",
        "0",
        f"{gains}; {missing}",
        missing == 0,
        {"missing": missing},
    )
