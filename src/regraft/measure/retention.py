"""Removes old windows, so that a pipeline that runs for months needs the disk space of some days.

A window is old if it ends long enough before the newest record; the clock does not matter. Its clean records
and tables are removed, and records of it that still arrive are late. Interest that still holds is kept,
however old, in one commit. Spools belong to the brokers: they are removed only on request.
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
from regraft.measure.state import RECORDS, PipelineState
from regraft.measure.transforms.interest import last_added
from regraft.measure.windows import folder_name

log = logging.getLogger("regraft.measure")
PIECES = 16
"""How many old commits with interest there may be before they are merged."""


def forget_old_windows(state: PipelineState, keep: int | None) -> PipelineState:
    """The state without windows older than `keep` microseconds. Windows to be computed are never old."""
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
            if name == "interest"  # computed for all windows every time
            else {window: version for window, version in versions.items() if window not in gone}
            for name, versions in state.tables.items()
        },
    )


def merge_old_interest(spark: SparkSession, out: Path, state: PipelineState, number: int) -> PipelineState:
    """Merge old interest records that no window needs, as far as they still count, into one commit."""
    held = {commit for window in state.windows.values() for commit in window.commits}
    old = [commit for commit in state.interests if commit not in held]
    if len(old) <= PIECES:
        return state
    counts = last_added(read_records(spark, out, old, INTEREST)).coalesce(1)
    counts.write.mode("overwrite").parquet(str(out / RECORDS / str(number) / f"part={INTEREST}"))
    left = [commit for commit in state.interests if commit in held]
    return msgspec.structs.replace(state, interests=[number, *left])


def without_removed(read: Mapping[str, int], source: Path) -> dict[str, int]:
    """How far files were read, without files that no longer exist."""
    there = {file.name for file in spool_files(source)}
    return {name: count for name, count in read.items() if name in there}


def remove_spools(source: Path, read: Read, before: float) -> int:
    """Remove complete files that were read to the end and not changed since `before`; returns how many."""
    removed = 0
    for file in spool_files(source):
        path = source / file.name
        try:
            found = os.stat(path)
            old = path.name.endswith(DONE) and found.st_mtime < before
            if old and read.get(file.name, 0) >= found.st_size:
                path.unlink()
                removed += 1
        except FileNotFoundError:  # just renamed, or removed by another process
            continue
        except OSError as fault:
            log.warning("%s: spools cannot be removed: %s", source, fault.strerror)
            return removed
    return removed
