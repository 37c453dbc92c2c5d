"""What is old is let go of, so that a pipeline that runs for months needs the room of some days.

Old is a window that ends so far behind the newest record, whatever the clock says. Its clean records and
tables go, and what still comes of it is late. Of interest, what holds on is kept however old it is, in one
piece. Spools are somebody else's: they are removed only where that is asked for.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from regraft.measure.ingest import read_records
from regraft.measure.inputs import DONE, Read, spool_files
from regraft.measure.schemas import INTEREST
from regraft.measure.state import RECORDS, State
from regraft.measure.transforms.interest import last_added
from regraft.measure.windows import folder_name

log = logging.getLogger("regraft.measure")
PIECES = 16
"""Old commits with interest that may stand before they are put together."""


def forget(state: State, keep: int | None) -> State:
    """The state without windows older than so many microseconds; those still to be computed are never old."""
    if keep is None or not state.brokers:
        return state
    first = (max(state.brokers.values()) - keep) // state.width * state.width
    closed = max(state.closed, min([first, *state.dirty()]))
    windows = {start: window for start, window in state.windows.items() if int(start) >= closed}
    gone = {folder_name(int(start)) for start in state.windows.keys() - windows.keys()}
    oldest = min((min(window.commits) for window in windows.values()), default=state.commit)
    return msgspec.structs.replace(
        state,
        closed=closed,
        windows=windows,
        rejections=[commit for commit in state.rejections if commit >= oldest],
        tables={
            name: versions
            if name == "interest"  # made anew each time, from all that is known
            else {window: version for window, version in versions.items() if window not in gone}
            for name, versions in state.tables.items()
        },
    )


def interest_together(spark: SparkSession, out: Path, state: State, number: int) -> State:
    """Of interest records that no window holds any more, those that still count become part of one commit."""
    held = {commit for window in state.windows.values() for commit in window.commits}
    old = [commit for commit in state.interests if commit not in held]
    if len(old) <= PIECES:
        return state
    counts = last_added(read_records(spark, out, old, INTEREST)).coalesce(1)
    counts.write.mode("overwrite").parquet(str(out / RECORDS / str(number) / f"part={INTEREST}"))
    left = [commit for commit in state.interests if commit in held]
    return msgspec.structs.replace(state, interests=[number, *left])


def gone_forgotten(read: Mapping[str, int], source: Path) -> dict[str, int]:
    """How far files were read, without those that are not there any more."""
    there = {file.name for file in spool_files(source)}
    return {name: count for name, count in read.items() if name in there}


def remove_spools(source: Path, read: Read, before: float) -> int:
    """Finished files that were read to their very end and not touched since `before`; how many went."""
    removed = 0
    for file in spool_files(source):
        path = source / file.name
        try:
            found = os.stat(path)
            old = path.name.endswith(DONE) and found.st_mtime < before
            if old and read.get(file.name, 0) >= found.st_size:
                path.unlink()
                removed += 1
        except FileNotFoundError:  # it is being finished just now, or somebody else was faster
            continue
        except OSError as fault:
            log.warning("%s: spools cannot be removed: %s", source, fault.strerror)
            return removed
    return removed
