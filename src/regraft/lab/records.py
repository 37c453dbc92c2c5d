"""The rows of an experiment in a CSV file, written as they come, so that it can be resumed."""

import csv
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from regraft.lab.trial import Measurement, Status, Trial
from regraft.model import BadInput

COLUMNS = (*Trial._fields, *Measurement._fields)
WHOLE = {"size", "change", "steps", "actions", "bound_steps", "bound_actions"}
YES_OR_NO = {"only_first", "proven"}
REAL = {"time_limit", "seconds", "best_seconds", "peak_mb"}


class Records:
    """What has been measured so far. A last line cut short, as after a kill, is dropped and run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Trial, Measurement] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        complete = text[: text.rfind("\n") + 1]
        if complete:
            self._read(complete)
        if complete != text or not text:
            path.write_text(complete or ",".join(COLUMNS) + "\n", encoding="utf-8")

    @property
    def rows(self) -> MappingProxyType[Trial, Measurement]:
        return MappingProxyType(self._rows)

    def add(self, trial: Trial, measurement: Measurement) -> None:
        self._rows[trial] = measurement
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow([_text(value) for value in (*trial, *measurement)])

    def _read(self, text: str) -> None:
        table = csv.reader(text.splitlines())
        if tuple(next(table)) != COLUMNS:
            raise BadInput(f"{self.path}: line 1", f"the columns must be {','.join(COLUMNS)}")
        for number, cells in enumerate(table, start=2):
            try:
                values = [_value(column, cell) for column, cell in zip(COLUMNS, cells, strict=True)]
            except ValueError as error:
                raise BadInput(f"{self.path}: line {number}", str(error)) from error
            trial, measurement = values[: len(Trial._fields)], values[len(Trial._fields) :]
            self._rows[Trial(*trial)] = Measurement(*measurement)  # type: ignore[arg-type]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else " ".join(str(value).split())


def _value(column: str, cell: str) -> object:
    if column == "status" and cell not in get_args(Status):
        raise ValueError(f"{cell!r} is no status")
    if column == "reason" or cell:
        if column in WHOLE:
            return int(cell)
        if column in REAL:
            return float(cell)
        return cell == "True" if column in YES_OR_NO else cell
    return None
