"""A chain of five broker processes under load, its middle one killed (kill -9) and started again.

Prints one table (Markdown): what was lost, repeated or came in the wrong order, and how long deliveries
took before, around and after the crashes. Exit code 1 if anything was lost, repeated or reordered.
"""

import argparse
import asyncio
import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from benchmarks._table import machine

from regraft.broker.io.broker_processes import BrokerProcesses
from regraft.broker.io.configuration import Configuration
from regraft.broker.io.running import run
from regraft.client import Event, connect
from regraft.model import Topology

IDS = [f"b{number}" for number in range(5)]
MIDDLE = "b2"
DOWN = 0.5
"""Seconds between the crash and the new start."""


class Arrival(NamedTuple):
    number: int
    sent: float
    at: float


class Outage(NamedTuple):
    killed: float
    back: float


def main() -> None:
    options = arguments().parse_args()
    if options.seconds < 4 * options.kills:
        sys.exit("bench: every crash needs 4 seconds")
    arrivals, outages = run(measure(options.rate, options.seconds, options.kills))
    sys.exit(report(arrivals, outages, options))


async def measure(rate: float, seconds: float, kills: int) -> tuple[list[Arrival], list[Outage]]:
    topology = Topology.of(pairwise(IDS), IDS)
    with TemporaryDirectory(prefix="regraft-bench-") as folder:
        overlay = BrokerProcesses(topology, lambda id, near: Configuration(id, near, state=Path(folder)))
        async with overlay:
            first, last = ("{}:{}".format(*overlay.addresses[id]) for id in (IDS[0], IDS[-1]))
            async with connect(last) as subscriber:
                subscription = await subscriber.subscribe("n >= 0")
                arrivals: list[Arrival] = []

                async def take() -> None:
                    async for event in subscription:
                        number, sent = event.attributes["n"], event.attributes["sent"]
                        arrivals.append(Arrival(int(number), float(sent), time.monotonic()))

                taking = asyncio.create_task(take())
                crashing = asyncio.create_task(crash(overlay, seconds, kills))
                await publish(first, rate, int(rate * seconds))
                outages = await crashing
                subscription.close()
                await taking
    return arrivals, outages


async def publish(where: str, rate: float, count: int) -> None:
    """At a steady rate; while the overlay is cut, what the window does not take waits and is late."""
    async with connect(where, timeout=60.0) as publisher:
        start = time.monotonic()
        for number in range(count):
            if (early := start + number / rate - time.monotonic()) > 0:
                await asyncio.sleep(early)
            await publisher.send(Event({"n": number, "sent": start + number / rate}, bytes(256)))


async def crash(overlay: BrokerProcesses, seconds: float, kills: int) -> list[Outage]:
    outages = []
    for _ in range(kills):
        await asyncio.sleep(seconds / (kills + 1) - DOWN)
        killed = time.monotonic()
        await overlay.kill(MIDDLE)
        await asyncio.sleep(DOWN)
        await overlay.restart(MIDDLE)
        outages.append(Outage(killed, time.monotonic()))
    return outages


def report(arrivals: list[Arrival], outages: list[Outage], options: argparse.Namespace) -> int:
    numbers = np.array([each.number for each in arrivals])
    count = int(options.rate * options.seconds)
    lost = count - len(np.unique(numbers))
    repeated = len(numbers) - len(np.unique(numbers))
    late = int((numbers < np.maximum.accumulate(numbers)).sum()) if len(numbers) else 0
    print(f"{machine()}; {options.rate:g} messages/s for {options.seconds:g} s, {options.kills} crashes\n")
    print("| what | wanted | measured | met |\n|---|---|---|---|")
    for what, value in (("lost", lost), ("repeated", repeated), ("reordered", late)):
        print(f"| {what}, of {count:,} | 0 | {value} | {'**no**' if value else 'yes'} |")
    around = [any(o.killed - 1 < each.sent < o.back + 3 for o in outages) for each in arrivals]
    for what, wanted in (("away from the crashes", False), ("around them", True)):
        taken = [a.at - a.sent for a, is_around in zip(arrivals, around, strict=True) if is_around is wanted]
        if taken:
            p50, p99, worst = np.percentile(taken, (50, 99, 100)) * 1e3
            print(f"| delivery {what} | - | p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {worst:.0f} ms | - |")
    for number, outage in enumerate(outages, 1):
        print(f"| crash {number}: broker away for | - | {outage.back - outage.killed:.2f} s | - |")
    return 1 if lost or repeated or late else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench chain", description=__doc__)
    parser.add_argument("--rate", type=float, default=1000.0, help="messages per second (default 1,000)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of load (default 60)")
    parser.add_argument(
        "--kills", type=int, default=5, help="how often the middle broker crashes (default 5)"
    )
    return parser


if __name__ == "__main__":
    main()
