"""The rows of the kTCO experiment in a CSV file, written as they come: an interrupted run goes on there."""

import csv
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from regraft.lab.ktco_trial import Measured, Trial
from regraft.model import BadInput

COLUMNS = (*Trial._fields, *Measured._fields)


class Rows:
    """What has been measured so far. A last line cut short, as after a kill, is dropped and run again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[Trial, Measured] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        complete = text[: text.rfind("\n") + 1]
        if complete:
            self._read(complete)
        if complete != text or not text:
            path.write_text(complete or ",".join(COLUMNS) + "\n", encoding="utf-8")

    @property
    def all(self) -> Mapping[Trial, Measured]:
        return MappingProxyType(self._rows)

    def has(self, trial: Trial, diameters: bool) -> bool:
        row = self._rows.get(trial)
        return row is not None and bool(row.largest_diameter or not diameters)

    def add(self, trial: Trial, row: Measured) -> None:
        self._rows[trial] = row
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow([*trial, *row])

    def _read(self, text: str) -> None:
        lines = csv.reader(text.splitlines())
        if tuple(next(lines)) != COLUMNS:
            raise BadInput(f"{self._path}: line 1", f"the columns must be {','.join(COLUMNS)}")
        for number, cells in enumerate(lines, start=2):
            try:
                trial, row = _read_line(cells)
            except (ValueError, TypeError):
                raise BadInput(f"{self._path}: line {number}", "is not a row of this experiment") from None
            self._rows[trial] = row


def _read_line(cells: list[str]) -> tuple[Trial, Measured]:
    distribution, nodes, topics, subscriptions, algorithm, k, seed, *row = cells
    links, degree, seconds, largest, average = row
    trial = Trial(distribution, int(nodes), int(topics), int(subscriptions), algorithm, int(k), int(seed))
    return trial, Measured(int(links), float(degree), float(seconds), int(largest), float(average))
