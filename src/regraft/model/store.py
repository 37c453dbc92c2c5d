"""Places that hold whole files: a folder of this machine, or a bucket of an object store.

What is put is there as a whole or not at all, and never changes. A store is named by a path or by an address
such as `s3://bucket/prefix`. Where an object store is and who we are there is told by the environment
variables that its own tools use (`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`, …).
"""

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from regraft.model.errors import BadInput, RegraftError

ENDPOINT = "AWS_ENDPOINT_URL"
_HIDDEN = (".", "_")
_TORN = re.compile(r"\..+\.[0-9]+-[0-9]+")
"""What a file is called until it is complete: `put`."""


class StoreFault(RegraftError):
    """The store is away, full, or refuses. Nothing is half done."""


class Entry(NamedTuple):
    """A file or a folder, by its name in the folder that was listed; `size` is 0 for a folder."""

    name: str
    size: int
    is_folder: bool


class Store(Protocol):
    """Names are paths below the store, with `/` between the parts."""

    place: str
    """Its path or address."""

    @property
    def is_local(self) -> bool: ...

    def list(self, folder: str = "", after: str = "") -> list[Entry]:
        """What is directly in a folder and has a later name than `after`, by name; nothing if there is no
        such folder. Hidden names are left out."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Once it returns, the file survives a loss of power."""
        ...

    def open(self, name: str) -> Any:
        """A file that Arrow can read. `FileNotFoundError` if there is none."""
        ...

    def remove(self, name: str) -> None: ...

    def at(self, name: str) -> str:
        """The path or address of a file."""
        ...


def open_store(place: str | Path) -> Store:
    """`BadInput` for an address that nothing here understands."""
    text = str(place)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return FolderStore(text)
    if not rest.strip("/"):
        raise BadInput(text, "is not an address of a store: nothing follows the slashes")
    if scheme == "file":
        return FolderStore(text.removeprefix("file://"))
    return ObjectStore(text)


def is_address(place: str | Path) -> bool:
    """Whether this names an object store, not a folder of this machine. (A `Path` has lost a slash.)"""
    return "://" in str(place) and not str(place).startswith("file://")


class FolderStore:
    """A folder; it is made when something is put."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._folder = Path(place)

    @property
    def is_local(self) -> bool:
        return True

    def list(self, folder: str = "", after: str = "") -> list[Entry]:
        entries = []
        try:
            with os.scandir(self._folder / folder) as found:
                for each in found:
                    if each.name > after and not each.name.startswith(_HIDDEN):
                        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                            inside = each.is_dir()
                            entries.append(Entry(each.name, 0 if inside else each.stat().st_size, inside))
        except FileNotFoundError:
            return []
        except OSError as fault:
            raise BadInput(self.at(folder), f"cannot be read: {fault.strerror}") from None
        return sorted(entries)

    def put(self, name: str, content: bytes) -> None:
        path = self._folder / name
        new = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
        try:
            _make(path.parent)
            with new.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.rename(path)
            _sync(path.parent)
        except OSError as fault:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise StoreFault(f"{path}: cannot be written: {fault.strerror}") from None

    def open(self, name: str) -> Any:
        with _faults(self.at(name)):
            return (self._folder / name).open("rb")

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), _faults(self.at(name)):
            (self._folder / name).unlink()

    def remove_if_empty(self, folder: str) -> None:
        with contextlib.suppress(OSError):
            (self._folder / folder).rmdir()

    def remove_torn(self, folder: str) -> None:
        """Remove what writers that were killed left in a folder. Nobody may be writing into it."""
        with contextlib.suppress(OSError):
            for each in (self._folder / folder).glob(".*"):
                if _TORN.fullmatch(each.name):
                    each.unlink(missing_ok=True)

    def at(self, name: str) -> str:
        return str(self._folder / name)


def _make(folder: Path) -> None:
    """A folder, with those that it is in, so that it survives a loss of power."""
    if not folder.is_dir():
        if folder.parent != folder:
            _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ObjectStore:
    """A bucket of an object store, through Arrow, or what else it has an address for (`gs://`, `hdfs://`)."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/")
        self._files, self._base = _file_system(self.place)

    @property
    def is_local(self) -> bool:
        return False

    def list(self, folder: str = "", after: str = "") -> list[Entry]:
        from pyarrow import fs  # noqa: PLC0415 — loads Arrow

        selector = fs.FileSelector(self._name(folder), allow_not_found=True)
        with _faults(self.at(folder)):
            found = self._files.get_file_info(selector)
        return sorted(
            Entry(each.base_name, each.size or 0, each.type == fs.FileType.Directory)
            for each in found
            if each.base_name > after and not each.base_name.startswith(_HIDDEN)
        )

    def put(self, name: str, content: bytes) -> None:
        try:
            with _faults(self.at(name)), self._files.open_output_stream(self._name(name)) as stream:
                stream.write(content)
        except FileNotFoundError as fault:  # there is no such bucket
            raise StoreFault(str(fault).partition("\n")[0]) from None

    def open(self, name: str) -> Any:
        with _faults(self.at(name)):
            return self._files.open_input_file(self._name(name))

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), _faults(self.at(name)):
            self._files.delete_file(self._name(name))

    def at(self, name: str) -> str:
        return f"{self.place}/{name}" if name else self.place

    def _name(self, name: str) -> str:
        return f"{self._base}/{name}" if name else self._base


def located(place: str, folder: Path) -> str:
    """An address as it is; a relative path, from this folder."""
    return place if "://" in place else str(folder / place)


def table_uri(place: str | Path) -> str:
    """How the library of Delta tables is told this place: it takes a folder with a colon for an address."""
    text = str(place)
    return text if "://" in text else Path(text).absolute().as_uri()


def table_options(place: str | Path) -> Mapping[str, str]:
    """What the library of Delta tables needs to know, in addition to the environment, to be at this place."""
    if is_address(place) and os.environ.get(ENDPOINT, "").startswith("http://"):
        return {"AWS_ALLOW_HTTP": "true"}
    return {}


def _file_system(place: str) -> tuple[Any, str]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import fs  # noqa: PLC0415

    scheme, _, rest = place.partition("://")
    try:
        if scheme in ("s3", "s3a"):
            settings = {"endpoint_override": os.environ[ENDPOINT]} if os.environ.get(ENDPOINT) else {}
            if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
                settings["region"] = region
            # A small file that is opened late is put with one request instead of three.
            return fs.S3FileSystem(**settings, allow_delayed_open=True), rest
        files, base = fs.FileSystem.from_uri(place)
        return files, base
    except (pa.ArrowException, OSError, ValueError) as fault:
        reason = str(fault).partition("\n")[0]
        raise BadInput(place, f"is not an address of a store: {reason}") from None


@contextlib.contextmanager
def _faults(place: str) -> Iterator[None]:
    """Of a store. Faults of Arrow that are no `OSError`, about a name for instance, are a `ValueError`."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as fault:
        raise StoreFault(f"{place}: {str(fault).partition(chr(10))[0]}") from None
