"""Read and write files, and parse JSON strictly; every fault names its place.

Refused for every format: a missing file, a folder, a file above `SIZE_LIMIT`, an empty file, text that is not
UTF-8. Refused for JSON also: a key that is twice in one object, NaN and Infinity, nesting that is too deep.
Writing is atomic: a reader sees the old file or the new one, never a half.
"""

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from regraft.model.errors import BadInput, RegraftError

SIZE_LIMIT = 512 * 2**20
"""Bytes. A tree of 100,000 brokers needs about 5 MB."""
PARQUET, PARQUET_START = ".parquet", b"PAR1"
"""The suffix and the first bytes of a Parquet file."""
T = TypeVar("T")


def shown(path: str | Path) -> str:
    """The name of a file, or an address, for a one-line message."""
    name = str(path)
    return name if name.isprintable() else repr(name)


@contextlib.contextmanager
def faults_in(path: str | Path) -> Iterator[None]:
    """A `BadInput` that is raised in the block gets the file's name, unless it has it already."""
    try:
        yield
    except BadInput as fault:
        raise fault if fault.place == shown(path) else fault.within(shown(path)) from None


def read_json(path: str | Path, build: Callable[[Any], T]) -> T:
    """What `build` makes of the JSON document in the file; a `BadInput` names the file."""
    path = Path(path)
    with faults_in(path):
        return build(parse_json(as_text(read_bytes(path))))


def read_bytes(path: Path) -> bytes:
    """The file's content, or `BadInput` with the file's name and the rule it breaks."""
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except IsADirectoryError:
        raise BadInput(shown(path), "a file is needed, this is a folder") from None
    except FileNotFoundError:
        raise BadInput(shown(path), "there is no such file") from None
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else str(fault)
        raise BadInput(shown(path), f"cannot be read: {reason}") from None
    if len(content) > SIZE_LIMIT:
        raise BadInput(shown(path), f"larger than {SIZE_LIMIT // 2**20} MiB, the limit for a file")
    if not content.strip():
        raise BadInput(shown(path), "the file is empty")
    return content


def read_parquet(path: Path) -> Any:
    """The table in a Parquet file, or in a folder of them as Spark writes it."""
    import pyarrow as pa  # noqa: PLC0415 - takes a third of a second, which other formats need not wait for
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as fault:
        raise BadInput("", f"not Parquet: {str(fault).partition(chr(10))[0]}") from None


def as_text(content: bytes) -> str:
    """UTF-8 text; a byte order mark, as some editors write it, is skipped."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        column = fault.start - content.rfind(b"\n", 0, fault.start)
        raise BadInput(f"line {line} column {column}", "the text must be UTF-8, this byte is not") from None


class _Doubled(dict[str, Any]):
    """An object in which `key` occurs twice; kept until its place in the document is known."""

    key: str


def parse_json(text: str) -> Any:
    """The document, strictly; `BadInput` names line and column, or the path of the object."""
    doubled: list[_Doubled] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        if len(plain) == len(pairs):
            return plain
        seen: set[str] = set()
        marked = _Doubled(plain)
        marked.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        doubled.append(marked)
        return marked

    def refuse(constant: str) -> Any:
        raise BadInput("", f"not JSON: {constant} is not a JSON number")

    try:
        document = json.loads(text, object_pairs_hook=build, parse_constant=refuse)
    except json.JSONDecodeError as fault:
        raise BadInput(f"line {fault.lineno} column {fault.colno}", f"not JSON: {fault.msg}") from None
    except RecursionError:
        raise BadInput("", "not readable: lists and objects are nested too deeply") from None
    except ValueError as fault:
        raise BadInput("", f"not readable: {str(fault).partition(';')[0]}") from None
    if doubled:
        place = next((path for path, value in _walk(document) if isinstance(value, _Doubled)), "")
        raise BadInput(place, f"the key {doubled[0].key!r} is given twice in one object")
    return document


def _walk(document: Any) -> Any:
    """Every value of a document with its path, outermost first, without recursion."""
    waiting = [("", document)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting.extend((f"{path}.{key}" if path else key, inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{path}[{index}]", inner) for index, inner in enumerate(value))


def write_text(path: Path, text: str) -> None:
    """Atomic: a temporary file in the same folder, then a rename.

    `BadInput` if the place is wrong, `RegraftError` if writing there fails.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    target = Path(os.path.realpath(path))  # a symbolic link stays one; what it points to is replaced
    try:
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise BadInput(shown(path), "cannot be written: this is a folder")
            with target.open("wb") as device:  # a pipe or a terminal cannot be replaced
                device.write(content)
            return
        _replace(target, content)
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(shown(path), f"cannot be written: there is no folder {shown(path.parent)}") from None
    except PermissionError:
        raise BadInput(shown(path), "cannot be written: permission denied") from None
    except OSError as fault:  # a full disk, a name too long: not the user's input
        raise RegraftError(f"{shown(path)}: cannot be written: {fault.strerror}") from None


def _replace(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """The permissions a plain `open` would have left: the old file's, or those of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def decode_path(kind: type, value: Any) -> Any:
    """The `dec_hook` for msgspec, which cannot decode paths by itself. Settings have no other such type."""
    if kind is Path:
        return Path(value)
    raise TypeError(f"{kind.__name__} is not a type that settings have")
