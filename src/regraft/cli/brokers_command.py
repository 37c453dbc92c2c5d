"""`regraft brokers`: what the destination database knows of brokers and adaptations."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command
from regraft.cli.running_directory import WHICH_ZOOKEEPER, connected
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options

if TYPE_CHECKING:
    from regraft.coord import Coord, Layout


@click.command(cls=Command)
@zookeeper_options
@WHICH_ZOOKEEPER
@click.option(
    "--adaptations",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="Also the last N adaptations.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def brokers(zookeeper: Zookeeper, directory: Path, adaptations: int, as_json: bool) -> None:
    """List the brokers that the destination database knows.

    It says which brokers are alive, and which databases hold the record of each.

    \b
    Examples:
      regraft brokers
      regraft brokers --adaptations 10
    """

    found = connected(zookeeper, directory, lambda coord, layout: _read(coord, layout, adaptations))
    if as_json:
        click.echo(json.dumps(found))
        return
    _show(found)


async def _read(coord: "Coord", layout: "Layout", most: int) -> dict[str, Any]:
    import msgspec

    from regraft.coord.typed import read
    from regraft.heal.database.client import DatabaseClient
    from regraft.heal.database.metadata import Placement, running_databases

    client = await DatabaseClient.found(coord, layout)
    try:
        records = await client.brokers()
        log = await client.adaptations(most) if most else ()
    finally:
        await client.close()
    placement = await read(coord, f"{layout.root}/heal/placement", Placement)
    holders = placement.value.holders if placement else {}
    databases = await running_databases(coord, f"{layout.root}/heal")
    return {
        "brokers": [
            {**msgspec.to_builtins(record), "databases": list(holders.get(id, ()))}
            for id, record in sorted(records.items())
        ],
        "databases": {id: msgspec.to_builtins(here) for id, here in sorted(databases.items())},
        "adaptations": [msgspec.to_builtins(each) for each in log],
    }


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table

    from regraft.cli.printing import console, shown

    table = Table(
        "broker", "address", "state", "life", "region", "clients at", "databases", box=None, pad_edge=False
    )
    for each in found["brokers"]:
        address = f"{each['host']}:{each['port']}" if each["port"] else "-"
        clients_at, region = each["heir"] or each["id"], each["region"] or "-"
        row = (
            each["id"],
            address,
            each["state"],
            str(each["life"]),
            region,
            clients_at,
            " ".join(each["databases"]),
        )
        table.add_row(*map(shown, row))
    console().print(table)
    click.echo(f"{len(found['brokers'])} brokers in {len(found['databases'])} databases")
    if found["adaptations"]:
        _show_adaptations(found["adaptations"])


def _show_adaptations(log: list[dict[str, Any]]) -> None:
    from datetime import UTC, datetime

    from rich.table import Table

    from regraft.cli.printing import console, shown

    phases = ("timeout_ms", "vote_ms", "election_ms", "adaptation_ms")
    table = Table(
        "when", "kind", "cause", "rules", "leader", "phases (ms)", "outcome", box=None, pad_edge=False
    )
    for each in log:
        when = datetime.fromtimestamp(each["at"], UTC).strftime("%Y-%m-%d %H:%M:%S")
        times = " + ".join(f"{each[phase]:.0f}" for phase in phases)
        outcome = each["outcome"] + (f": {each['reason']}" if each["reason"] else "")
        row = (when, each["kind"], each["cause"], " ".join(each["rules"]), each["leader"], times, outcome)
        table.add_row(*map(shown, row))
    console().print(table)
