"""`regraft rearrange`: every broker rearranges its neighbourhood for its traffic, while the overlay runs."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command
from regraft.cli.plan_options import SEED
from regraft.cli.running_directory import WHICH_ZOOKEEPER, connected
from regraft.cli.watching import stopped_by_signal
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput
from regraft.model.store import open_store

if TYPE_CHECKING:
    from regraft.coord import Coord, Layout
    from regraft.design.ocbr import Costs
    from regraft.model.store import Store
    from regraft.rearrange.masters import Rearranged

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@click.option("--telemetry", required=True, metavar="PLACE", help="The folder or address of the brokers'.")
@click.option(
    "--every",
    type=click.FloatRange(0.5),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long traffic is measured before each broker looks for a better neighbourhood.",
)
@click.option(
    "--for", "seconds", type=click.FloatRange(0), metavar="SECONDS", help="Then end.  [default: at Ctrl-C]"
)
@click.option("--broker", multiple=True, metavar="ID", help="Only this one; may be repeated.  [default: all]")
@click.option("--network", type=FILE, metavar="FILE", help="The possible links with their costs.")
@click.option("--alpha", type=float, default=1.0, show_default=True, help="Weight of the cost of links.")
@click.option("--beta", type=float, default=1.0, show_default=True, help="Weight of the cost of brokers.")
@SEED
@zookeeper_options
@WHICH_ZOOKEEPER
@click.option("--json", "as_json", is_flag=True, help="At the end, print one JSON object.")
def rearrange(zookeeper: Zookeeper, directory: Path, as_json: bool, **options: Any) -> int:
    """Let every broker of a running tree improve its neighbourhood.

    Each is master of its own neighbourhood (OCBR): it measures its own traffic, locks its neighbours when
    it has found a better tree around itself, and has its links shifted. No message is lost, and the cost of
    the traffic only falls.

    \b
    Examples:
      regraft up tree.json --telemetry out/telemetry     # in another terminal
      regraft rearrange --telemetry out/telemetry --every 30
    """

    costs = _costs(options)
    store = open_store(options["telemetry"])
    if store.is_local and not Path(store.place).is_dir():
        raise BadInput(
            "--telemetry", f"{store.place} is no folder: start with `regraft up TOPOLOGY --telemetry`"
        )
    done = connected(zookeeper, directory, lambda c, at: _rearrange(c, at, costs, store, options))
    made = [each for each in done if each.ok]
    if as_json:
        rows = [
            {
                "broker": each.broker,
                "actions": [[action.operation, *action.brokers] for action in each.actions],
                "saves": each.saves,
                "ok": each.ok,
                "reason": each.reason,
            }
            for each in done
        ]
        click.echo(json.dumps({"changes": len(made), "attempts": len(done), "log": rows}))
    else:
        click.echo(f"{len(made)} of {len(done)} changes made")
    return 0


def _costs(options: dict[str, Any]) -> "Costs":
    from regraft.design.ocbr import Costs
    from regraft.model import ends
    from regraft.model.topology_files import read_topology

    alpha, beta = options["alpha"], options["beta"]
    for name, value in (("--alpha", alpha), ("--beta", beta)):
        if not (math.isfinite(value) and value >= 0):
            raise BadInput(name, f"must be a number of at least 0, not {value}")
    if options["network"] is None:
        return Costs(alpha=alpha, beta=beta)
    network = read_topology(options["network"])
    links = {pair: link.cost for pair, link in network.by_ends.items()}
    brokers = {broker.id: broker.cost for broker in network.brokers}
    return Costs(lambda a, b: links.get(ends(a, b)), lambda id: brokers.get(id, 1.0), alpha, beta)


async def _rearrange(
    coord: "Coord", layout: "Layout", costs: "Costs", store: "Store", options: dict[str, Any]
) -> "list[Rearranged]":
    import asyncio

    from regraft.cli.apply_command import verify
    from regraft.rearrange.deploying import LiveOverlay
    from regraft.rearrange.masters import Pace, Rearranging
    from regraft.rearrange.segment_views import Segments

    done: list[Rearranged] = []

    def tell(change: "Rearranged") -> None:
        done.append(change)
        what = ", ".join(map(str, change.actions))
        became = f"saves {change.saves:g} per period" if change.ok else f"not done: {change.reason}"
        click.echo(f"{change.broker}: {what}: {became}", err=True)

    masters = Rearranging(
        await _brokers(coord, layout, options["broker"]),
        LiveOverlay(coord, layout, verify),
        Segments(store),
        costs=costs,
        pace=Pace(options["every"]),
        seed=options["seed"],
        tell=tell,
    )
    stop = stopped_by_signal()
    click.echo("brokers watch their traffic; Ctrl-C ends it", err=True)
    running = asyncio.create_task(masters.run())
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([running, stopped], timeout=options["seconds"], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    masters.end()
    await running
    return done


async def _brokers(coord: "Coord", layout: "Layout", wanted: tuple[str, ...]) -> tuple[str, ...]:
    from regraft.coord.typed import read
    from regraft.deploy.records import Current

    stored = await read(coord, layout.topology, Current)
    if stored is None:
        raise BadInput(layout.topology, "there is no topology: no overlay has been started here")
    if stored.value.kind != "tree":
        raise BadInput(layout.topology, f"holds a {stored.value.kind}, and only trees are rearranged")
    for id in wanted:
        if id not in stored.value.brokers:
            raise BadInput("--broker", f"there is no broker {id!r}")
    return wanted or tuple(stored.value.brokers)
