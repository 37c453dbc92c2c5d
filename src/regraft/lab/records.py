"""The CSV files of an experiment: rows that are kept as they are measured, and the tables made from them."""

import csv
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from regraft.model import BadInput

Trial = TypeVar("Trial", bound=tuple[Any, ...])
Row = TypeVar("Row", bound=tuple[Any, ...])


class Records(Generic[Trial, Row]):
    """What has been measured so far, by trial. Each row is written at once, so an experiment can be resumed.

    A trial and what was measured of it are NamedTuples: their fields are the columns of the file, their types
    say how a cell is read. A last line that was cut short, as after a kill, is dropped and measured again.
    Floats are written with `digits` significant digits, or exactly if that is None.
    """

    def __init__(
        self, path: Path, trial: Callable[..., Trial], row: Callable[..., Row], digits: int | None = 6
    ) -> None:
        self.path = path
        self.rows: dict[Trial, Row] = {}
        self._trial, self._row, self._digits = trial, row, digits
        self._width = len(get_type_hints(trial))
        self._kinds = {**get_type_hints(trial), **get_type_hints(row)}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        complete = text[: text.rfind("\n") + 1]
        if complete:
            self._read(complete)
        if complete != text or not text:
            path.write_text(complete or ",".join(self.columns) + "\n", encoding="utf-8")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    def add(self, trial: Trial, row: Row) -> None:
        self.rows[trial] = row
        with self.path.open("a", newline="", encoding="utf-8") as file:
            cells = [self._text(value) for value in (*trial, *row)]
            csv.writer(file, lineterminator="\n").writerow(cells)

    def _text(self, value: object) -> str:
        if isinstance(value, float) and self._digits is not None:
            return f"{value:.{self._digits}g}"
        return "" if value is None else " ".join(str(value).split())

    def _read(self, text: str) -> None:
        table = csv.reader(text.splitlines())
        if tuple(next(table)) != self.columns:
            raise BadInput(f"{self.path}: line 1", f"the columns must be {','.join(self.columns)}")
        for number, cells in enumerate(table, start=2):
            try:
                kinds = zip(self._kinds.values(), cells, strict=True)
                values = [_value(kind, cell) for kind, cell in kinds]
            except ValueError as error:
                raise BadInput(f"{self.path}: line {number}", str(error)) from error
            self.rows[self._trial(*values[: self._width])] = self._row(*values[self._width :])


def _value(kind: Any, cell: str) -> object:
    """The cell as a value of the field's type: a plain type, `Literal[…]`, or a type `| None`."""
    if isinstance(kind, types.UnionType):
        if not cell:
            return None
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        if cell not in get_args(kind):
            raise ValueError(f"{cell!r} is none of {', '.join(get_args(kind))}")
        return cell
    return cell == "True" if kind is bool else kind(cell)


def write_table(path: Path, table: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in table:
            writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
