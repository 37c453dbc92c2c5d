"""The input files: spools, and compacted Parquet.

The name of a spool file here leaves out the suffix of a file that is still being written, so that it stays
the same when the file is complete. How far a file was read is a number of bytes, always at the start of a
line. A broker ends every file with a whole line: a file that does not end so, whatever its name, is still
being written or copied.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from regraft.model import BadInput
from regraft.model.files import shown

DONE = ".ndjson"
OPEN = ".ndjson.open"
PARQUET = ".parquet"
_BLOCK = 1 << 16

Read = Mapping[str, int]
"""File → how many bytes of it were read."""


class Input(NamedTuple):
    """`size`: how many bytes can be read now; of a spool file, up to the end of the last whole line."""

    name: str
    size: int


class Span(NamedTuple):
    """The lines of a spool file that begin at or after `start`, before `end`."""

    name: str
    start: int
    end: int


def spool_files(source: Path) -> list[Input]:
    """In the order in which they were begun, so that the spools of all brokers advance together."""
    found = {}
    for path in _files(source, (DONE, OPEN)):
        name = _name(source, path).removesuffix(".open")
        try:
            with path.open("rb") as file:
                found[name] = Input(name, line_end(file, os.fstat(file.fileno()).st_size))
        except FileNotFoundError:  # just renamed or removed: the next call finds it
            continue
    return sorted(found.values(), key=_begun)


def unfinished(source: Path) -> list[str]:
    """Files that have the name of a complete file, but end in the middle of a line."""
    return sorted(_name(source, path) for path in _files(source, (DONE,)) if _ends_within_a_line(path))


def _ends_within_a_line(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return line_end(file, size) < size
    except FileNotFoundError:
        return False


def parquet_files(source: Path) -> list[Input]:
    return sorted(Input(_name(source, path), path.stat().st_size) for path in _files(source, (PARQUET,)))


def check_source(source: Path) -> None:
    """It exists, and can be listed."""
    try:
        if source.is_dir():
            os.listdir(source)
        elif not source.exists():
            raise BadInput(shown(source), "there is no such file or folder")
        elif not source.name.endswith((DONE, OPEN, PARQUET)):
            raise BadInput(shown(source), f"a folder, or a file that ends in {DONE} or {PARQUET}, is needed")
    except OSError as fault:
        raise BadInput(shown(source), f"cannot be read: {fault.strerror}") from None


def open_spool(source: Path, name: str) -> BinaryIO:
    """The file, by either name: it may be completed, and thus renamed, at any moment."""
    path = source if source.is_file() else source / name
    unfinished = path.with_name(path.name.removesuffix(".open") + ".open")
    for candidate in (path, unfinished):
        try:
            return candidate.open("rb")
        except FileNotFoundError:
            continue
    return path.open("rb")


def unread(files: Iterable[Input], read: Read) -> list[Span]:
    """What was not read yet, in order."""
    return [Span(name, read.get(name, 0), size) for name, size in files if size > read.get(name, 0)]


def at_most(spans: Sequence[Span], most_bytes: int, source: Path) -> list[Span]:
    """The first spans, up to `most_bytes` in all, but at least one line."""
    chosen: list[Span] = []
    left = most_bytes
    for span in spans:
        if span.end - span.start <= left:
            chosen.append(span)
            left -= span.end - span.start
            continue
        with open_spool(source, span.name) as file:
            cut = line_end(file, span.start + left, span.start)
        if cut > span.start:
            chosen.append(Span(span.name, span.start, cut))
        break
    return chosen or list(spans[:1])


def line_end(file: BinaryIO, before: int, after: int = 0) -> int:
    """The end of the last whole line in the bytes between; `after` if there is none."""
    place = before
    while place > after:
        begin = max(after, place - _BLOCK)
        file.seek(begin)
        found = file.read(place - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        place = begin
    return after


def _files(source: Path, suffixes: tuple[str, ...]) -> Iterable[Path]:
    """In all folders below, too. Names that begin with a dot or an underscore are skipped, as Spark does."""
    if not source.is_dir():
        return [source] if source.name.endswith(suffixes) else []
    found = []
    for folder, folders, names in os.walk(source, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [Path(folder, name) for name in names if name.endswith(suffixes) and name[0] not in "._"]
    return found


def _name(source: Path, path: Path) -> str:
    return path.relative_to(source).as_posix() if source.is_dir() else path.name


def _begun(file: Input) -> tuple[int, str]:
    """The time in the name of a spool file, for sorting; files without one come first."""
    stamp = file.name.removesuffix(DONE).rpartition("-")[2]
    return (int(stamp) if stamp.isdecimal() else 0, file.name)
