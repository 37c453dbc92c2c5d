"""What a run remembers for the next one, in `_state.json` beside the tables.

A commit is one replacement of this file. A folder of a commit that the file does not name was left by a run
that was killed: it is removed, and the work is done again. Everything that the file names is on the disk
before the file is (`sync`), so after a loss of power a commit is there as a whole, or not at all.

    OUT/_records/<commit>/part=…     clean records, as they came
    OUT/_versions/<commit>/<table>/  tables of the windows that a commit has computed
    OUT/snapshots/<commit>/          links to the newest version of every window, and the manifest
    OUT/history/hour=…               the demand of past hours, which outlives their windows
    OUT/current -> snapshots/<commit>
"""

import os
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from regraft.measure.schemas import SNAPSHOT_VERSION, TABLES
from regraft.model import BadInput
from regraft.model.files import shown, write_bytes
from regraft.model.snapshot import CURRENT, MANIFEST

STATE = "_state.json"
RECORDS, VERSIONS, SNAPSHOTS = "_records", "_versions", "snapshots"
INCOMING = f"{RECORDS}/incoming"
"""Where workers store the records that they read, until these are part of a commit."""
CHECKPOINT = "_checkpoint"
HISTORY = "history"
"""The demand of past hours (`history`)."""
DUE = "_due"
"""Links to the windows of the hours that are being summed up."""
AT_ONCE = 8
"""How many files are synchronised at the same time."""
KEPT = 3
"""How many snapshots are kept for readers that have not finished."""


class WindowState(msgspec.Struct):
    """Which commits hold records of a window, how many these are, and whether its tables are out of date."""

    commits: list[int]
    records: int
    dirty: bool = True


class PipelineState(msgspec.Struct):
    width: int
    version: int = SNAPSHOT_VERSION
    commit: int = 0
    snapshot: int = 0
    """The commit whose snapshot is the current one; 0: none yet."""
    spools: dict[str, int] = {}
    """How far each spool file was read."""
    parquet: dict[str, int] = {}
    stream: int = 0
    """Counts the batch runs between streams, because an earlier checkpoint does not know what they read."""
    batch: int = -1
    """The last micro-batch of the stream that was taken in."""
    brokers: dict[str, int] = {}
    """The latest time seen from each broker, in microseconds."""
    first: int | None = None
    """The earliest time of all."""
    windows: dict[str, WindowState] = {}
    """By start in microseconds."""
    interests: list[int] = []
    """Commits that hold interest records."""
    rejections: list[int] = []
    """Commits that hold rejected records."""
    tables: dict[str, dict[str, int]] = {}
    """Table → folder of a window → the commit that wrote it."""
    closed: int = 0
    """Windows that start before this have been forgotten: records of them are late."""
    counts: dict[str, int] = {}
    reasons: dict[str, int] = {}

    def dirty(self) -> list[int]:
        return sorted(int(start) for start, window in self.windows.items() if window.dirty)


def load(out: Path, width: int) -> PipelineState:
    """The state in a folder, or a new one; `BadInput` if it belongs to another version or window."""
    path = out / STATE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return PipelineState(width)
    except OSError as fault:
        raise BadInput(shown(path), f"cannot be read: {fault.strerror}") from None
    try:
        version = msgspec.json.decode(content, type=dict).get("version")
        if version != SNAPSHOT_VERSION:
            raise BadInput(
                shown(path), f"is of schema version {version}, this is {SNAPSHOT_VERSION}: use another --out"
            )
        state = msgspec.json.decode(content, type=PipelineState)
    except msgspec.MsgspecError as fault:
        raise BadInput(shown(path), f"not the state of a run: {fault}") from None
    if state.width != width:
        lengths = f"{state.width / 1e6:g} s long, not {width / 1e6:g} s"
        raise BadInput(shown(path), f"windows there are {lengths}: use another --out")
    return state


def save(out: Path, state: PipelineState) -> None:
    """The caller must have synchronised (`sync`) everything that the state names."""
    write_bytes(out / STATE, msgspec.json.encode(state))
    _sync(out)


def sync(folders: Iterable[Path]) -> None:
    """Bring all files in these folders, and the folders themselves, to the disk."""
    places = []
    for top in filter(Path.is_dir, folders):
        places.append(top.parent)
        for folder, _, names in os.walk(top):
            places += [path for name in names if not (path := Path(folder, name)).is_symlink()]
            places.append(Path(folder))
    with ThreadPoolExecutor(AT_ONCE) as pool:  # a disk combines several requests
        list(pool.map(_sync, places))


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reserve(out: Path, state: PipelineState) -> PipelineState:
    """Use up the number of the next commit, even if that commit fails: if this process is killed, its
    workers may still write for a moment, and must not write into the folders of the next run."""
    reserved = msgspec.structs.replace(state, commit=state.commit + 1)
    save(out, reserved)
    return reserved


def prepare(out: Path) -> None:
    """The folder exists, can be written, and has nothing of others under the names that a run uses: `tidy`
    removes what it does not know, and links take the tables' names."""
    if not (out / STATE).exists():
        for name in (SNAPSHOTS, CURRENT, HISTORY, DUE, *TABLES, "rejected", MANIFEST):
            if _is_used(out / name):
                raise BadInput(
                    shown(out / name), f"is not of a run, as {STATE} is not there: use another --out"
                )
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in (RECORDS, VERSIONS, SNAPSHOTS):
            (out / name).mkdir(exist_ok=True)
    except OSError as fault:
        raise BadInput(shown(out), f"cannot be written: {fault.strerror}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise BadInput(shown(out), "cannot be written: permission denied")


def _is_used(place: Path) -> bool:
    """An empty folder is what a run leaves that was killed before its first commit."""
    try:
        return any(place.iterdir()) if place.is_dir() else place.is_file() or place.is_symlink()
    except OSError:
        return False  # what cannot be read is noticed below


def tidy(out: Path, state: PipelineState) -> None:
    """Remove what a killed run left, and what is needed by no snapshot that a reader may still use."""
    there = sorted(int(folder.name) for folder in (out / SNAPSHOTS).iterdir() if folder.name.isdecimal())
    kept = {number for number in there if number <= state.snapshot} & {state.snapshot, *there[-KEPT:]}
    held = {commit for window in state.windows.values() for commit in window.commits}
    needed = {
        RECORDS: held | set(state.interests) | set(state.rejections),
        VERSIONS: {version for number in kept for version in _versions(out / SNAPSHOTS / str(number))},
        SNAPSHOTS: kept,
    }
    for name, commits in needed.items():
        for folder in (out / name).iterdir():
            if not (folder.name.isdecimal() and int(folder.name) in commits):
                shutil.rmtree(folder, ignore_errors=True)


def _versions(snapshot: Path) -> set[int]:
    """The commits that a snapshot's links lead to."""
    links = [Path(os.readlink(link)) for link in snapshot.glob("*/*") if link.is_symlink()]
    return {int(link.parts[-3]) for link in links if VERSIONS in link.parts}
