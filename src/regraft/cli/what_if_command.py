"""`regraft what-if`: what the loop would have decided in a past period, and what that would have saved."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command, advanced

if TYPE_CHECKING:
    from regraft.loop.policy import Mode
    from regraft.serve.configuration import DesignFor, ServeConfiguration
    from regraft.serve.replaying import Replay

    Replays = dict[DesignFor, Replay]

FILE = click.Path(path_type=Path)
SHOWN = (
    "unconfirmed",
    "kept",
    "proposed",
    "deployed",
    "verified",
    "disappointed",
    "would-propose",
    "waiting",
)


@click.command("what-if", cls=Command)
@click.option("--telemetry", required=True, metavar="PLACE", help="The brokers' telemetry.")
@click.option(
    "--from", "begin", metavar="TIME", help="ISO 8601; UTC if no zone is given.  [default: the first]"
)
@click.option("--to", "end", metavar="TIME", help="The end, likewise.  [default: the last]")
@click.option("--topology", type=FILE, metavar="FILE", help="The topology then.  [default: by the records]")
@click.option(
    "--mode",
    type=click.Choice(["propose", "automatic", "observe"]),
    default="automatic",
    show_default=True,
    help="In propose, every proposal is approved.",
)
@click.option(
    "-c", "--config", "path", type=FILE, metavar="FILE", help="Configuration.  [default: its defaults]"
)
@click.option("--window", metavar="LENGTH", help="Length of a window instead of loop.window: 10s, 5m.")
@click.option("--out", metavar="PLACE", help="Keep the tables there: a second run is quicker.")
@click.option("--spark", metavar="MASTER", help="A master instead of spark.master.", **advanced("Spark"))
@click.option("-o", "--output", type=FILE, metavar="TOPOLOGY", help="Write the topology at the end there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def what_if(**options: Any) -> None:
    """Replay a past period: what would the loop have saved?

    It says what the loop would have decided, and touches nothing. Costs are OCBR's routing cost of each
    window's measured traffic, on the topology at that time and on the one that the loop would have had; the
    price of the changes is subtracted from the savings. The period is replayed twice: designing for the
    forecast wherever that was worth using, and for the measured traffic.

    \b
    Example:
      regraft what-if --telemetry out/telemetry --from 2026-01-05T12:00:00Z --mode propose
    """
    from regraft.model.topology_files import write_topology

    configuration = _configuration(options["path"], options["window"])
    with _progress(options["as_json"]) as say:
        replays = _replayed(configuration, options, say)
    found = replays[configuration.loop.design_for]
    if options["output"] is not None and found.with_loop is not None:
        write_topology(found.with_loop, options["output"])
    if options["as_json"]:
        click.echo(json.dumps(_document(found, replays)))
    else:
        _show(found, replays)


def _configuration(path: Path | None, window: str | None) -> "ServeConfiguration":
    import os
    from dataclasses import replace

    from regraft.serve.configuration_file import configured, read_configuration

    found = read_configuration(path, os.environ) if path else configured({}, Path.cwd(), os.environ)
    if window is None:
        return found
    width = configured({"loop": {"window": window}}, Path.cwd(), {}).loop.window
    return replace(found, loop=replace(found.loop, window=width))


def _replayed(
    configuration: "ServeConfiguration", options: dict[str, Any], say: Callable[[str], None]
) -> "Replays":
    """What would have been, by what the loop designs for."""
    from dataclasses import replace

    from regraft.estate.regraft.past_windows import measured_past, parse_time, topology_then
    from regraft.measure.segments import check_source
    from regraft.measure.session import SMALL, start
    from regraft.model import BadInput
    from regraft.model.topology_files import read_topology
    from regraft.serve.replaying import replay
    from regraft.serve.running import designer_of

    begin = parse_time(options["begin"], "--from") if options["begin"] else float("-inf")
    end = parse_time(options["end"], "--to") if options["end"] else float("inf")
    if end <= begin:
        raise BadInput("--to", f"{options['end']} is not after --from, {options['begin']}")
    then = read_topology(options["topology"]) if options["topology"] else None
    check_source(options["telemetry"])
    master = options["spark"] or configuration.spark.master
    small = SMALL if configuration.spark.small and master.startswith("local") else {}
    settings = {**small, **dict(configuration.spark.conf)}
    mode: Mode = options["mode"]
    with tempfile.TemporaryDirectory(prefix="regraft-what-if-") as folder:
        say("starting Spark")
        session = start(master, memory=configuration.spark.memory, settings=settings)
        try:
            say("measuring")
            out = options["out"] or folder
            width = configuration.loop.window
            horizon = round(configuration.loop.payback_windows), configuration.loop.confirm
            past = measured_past(session, options["telemetry"], out, width, begin, end, horizon)
            say("replaying")
            ways: tuple[DesignFor, ...] = ("measured", "forecast")
            designers = [replace(designer_of(configuration), design_for=way) for way in ways]
            found = replay(past.windows(), then or topology_then(past), designers, mode)
            return dict(zip(ways, found, strict=True))
        finally:
            session.stop()


def _document(found: "Replay", replays: "Replays") -> dict[str, Any]:
    from dataclasses import asdict

    import msgspec

    return {
        "windows": [asdict(each) for each in found.windows],
        "changes": [asdict(each) for each in found.changes],
        "decisions": [msgspec.to_builtins(each) for each in found.decisions],
        "routing_cost": found.cost,
        "routing_cost_with": found.cost_with,
        "price": found.price,
        "saved_share": found.saved_share,
        "saved_share_if_designed_for": {way: each.saved_share for way, each in sorted(replays.items())},
        "topology": found.with_loop.sha256 if found.with_loop else None,
    }


def _show(found: "Replay", replays: "Replays") -> None:
    for decision in found.decisions:
        if decision.kind in SHOWN:
            click.echo(f"{decision.window or '-'}  {decision.kind}: {decision.text}")
    count, changes = len(found.windows), len(found.changes)
    actions = sum(each.actions for each in found.changes)
    click.echo(f"{count} windows: {changes} changes with {actions} actions would have been made.")
    costs = f"{found.cost:.6g} as it was; {found.cost_with:.6g} with the loop"
    click.echo(f"Routing cost {costs}, and {found.price:.6g} for the changes: {found.saved_share:.1%} saved.")
    if replays["forecast"].changes != replays["measured"].changes:
        ways = ", ".join(
            f"{each.saved_share:.1%} for the {way} traffic" for way, each in sorted(replays.items())
        )
        click.echo(f"By the traffic that changes are designed for: {ways}.")


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("what-if", total=3)
        yield lambda stage: bar.update(task, description=stage, advance=1)
