"""`regraft costs TABLES`: what links cost, as their brokers have measured it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regraft.cli.help_headings import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    from regraft.costs import Costs
    from regraft.model import Ends, Link, Topology

FILE = click.Path(path_type=Path)
SHOWN = 20


@click.command(cls=Command)
@click.argument("tables")
@click.option(
    "-o", "--output", type=FILE, metavar="NETWORK", help="Write a network file: possible links, costs."
)
@click.option(
    "--all", "everything", is_flag=True, help=f"Show all pairs, not the {SHOWN} cheapest new links."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def costs(tables: str, output: Path | None, everything: bool, as_json: bool) -> None:
    """Say what links cost, as measured.

    TABLES is what `regraft measure` has written. Brokers with --telemetry measure the round trip to their
    neighbours and to a few other brokers at a time. A link costs its round trip relative to the typical one.
    Pairs that nobody has measured are estimated (~). The file is for `design ocbr --network`, and for the
    loop (`[overlay] network`), which without a file takes what is measured.

    \b
    Examples:
      regraft costs tables
      regraft costs tables -o network.json
      regraft design ocbr --traffic traffic.parquet --network network.json
    """
    from regraft.costs.files import read_costs
    from regraft.model.topology_files import write_topology

    known, used = read_costs(tables)
    network = known.whole_network(used)
    if output is not None:
        write_topology(network, output)
    if as_json:
        click.echo(json.dumps(_document(known, network, used)))
        return
    _show(known, network, used, everything)
    if output is not None:
        click.echo(f"network written to {output}", err=True)


def _document(known: "Costs", network: "Topology", used: "Topology") -> dict[str, object]:
    trips = known.known(network.by_ends)
    return {
        "typical_round_trip_ms": known.typical_ms,
        "links": [
            {
                "ends": each.ends,
                "round_trip_ms": trips[each.ends],
                "cost": each.cost,
                "measured": each.ends in known.round_trips,
                "linked": each.ends in used.by_ends,
            }
            for each in network.links
        ],
    }


def _show(known: "Costs", network: "Topology", used: "Topology", everything: bool) -> None:
    from rich.table import Table

    from regraft.cli.printing import console, shown
    from regraft.model.phrases import counted

    table = Table("link", "round trip", "cost", "now", box=None, pad_edge=False)
    for column in table.columns[1:3]:
        column.justify = "right"
    rows = sorted(network.links, key=_order(used))
    most = len(rows) if everything else len(used.links) + SHOWN
    trips = known.known(network.by_ends)
    for link in rows[:most]:
        took = trips[link.ends]
        mark = "" if link.ends in known.round_trips else "~"
        table.add_row(
            " - ".join(map(shown, link.ends)),
            "-" if took is None else f"{mark}{took:.3g} ms",
            f"{link.cost:.3g}",
            "linked" if link.ends in used.by_ends else "",
        )
    console().print(table)
    if (hidden := len(rows) - most) > 0:
        click.echo(f"and {counted(hidden, 'dearer pair')} (--all)")
    click.echo(f"A link of cost 1 has a round trip of {known.typical_ms:.3g} ms.")


def _order(used: "Topology") -> "Callable[[Link], tuple[bool, float, Ends]]":
    """The links in use first, then the cheapest."""
    return lambda link: (link.ends not in used.by_ends, link.cost, link.ends)
