"""What a run remembers for the next one, and how runs take turns: the table `_state`, which has one row.

A commit of all tables is one replacement of that row. It names the version of every table, so what a run has
written before it counts all together, or not at all. A run begins by writing a larger epoch into the row, so
that one that is still under way elsewhere cannot commit any more (`lake`). On one machine, a lock says so
earlier: two runs that would only supersede each other are no use.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from regraft.measure.lake import FILES_EACH, HOURS_KEPT, SETTINGS, Lake, Superseded, properties
from regraft.measure.schemas import SNAPSHOT_VERSION
from regraft.measure.segments import Offset, prepare
from regraft.model import BadInput
from regraft.model.delta import in_one_line, open_table, read_rows
from regraft.model.files import shown
from regraft.model.snapshot import STATE, place_of
from regraft.model.store import StoreFault, is_address, table_options

_TURNS = 5
"""How often a run tries to become the newest one, if others begin at the same moment."""


class PipelineState(msgspec.Struct, frozen=True):
    """It must not grow with what was measured, because every commit writes it. Times in microseconds."""

    width: int
    version: int = SNAPSHOT_VERSION
    commit: int = 0
    """The number of commits; 0: none yet."""
    offset: Offset = Offset()
    brokers: dict[str, int] = {}
    """The latest time seen from each broker."""
    first: int | None = None
    """The earliest time of all."""
    dirty: frozenset[int] = frozenset()
    """Windows whose tables do not have all their records yet."""
    repeats: tuple[tuple[int, int], ...] = ()
    """Windows, from the first to the last, that may hold a record twice."""
    doubled: dict[int, int] = {}
    """How many records of a window were there twice."""
    hours: frozenset[int] = frozenset()
    """Hours since 1970 with windows that their sums do not have yet."""
    closed: int = 0
    """Windows that start before this have been forgotten: records of them are late."""
    sealed: int = 0
    """Windows that start before this are not computed again, as their segments were removed."""
    counts: dict[str, int] = {}
    reasons: dict[str, int] = {}
    files: int = 0
    bytes: int = 0
    tables: dict[str, int] = {}
    """The version of each table."""

    @property
    def newest(self) -> int:
        return max(self.brokers.values(), default=0)

    def may_repeat(self, start: int) -> bool:
        return any(first <= start <= last for first, last in self.repeats)


class Turn(NamedTuple):
    """A run that may write: what it begins with, and the tables."""

    state: PipelineState
    lake: Lake


@contextmanager
def turn(out: str, width: int) -> Iterator[Turn]:
    """The turn to write to the tables there. Another run on this machine has to end first."""
    prepare(out)
    with _locked(out):
        yield _claimed(out, width)


def resumed(out: str, width: int, epoch: int) -> Turn:
    """The same turn, for another process, or after a commit. `Superseded` if it is over."""
    state, now = _read(out, width)
    if now != epoch:
        raise Superseded(f"{out}: another run writes there now")
    return Turn(state, Lake(out, epoch, state.tables))


def read_state(out: str | Path, width: int) -> PipelineState:
    """What the last commit has left. `BadInput` if windows there have another length."""
    return _read(str(out), width)[0]


def commit(state: PipelineState, lake: Lake, manifest: dict[str, Any]) -> PipelineState:
    """Make everything that this run has written count."""
    after = msgspec.structs.replace(state, tables=dict(lake.versions))
    _sync_logs(lake, state.tables)
    _write(lake.place, lake.epoch, after, manifest | {"tables": after.tables}, lake.epoch)
    return after


def commit_state(state: PipelineState, lake: Lake) -> PipelineState:
    """Commit what changes no table of a snapshot."""
    after = msgspec.structs.replace(state, tables=dict(lake.versions))
    _sync_logs(lake, state.tables)
    _write(lake.place, lake.epoch, after, None, lake.epoch)
    return after


def _claimed(out: str, width: int) -> Turn:
    for _ in range(_TURNS):
        state, epoch = _read(out, width)
        try:
            _write(out, epoch + 1, state, None, epoch)
        except Superseded:
            continue
        return Turn(state, Lake(out, epoch + 1, state.tables))
    raise Superseded(f"{out}: other runs begin there again and again")


def _read(out: str, width: int) -> tuple[PipelineState, int]:
    place = place_of(out, STATE)
    rows = read_rows(place, ("epoch", "state"))
    if not rows:
        return PipelineState(width), 0
    try:
        version = json.loads(rows[0]["state"]).get("version")
        if version != SNAPSHOT_VERSION:
            raise BadInput(
                place, f"is of schema version {version}, this is {SNAPSHOT_VERSION}: use another --out"
            )
        state = msgspec.json.decode(rows[0]["state"], type=PipelineState)
    except (ValueError, AttributeError, TypeError, KeyError) as fault:
        raise BadInput(place, f"not the state of a run: {fault}") from None
    if state.width != width:
        lengths = f"{state.width / 1e6:g} s long, not {width / 1e6:g} s"
        raise BadInput(place, f"windows there are {lengths}: use another --out")
    return state, int(rows[0]["epoch"])


def _write(
    out: str, epoch: int, state: PipelineState, manifest: dict[str, Any] | None, expected: int
) -> None:
    """Replace the row, if its epoch is still the expected one. Without a manifest, the last one stays."""
    from deltalake import write_deltalake  # noqa: PLC0415 — takes 70 ms to load
    from deltalake.exceptions import CommitFailedError, DeltaError  # noqa: PLC0415

    place = place_of(out, STATE)
    table = open_table(place)
    rows = read_rows(place, ("epoch", "manifest"), version=table.version()) if table is not None else []
    if (rows[0]["epoch"] if rows else 0) != expected:
        raise Superseded(f"{out}: another run writes there now")
    said = rows[0]["manifest"] if manifest is None and rows else json.dumps(manifest)
    row = pa.table(
        {
            "commit": pa.array([state.commit], pa.int64()),
            "epoch": pa.array([epoch], pa.int64()),
            "state": pa.array([msgspec.json.encode(state).decode()], pa.string()),
            "manifest": pa.array([said], pa.string()),
        }
    )
    try:
        write_deltalake(
            table if table is not None else place,
            row,
            mode="error" if table is None else "overwrite",
            configuration=dict(SETTINGS) if table is None else None,
            storage_options=dict(table_options(out)),
            commit_properties=properties(epoch),
        )
        if table is not None and table.version() % FILES_EACH == 0:
            table.vacuum(HOURS_KEPT, dry_run=False, commit_properties=properties(epoch))
    except CommitFailedError:
        raise Superseded(f"{out}: another run writes there now") from None
    except DeltaError as fault:
        if table is None and open_table(place) is not None:  # made by another run at this moment
            raise Superseded(f"{out}: another run writes there now") from None
        raise StoreFault(f"{place}: cannot be written: {in_one_line(fault)}") from None


def _sync_logs(lake: Lake, before: dict[str, int]) -> None:
    """Bring what the library has written to the disk, so that a loss of power leaves no table without its
    last commit. An object store does so itself."""
    if is_address(lake.place):
        return
    for name, version in lake.versions.items():
        log = Path(place_of(lake.place, name)) / "_delta_log"
        for number in range(before.get(name, -1) + 1, version + 1):
            _sync(log / f"{number:020d}.json")
        if version != before.get(name):
            _sync(log)


def _sync(place: Path) -> None:
    try:
        handle = os.open(place, os.O_RDONLY)
    except FileNotFoundError:  # merged into a checkpoint
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _locked(out: str) -> Iterator[None]:
    if is_address(out):
        yield
        return
    try:
        lock = os.open(Path(out) / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as fault:
        raise BadInput(shown(Path(out)), f"cannot be written: {fault.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(shown(Path(out)), "another run is writing there") from None
        yield
    finally:
        os.close(lock)
