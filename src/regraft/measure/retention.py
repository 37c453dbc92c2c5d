"""Removes old windows, so that a pipeline that runs for months needs the disk space of some days.

A window is old if it ends long enough before the newest record; the clock does not matter. Records of it
that still arrive are late. Interest that still holds is kept, however old. Segments belong to the brokers:
they are removed only on request.
"""

import msgspec
import pyarrow as pa

from regraft.measure.lake import Lake
from regraft.measure.ledger import PipelineState, Turn, commit_state
from regraft.measure.schemas import TABLES
from regraft.measure.segments import INDEX, REJECTED_TABLE
from regraft.measure.windows import date_of, shown
from regraft.model.delta import DATE, LAST_WINDOW, WINDOW
from regraft.model.snapshot import WINDOWS
from regraft.model.store import FolderStore, Store
from regraft.segments.names import parse_name

HOUR = 3_600_000_000
"""In microseconds: segments are removed an hour at a time, as the index is written anew for it."""
SHARE = 16
"""Old windows are removed when they are this part of what is kept: each time, files are written anew."""


def forget_old_windows(lake: Lake, state: PipelineState, keep: int | None) -> PipelineState:
    """Remove windows older than `keep` microseconds. Windows to be computed are never old."""
    if keep is None or not state.brokers:
        return state
    first = (state.newest - keep) // state.width * state.width
    closed = max(state.closed, min([first, *state.dirty]))
    if closed - state.closed < keep // SHARE:
        return state
    date, time = date_of(closed), f"'{shown(closed)}'"
    for name in (*TABLES, WINDOWS):
        if name != "interest":
            lake.delete(name, f"{DATE} <= '{date}' AND {WINDOW} < {time}")
    lake.delete("interest", f"until < {time}")
    lake.delete(INDEX, f"{DATE} <= '{date}' AND {LAST_WINDOW} < {time}")
    lake.delete(REJECTED_TABLE, f"{DATE} < '{date}'")
    return msgspec.structs.replace(
        state,
        closed=closed,
        repeats=tuple(span for span in state.repeats if span[1] >= closed),
        doubled={start: count for start, count in state.doubled.items() if start >= closed},
    )


def remove_segments(store: Store, now: Turn, before: int) -> Turn:
    """Remove segments that were taken in, and whose records are all from hours before that. Their windows are
    sealed, because they could not be computed again as a whole."""
    state, lake = now
    before -= before % HOUR
    table = lake.between(INDEX, ["name", LAST_WINDOW, "last"], 0, before)
    if table is None:
        return now
    untils = table[LAST_WINDOW].cast(pa.int64()).to_pylist()
    rows = zip(table["name"].to_pylist(), untils, table["last"].to_pylist(), strict=True)
    open_from = min(state.dirty, default=state.newest)
    old = [
        (name, until)
        for name, until, last in rows
        if last < before and until + state.width <= open_from and parse_name(name) is not None
    ]
    if not old:
        return now
    sealed = max(state.sealed, *(until + state.width for _, until in old))
    lake.delete(INDEX, f"last < {before} AND {LAST_WINDOW} < '{shown(sealed)}'")
    state = commit_state(msgspec.structs.replace(state, sealed=min(sealed, open_from)), lake)
    for name, _ in old:
        store.remove(name)
    if isinstance(store, FolderStore):
        for folder in {name.rpartition("/")[0] for name, _ in old}:
            store.remove_if_empty(folder)
    return Turn(state, lake)
