"""What `regraft routes` prints: its figures beside those of plain shortest-path trees, and the time."""

import json
from typing import Any

import click

from regraft.cli.printing import console
from regraft.model.routes import RouteFigures, Routes
from regraft.routes import RouteState, least_cost_of


def as_document(state: RouteState) -> dict[str, Any]:
    """The one JSON object of `--json`."""
    routes, figures = state.routes, state.routes.figures
    assert figures is not None
    least = least_cost_of(state)
    return {
        "switches": len(routes.network.switches),
        "edges": len(routes.network.edges),
        "publishers": len(routes.workload.publishers),
        "subscribers": len(routes.workload.subscribers),
        "matching": routes.matching,
        "trees": len(routes.trees),
        **_figures(figures),
        "lower_bound": round(figures.lower_bound, 6),
        "gap": round(figures.gap, 6),
        "least_cost": None if least is None else round(least, 6),
        "above_least": None if least is None else round(figures.cost / least - 1 if least else 0.0, 6),
        "shortest_path_trees": _figures(routes.initial) if routes.initial else None,
        "seconds": {name: round(seconds, 6) for name, seconds in routes.seconds.items()},
    }


def _figures(figures: RouteFigures) -> dict[str, Any]:
    return {
        "flows": figures.flows,
        "data_rate": round(figures.data_rate, 6),
        "cost": round(figures.cost, 6),
        "false_positives": round(figures.false_positives, 6),
        "longest_path": figures.longest_path,
    }


def tables_document(routes: Routes) -> str:
    """All tables, one line per entry."""
    network = routes.network
    tables = []
    for switch, table in routes.tables.items():
        entries = [
            json.dumps(
                {
                    "dz": entry.dz,
                    "publisher": entry.publisher,
                    "out": [[network.edges[edge].target, network.edges[edge].cable] for edge in entry.out],
                    "deliver": list(entry.deliver),
                },
                ensure_ascii=False,
            )
            for entry in table
        ]
        tables.append(
            f"  {json.dumps(switch, ensure_ascii=False)}: [\n    " + ",\n    ".join(entries) + "\n  ]"
        )
    return '{"tables": {\n' + ",\n".join(tables) + "\n}}\n"


def print_report(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("", "shortest-path trees", "content routes"):
        table.add_column(name, justify="left" if not name else "right")
    before = document["shortest_path_trees"] or {}
    for name, label in (
        ("flows", "flows"),
        ("data_rate", "events per second over all edges"),
        ("cost", "the same, weighted"),
        ("false_positives", "of these wanted by nobody behind the edge"),
        ("longest_path", "edges of the longest path"),
    ):
        table.add_row(label, _number(before.get(name)), _number(document[name]))
    screen = console()
    screen.print(
        f"{document['switches']} switches, {document['publishers']} publishers, "
        f"{document['subscribers']} subscribers, {document['trees']} trees"
    )
    screen.print(table)
    if document["above_least"] is None:
        screen.print(f"At most {document['gap']:.2%} of the weighted sum could be saved by any routes.")
    else:
        screen.print(f"The weighted sum is {document['above_least']:.2%} above the least possible.")
    spent = sorted(document["seconds"].items(), key=lambda each: -each[1])
    screen.print(
        "Seconds: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in spent if seconds >= 0.005)
    )
    if "installed" in document:
        sent = document["installed"]
        screen.print(f"Installed in {sent['switches']} switches with {sent['messages']} messages.")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.6g}" if value < 1e6 else f"{value:,.0f}"
