"""The live part of the demo: brokers on free ports, traffic, the plan carried out, what is shown of it."""

import asyncio
import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.running import run
from regraft.cli.demo_ledger import INTERESTS, PUBLISHERS, Counts, Ledger
from regraft.cli.demo_live import Executor, StepDone, carry_out, links_of
from regraft.cli.demo_traffic import RATE, Traffic
from regraft.cli.printing import console
from regraft.model import Ends, Plan, Topology

WARM_UP = 0.5
"""Seconds of traffic that are not measured: everything happens for the first time."""
BEFORE = 1.5
"""Seconds of traffic before the first step, for comparison."""
MOVES_SHOWN = 2
"""In the line of a step."""


class Outcome(NamedTuple):
    """What came of the plan and the traffic."""

    counts: Counts
    links: tuple[Ends, ...]
    """Of the running brokers, at the end."""
    unacknowledged: int
    shift: float
    """Seconds, median."""
    slowest_before: float
    """Seconds of the slowest delivery before the first step,"""
    slowest_during: float
    """and from the first to the last."""

    def reached(self, goal: Topology) -> bool:
        return set(self.links) == set(goal.by_ends)

    def flawless(self, goal: Topology) -> bool:
        return self.counts.flawless and not self.unacknowledged and self.reached(goal)


Told = Callable[[StepDone, int], None]
"""Is told of every step and of the deliveries so far."""


async def under_traffic(plan: Plan, current: Topology, told: Told) -> Outcome:
    """The brokers of `current` run, clients publish and subscribe, the plan is carried out, all ends."""
    with TemporaryDirectory(prefix="regraft-demo-") as folder:
        running = Overlay(current, lambda id, near: Configuration(id, near, state=Path(folder)))
        async with running, Traffic(running.addresses, ledger := Ledger()) as traffic:
            await asyncio.sleep(WARM_UP)
            before = time.monotonic()
            await asyncio.sleep(BEFORE)
            begun = time.monotonic()
            done = await carry_out(
                plan, Executor(running.servers), lambda step: told(step, ledger.deliveries)
            )
            ended = time.monotonic()
            await traffic.finish()
            return Outcome(
                ledger.counts(),
                tuple(sorted(links_of(running.servers))),
                traffic.unacknowledged,
                median([seconds for step in done for seconds in step.shifts]),
                ledger.slowest(before, begun),
                ledger.slowest(begun, ended),
            )


def play(plan: Plan, current: Topology, goal: Topology, quiet: bool) -> Outcome:
    """Nothing is left running, however it ends."""
    if not quiet:
        introduce(current)
    gc.collect()
    gc.freeze()  # what the planner left in memory is not for the brokers to search through
    try:
        outcome = run(under_traffic(plan, current, ignore if quiet else show_step))
    finally:
        gc.unfreeze()
    if not quiet:
        show_outcome(outcome, goal)
    return outcome


def ignore(done: StepDone, deliveries: int) -> None:
    """For programs, the end is enough."""


def introduce(current: Topology) -> None:
    from rich.text import Text

    out = console()
    out.print(Text("\nThe same on live brokers", "bold"))
    out.print(
        f"  {len(current.ids)} brokers run on this machine; {len(PUBLISHERS)} cities publish {RATE} messages "
        f"a second,\n  and {len(INTERESTS)} subscribers want some of them:"
    )
    for interest in INTERESTS:
        out.print(Text.assemble(f"    {interest.city:<10}", (interest.filter, "cyan")))
    out.print()


def show_step(done: StepDone, deliveries: int) -> None:
    from rich.text import Text

    moves = [f"{i} to {k}" for i, _, k in (action.brokers for action in done.step)]
    more = f" and {len(moves) - MOVES_SHOWN} more" if len(moves) > MOVES_SHOWN else ""
    links = f"{len(moves)} link{'s' if len(moves) > 1 else ' '}"
    line = Text.assemble(
        (f"  Step {done.number}", "bold"),
        f"  {links} moved in {done.seconds * 1000:4.0f} ms  ",
        (f"{deliveries:6,d} delivered  ", "green"),
        (", ".join(moves[:MOVES_SHOWN]) + more, "dim"),
    )
    console().print(line, no_wrap=True, overflow="ellipsis")


def show_outcome(outcome: Outcome, goal: Topology) -> None:
    from rich.text import Text

    counts, out = outcome.counts, console()
    flaws = {"lost": counts.lost, "repeated": counts.repeated, "reordered": counts.reordered}
    if counts.unwanted:
        flaws["that nobody wanted"] = counts.unwanted
    if outcome.unacknowledged:
        flaws["not acknowledged"] = outcome.unacknowledged
    said = [(f"{count:,} {name}", "bold red" if count else "bold green") for name, count in flaws.items()]
    out.print(
        Text.assemble(
            f"\n  {counts.published:,} messages published, {counts.due:,} deliveries due, "
            f"{counts.delivered:,} delivered: ",
            *[part for each in said for part in (each, ", ")][:-1],
        )
    )
    out.print(
        f"  slowest delivery: {outcome.slowest_before * 1000:.0f} ms before, "
        f"{outcome.slowest_during * 1000:.0f} ms during the change; a shift took "
        f"{outcome.shift * 1000:.0f} ms (median)"
    )
    reached = ("yes", "bold green") if outcome.reached(goal) else ("no", "bold red")
    out.print(Text.assemble("  the brokers now form the goal: ", reached))


def as_object(outcome: Outcome, goal: Topology) -> dict[str, Any]:
    """The same for programs."""
    return outcome.counts._asdict() | {
        "unacknowledged": outcome.unacknowledged,
        "rate": RATE,
        "publishers": len(PUBLISHERS),
        "subscribers": len(INTERESTS),
        "slowest_ms": {
            "before": round(outcome.slowest_before * 1000, 3),
            "during": round(outcome.slowest_during * 1000, 3),
        },
        "shift_ms": round(outcome.shift * 1000, 3),
        "links": [list(pair) for pair in outcome.links],
        "goal_reached": outcome.reached(goal),
    }
