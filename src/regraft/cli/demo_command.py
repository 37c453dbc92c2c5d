"""`regraft demo`: a real network, a better tree for it, the plan, its replay, the same on live brokers."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.watching import run_watched
from regraft.model import BadInput, Bounds, Infeasible, Limits, Plan, RegraftError, Topology

if TYPE_CHECKING:
    from regraft.cli.demo_scene import Outcome
    from regraft.cli.frames import Frame

PAUSE = 0.4
"""Seconds between steps on a terminal, so that one can follow."""
SECONDS = 2.0
"""For planning."""


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/demo"),
    show_default=True,
    metavar="FOLDER",
    help="Where topologies, plan and pictures are written.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on success.")
def demo(out: Path, as_json: bool) -> int:
    """Show what Regraft does, on a real network, in about twenty seconds.

    Takes the network of a European carrier (33 cities), with the brokers joined by the fewest hops to
    one hub, and plans the way to the tree with the least fibre. Every step is replayed and checked. Then
    the brokers are started on free ports of this machine, and the plan is carried out while clients publish
    and subscribe: every delivery is counted. Exit code 1 if one is lost, repeated or out of order.
    """
    from regraft.cli.demo_network import hub_tree, network, shortest_tree
    from regraft.cli.demo_scene import play
    from regraft.cli.plan_verdict import summary

    make_folder(out)
    net = network()
    current, goal = hub_tree(net), shortest_tree(net)
    if not as_json:
        introduce(net, current, goal)
    plan, seconds = find(current, goal, as_json)
    replay(plan, current, goal, quiet=as_json)
    if not as_json:
        click.echo(f"\n{summary(plan, Limits(), seconds)}")
        click.echo(
            "The independent check replayed the plan: whatever the order within a step, always a tree."
        )
    written = write(plan, current, goal, out)
    outcome = play(plan, current, goal, quiet=as_json)
    written += draw(plan, current, goal, out)
    if as_json:
        click.echo(json.dumps(answer(plan, current, goal, seconds, written, outcome)))
    else:
        conclude(current, goal, written)
    return 0 if outcome.flawless(goal) else 1


def make_folder(out: Path) -> None:
    """First of all: a wrong place should not cost the whole show."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise BadInput(str(out), f"can not be made into a folder: {fault.strerror}") from None


def introduce(net: Topology, current: Topology, goal: Topology) -> None:
    from regraft.cli.demo_network import latency
    from regraft.cli.layout import centre
    from regraft.cli.printing import console
    from regraft.cli.terminal_tree import side_by_side

    changed = len(current.by_ends.keys() - goal.by_ends.keys())
    click.echo(
        f"The network of a European carrier: {len(net.ids)} cities, {len(net.links)} lines.\n"
        f"Its brokers form a tree around a hub, with {latency(current):.1f} ms of fibre in total;\n"
        f"the shortest tree has {latency(goal):.1f} ms. {changed} links must change, one step after\n"
        "the other, and after every single change all brokers must still form one tree.\n"
    )
    console().print(side_by_side(current, goal, centre(current)))


def find(current: Topology, goal: Topology, quiet: bool) -> tuple[Plan, float]:
    from regraft.plan import make_plan

    limits = Limits(time_limit=SECONDS)
    watched = run_watched(lambda watch: make_plan(current, goal, limits, watch=watch), SECONDS, quiet)
    if isinstance(watched.result, Infeasible):
        raise RegraftError(f"the demo needs a plan, and got none: {watched.result.reason}")
    return watched.result, watched.seconds


def replay(plan: Plan, current: Topology, goal: Topology, quiet: bool) -> None:
    """Each step as a plan of its own through the independent check, then the whole plan."""
    from regraft.cli.frames import frames
    from regraft.plan import verify

    before = current
    for number, frame in enumerate(frames(plan, current), 1):
        after = Topology.of(sorted(frame.links_after), sorted(frame.brokers_after))
        step = Plan("tree", before.sha256, after.sha256, (frame.step,), plan.planner, Bounds(0, 0))
        verify(step, before, after, Limits())
        if not quiet:
            show_step(number, frame, after, goal, current)
        before = after
    verify(plan, current, goal, Limits())


def show_step(number: int, frame: "Frame", after: Topology, goal: Topology, current: Topology) -> None:
    from rich.text import Text

    from regraft.cli.frames import added
    from regraft.cli.plan_report import styled
    from regraft.cli.printing import console

    out = console()
    if out.is_terminal:
        time.sleep(PAUSE)
    out.print(Text(f"\nStep {number}", "bold"))
    for action in frame.step:
        arrived = ("  + in the goal", "bold green") if added(action) in goal.by_ends else ("", "")
        out.print(Text.assemble("  ", *styled(action), arrived))
    new = goal.by_ends.keys() - current.by_ends.keys()
    there = len(new & after.by_ends.keys())
    bar = ("█" * there, "green"), ("░" * (len(new) - there), "dim")
    said = f"  {there} of {len(new)} new links in place; valid tree: "
    out.print(Text.assemble("  ", *bar, said, ("yes", "bold green")))


def write(plan: Plan, current: Topology, goal: Topology, out: Path) -> list[Path]:
    from regraft.model.plan_files import write_plan
    from regraft.model.topology_files import write_topology

    paths = [out / name for name in ("current.json", "goal.json", "plan.json")]
    write_topology(current, paths[0])
    write_topology(goal, paths[1])
    write_plan(plan, paths[2])
    return paths


def draw(plan: Plan, current: Topology, goal: Topology, out: Path) -> list[Path]:
    """Last of all: it takes seconds, and what it leaves in memory would slow live brokers down."""
    from regraft.cli.draw import draw_plan

    paths = [out / name for name in ("plan.svg", "plan.png")]
    for picture in paths:
        draw_plan(plan, current, goal, picture)
    return paths


def answer(
    plan: Plan, current: Topology, goal: Topology, seconds: float, written: list[Path], outcome: "Outcome"
) -> dict[str, Any]:
    """For programs."""
    from regraft.cli.demo_network import latency
    from regraft.cli.demo_scene import as_object as live
    from regraft.cli.plan_report import as_object

    return as_object(plan, Limits()) | {
        "seconds": round(seconds, 3),
        "brokers": len(current.ids),
        "latency_ms": {"before": round(latency(current), 3), "after": round(latency(goal), 3)},
        "verified": True,
        "live": live(outcome, goal),
        "files": [str(path) for path in written],
    }


def conclude(current: Topology, goal: Topology, written: list[Path]) -> None:
    from regraft.cli.demo_network import latency

    click.echo(f"\nTotal fibre: {latency(current):.1f} ms before, {latency(goal):.1f} ms after.")
    click.echo("written: " + ", ".join(str(path) for path in written))
    click.echo(f"Next: regraft plan {written[0]} {written[1]} --planner exact")
