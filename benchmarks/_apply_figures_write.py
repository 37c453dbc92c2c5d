"""Tables and pictures of the plan execution experiment (IPITT Figure 6 a-j)."""

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from regraft.lab.ipitt_execution import DONE, PLANNERS, Point, Rows
from regraft.lab.ipitt_execution_metrics import Shift
from regraft.lab.ipitt_execution_plots import PANELS, Watched, draw, draw_client
from regraft.lab.ipitt_execution_printed import figure_table, printed_table


def write(out: Path, rows: Rows, centre: Point) -> None:
    """Tables and pictures; Figure 6c from what is kept of the runs at the centre."""
    for panel in PANELS:
        draw(panel, rows, out / f"figure_{panel.name}.png", centre)
        quantities = [panel.quantity, *([panel.hollow] if panel.hollow else [])]
        _write_csv(out / f"figure_{panel.name}.csv", figure_table(panel.axis, rows, quantities, centre))
    _write_csv(out / "seed_figures.csv", printed_table(rows))
    central = {
        trial.planner: trial
        for trial, row in reversed(rows.items())
        if trial.point == centre and row.status == DONE
    }
    if len(central) == len(PLANNERS):
        client, watched = one_client({planner: out / "runs" / each.name for planner, each in central.items()})
        about = f"subscriber {client} of {centre.subscribers:,}, {centre.brokers} brokers, {centre.change} %"
        draw_client(watched, out / "figure_6c.png", about)


def one_client(places: dict[str, Path]) -> tuple[int, dict[str, Watched]]:
    """Of the client with the most affected deliveries under both plans together."""
    seen = {}
    for planner, place in places.items():
        with np.load(place / "deliveries.npz") as columns:
            seen[planner] = {name: columns[name] for name in columns.files}
    most = max(int(each["subscribers"].max(initial=0)) for each in seen.values()) + 1
    counts = [np.bincount(each["subscribers"][each["affected"]], minlength=most) for each in seen.values()]
    client = int(np.sum(counts, axis=0).argmax())
    watched = {}
    for planner, each in seen.items():
        mine = each["subscribers"] == client
        late = 1000 * (each["received"] - each["sent"])
        shifts = [Shift(*shift) for shift in json.loads((places[planner] / "shifts.json").read_text())]
        watched[planner] = Watched(each["sent"][mine], late[mine], each["affected"][mine], shifts)
    return client, watched


def _write_csv(path: Path, table: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
