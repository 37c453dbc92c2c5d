"""Traffic in files: JSON (the public format) and Parquet.

    {"classes": [{"members": ["b1", "b7"], "demand": 5}, …]}

A Parquet file, or a folder of them as Spark writes it, has the columns `members` (a list of text)
and `demand` (a number); further columns are ignored. So has the measured table `traffic_classes`, which is
read from where `regraft measure` writes. The suffix `.parquet`, a folder, or the first
four bytes tell Parquet from JSON. A member may occur twice in a class (two clients at one broker),
and a class may occur twice in a file (two windows): demands add up. Every fault is a `BadInput` of
one line: the file, the place in it, the rule.
"""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import a_list, a_number, an_id, an_object, only, required
from regraft.model.files import (
    PARQUET,
    PARQUET_START,
    faults_in,
    read_json,
    read_parquet,
    write_bytes,
    write_text,
)
from regraft.model.measured import read_measured
from regraft.model.traffic import Traffic, TrafficClass

TABLE = "traffic_classes"


def read_traffic(path: str | Path) -> Traffic:
    """The traffic classes of a file, in its order, or of a measured table, also at an address."""
    if (table := read_measured(path, TABLE)) is not None:
        with faults_in(path):
            return _from_table(table)
    path = Path(path)
    if path.is_dir() or _is_parquet(path):
        with faults_in(path):
            return _from_table(read_parquet(path))
    return read_json(path, traffic_from)


def write_traffic(classes: Iterable[TrafficClass], path: str | Path) -> None:
    """Writes Parquet if the suffix says so, else JSON with one class per line; members in order."""
    path = Path(path)
    if path.suffix.lower() == PARQUET:
        _to_parquet(classes, path)
        return
    lines = (
        json.dumps({"members": sorted(members), "demand": demand}, ensure_ascii=False)
        for members, demand in classes
    )
    write_text(path, '{"classes": [\n  ' + ",\n  ".join(lines) + "\n]}\n")


def traffic_from(document: Any) -> Traffic:
    """The classes that a parsed JSON document describes; `BadInput` names the field."""
    whole = an_object(document, "")
    only(whole, ("classes",))
    classes = a_list(required(whole, "classes"), "classes")
    return tuple(_class_from(item, f"classes[{index}]") for index, item in enumerate(classes))


def _class_from(item: Any, place: str) -> TrafficClass:
    found = an_object(item, place)
    only(found, ("members", "demand"), place)
    members = a_list(required(found, "members", place), f"{place}.members")
    return _checked(members, required(found, "demand", place), place)


def _checked(members: list[Any], demand: Any, place: str) -> TrafficClass:
    if not members:
        raise BadInput(f"{place}.members", "a traffic class needs at least one member")
    ids = frozenset(an_id(member, f"{place}.members[{index}]") for index, member in enumerate(members))
    return TrafficClass(ids, a_number(demand, f"{place}.demand", 0))


def _is_parquet(path: Path) -> bool:
    """False also for a file that cannot be opened: `read_bytes` will say why."""
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET_START)) == PARQUET_START or path.suffix.lower() == PARQUET
    except (OSError, ValueError):
        return False


def _from_table(table: Any) -> Traffic:
    import pyarrow as pa  # noqa: PLC0415

    for column in ("members", "demand"):
        if table.column_names.count(column) != 1:
            raise BadInput("", f"there must be one column {column!r}")
    if not (pa.types.is_list(kind := table["members"].type) or pa.types.is_large_list(kind)):
        raise BadInput("members", f"the column must hold lists of broker ids, not {kind}")
    rows = zip(table["members"].to_pylist(), table["demand"].to_pylist(), strict=True)
    return tuple(
        _checked(a_list(members, f"row {index}.members"), demand, f"row {index}")
        for index, (members, demand) in enumerate(rows)
    )


def _to_parquet(classes: Iterable[TrafficClass], path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rows = [(sorted(members), float(demand)) for members, demand in classes]
    columns = {
        "members": pa.array([members for members, _ in rows], pa.list_(pa.string())),
        "demand": pa.array([demand for _, demand in rows], pa.float64()),
    }
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    write_bytes(path, content.getvalue())
