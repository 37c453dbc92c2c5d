"""What is new in a store: segments of brokers, by the last name of each, and loose files, by their names.

Segments of a broker are named in the order in which they were closed (`regraft.segments.names`), so how far a
store was read is one name for each broker, and only folders of that hour and later are listed. Any other
Parquet file is a loose one, e.g. what Spark or `regraft generate` wrote: its name is remembered.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec

from regraft.measure.schemas import TABLES
from regraft.model import BadInput
from regraft.model.delta import LOG
from regraft.model.files import shown
from regraft.model.snapshot import STATE, WINDOWS
from regraft.model.store import Entry, Store, is_address, open_store
from regraft.segments.names import SUFFIX, is_hour, parse_name

INDEX, REJECTED_TABLE, HISTORY = "_segments", "rejected", "history"
"""Tables beside those of a snapshot: the files that were taken in, rejected records, past hours."""
AT_ONCE = 16
"""How many folders of an object store are listed at once."""


class NewFile(NamedTuple):
    name: str
    size: int


class Offset(msgspec.Struct, frozen=True):
    """How far a store was read. `last`: folder of a broker → its last segment, without the folder."""

    last: Mapping[str, str] = {}
    loose: Mapping[str, int] = {}
    """Loose files, and how large they were."""

    def after(self, files: Iterable[NewFile]) -> "Offset":
        """These were read as well."""
        last, loose = dict(self.last), dict(self.loose)
        for name, size in files:
            if parse_name(name) is None:
                loose[name] = size
            else:
                folder, _, rest = name.partition("/")
                last[folder] = max(rest, last.get(folder, ""))
        return Offset(last, loose)


class Source(NamedTuple):
    """A store of telemetry, or a single file in it."""

    store: Store
    only: str | None = None


def open_source(place: str | Path) -> Source:
    text = str(place)
    if text.endswith(SUFFIX) and (is_address(text) or Path(text).is_file()):
        folder, _, name = text.rpartition("/")
        return Source(open_store(folder or "."), name)
    return Source(open_store(text))


class Found(NamedTuple):
    """What is new in a store: loose files, and segments such that all brokers advance together."""

    loose: list[NewFile]
    segments: list[NewFile]


def find_new(source: Source, offset: Offset) -> Found:
    """Each folder is listed once, and of those with hours only what may be new."""
    store = source.store
    if source.only is not None:
        held = [NewFile(each.name, each.size) for each in store.list() if each.name == source.only]
        return Found(_unread(held, offset), [])
    top = store.list()
    loose = [NewFile(each.name, each.size) for each in top if _is_loose(each)]
    segments: list[tuple[int, NewFile]] = []
    # A folder of this machine is listed faster than a thread is woken.
    with ThreadPoolExecutor(1 if store.is_local else AT_ONCE) as pool:
        folders = [each.name for each in top if each.is_folder]
        for inside in pool.map(partial(_in_folder, store, offset), folders):
            loose += inside.loose
            segments += enumerate(inside.segments)
    return Found(_unread(loose, offset), [file for _, file in sorted(segments)])


def new_files(source: Source, offset: Offset) -> list[NewFile]:
    found = find_new(source, offset)
    return [*found.loose, *found.segments]


def segments_after(store: Store, folder: str, last: str, until: str) -> list[NewFile]:
    """The segments of a broker behind the name `last`, up to `until`, in order."""
    hours = [each.name for each in store.list(folder) if _is_hour(each)]
    return [file for file in _segments(store, folder, hours, last) if file.name <= f"{folder}/{until}"]


def _in_folder(store: Store, offset: Offset, folder: str) -> Found:
    loose: list[NewFile] = []
    hours = []
    for each in store.list(folder):
        if _is_hour(each):
            hours.append(each.name)
        else:
            loose += _loose(store, f"{folder}/{each.name}", each)
    return Found(loose, _segments(store, folder, hours, offset.last.get(folder, "")))


def _segments(store: Store, folder: str, hours: Sequence[str], last: str) -> list[NewFile]:
    hour_of_last, _, name_of_last = last.partition("/")
    found = []
    for hour in hours:
        if hour >= hour_of_last:
            after = name_of_last if hour == hour_of_last else ""
            files = (file for file in store.list(f"{folder}/{hour}", after) if not file.is_folder)
            named = (NewFile(f"{folder}/{hour}/{file.name}", file.size) for file in files)
            found += [file for file in named if parse_name(file.name)]
    return found


def _loose(store: Store, name: str, entry: Entry) -> Iterator[NewFile]:
    """The file, or all Parquet files below the folder."""
    if entry.is_folder:
        for each in store.list(name):
            yield from _loose(store, f"{name}/{each.name}", each)
    elif _is_loose(entry):
        yield NewFile(name, entry.size)


def _unread(loose: Sequence[NewFile], offset: Offset) -> list[NewFile]:
    return [file for file in loose if offset.loose.get(file.name) != file.size]


def at_most(files: Sequence[NewFile], most_bytes: int | None) -> list[NewFile]:
    """The first files, up to so many bytes in all, but at least one."""
    if most_bytes is None:
        return list(files)
    upto = accumulate(file.size for file in files)
    return [file for file, size in zip(files, upto, strict=True) if size <= most_bytes] or list(files[:1])


def check_source(place: str | Path) -> None:
    """It exists, and can be listed."""
    if is_address(place):
        open_store(str(place)).list()
        return
    path = Path(str(place).removeprefix("file://"))
    try:
        if path.is_dir():
            os.listdir(path)
        elif not path.exists():
            raise BadInput(shown(path), "there is no such file or folder")
        elif path.suffix != SUFFIX:
            raise BadInput(shown(path), f"a folder, or a file that ends in {SUFFIX}, is needed")
    except OSError as fault:
        raise BadInput(shown(path), f"cannot be read: {fault.strerror}") from None


def prepare(out: str | Path) -> None:
    """The folder exists, can be written, and has nothing of others under the names of tables."""
    if not str(out):
        raise BadInput("--out", "names no folder")
    if is_address(out):
        store = open_store(str(out))
        if not store.list(f"{STATE}/{LOG}"):
            _nothing_of_others(str(out), {each.name for each in store.list()})
        return
    path = Path(str(out).removeprefix("file://"))
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not (path / STATE / LOG).is_dir():
            _nothing_of_others(shown(path), {each.name for each in path.iterdir() if _holds_something(each)})
    except OSError as fault:
        raise BadInput(shown(path), f"cannot be written: {fault.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadInput(shown(path), "cannot be written: permission denied")


def _nothing_of_others(out: str, names: Collection[str]) -> None:
    """A run begins with the table of its state. So what is there without it is not of a run, or damaged."""
    for name in sorted({*TABLES, WINDOWS, REJECTED_TABLE, HISTORY, INDEX, STATE}.intersection(names)):
        reason = f"is not of a run, as {STATE} is not there: use another --out"
        raise BadInput(f"{out.rstrip('/')}/{name}", reason)


def _holds_something(place: Path) -> bool:
    return not place.is_dir() or any(place.iterdir())


def _is_hour(entry: Entry) -> bool:
    return entry.is_folder and is_hour(entry.name)


def _is_loose(entry: Entry) -> bool:
    return not entry.is_folder and entry.name.endswith(SUFFIX)
