"""A bundle: a zip file with `manifest.json`, Python modules and data files, signed in its comment.

It is never unpacked: files are read into memory within limits, by host and worker with the same code, so
that what runs is what was checked. The comment holds the public key and an Ed25519 signature of every byte
before it.
"""

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from regraft.heal.components.manifest import Manifest, read_manifest
from regraft.model import BadInput

MANIFEST = "manifest.json"
MAGIC = b"regraft-component-1:"
KEY, SIGNATURE = 32, 64
COMMENT = len(MAGIC) + KEY + SIGNATURE
MOST_BYTES = 32 << 20
"""Of the file."""
MOST_CONTENT = 64 << 20
"""Of all that is in it."""
MOST_FILES = 2_000
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, EOFError, OSError)


class Bundle(NamedTuple):
    manifest: Manifest
    files: dict[str, bytes]
    sha256: str


class Signed(NamedTuple):
    """The parts of a bundle's bytes; `key` and `signature` are empty if nobody signed it."""

    content: bytes
    key: bytes
    signature: bytes


def parts(data: bytes) -> Signed:
    comment = data[-COMMENT:]
    if len(data) <= COMMENT or not comment.startswith(MAGIC):
        return Signed(data, b"", b"")
    key = comment[len(MAGIC) : len(MAGIC) + KEY]
    return Signed(data[:-COMMENT], key, comment[-SIGNATURE:])


def read_bundle(data: bytes, place: str) -> Bundle:
    """The content; `BadInput` for what is no bundle, or would not stay within limits or its folder."""
    if len(data) > MOST_BYTES:
        raise BadInput(place, f"has {len(data)} bytes, where {MOST_BYTES} are allowed")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = _files(archive, place)
    except BadInput:
        raise
    except _FAULTS as fault:
        raise BadInput(
            place, f"is no zip file that can be read: {str(fault) or type(fault).__name__}"
        ) from None
    if MANIFEST not in files:
        raise BadInput(place, f"has no {MANIFEST}")
    manifest = read_manifest(files[MANIFEST], f"{place}: {MANIFEST}")
    module = manifest.entry.partition(":")[0].replace(".", "/")
    if not {f"{module}.py", f"{module}/__init__.py"} & files.keys():
        raise BadInput(f"{place}: {MANIFEST}: entry", f"there is no module {module}.py in it")
    return Bundle(manifest, files, hashlib.sha256(data).hexdigest())


def _files(archive: zipfile.ZipFile, place: str) -> dict[str, bytes]:
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise BadInput(place, f"has {len(members)} files, where {MOST_FILES} are allowed")
    total = sum(member.file_size for member in members)
    if total > MOST_CONTENT:
        raise BadInput(place, f"unpacks to {total} bytes, where {MOST_CONTENT} are allowed")
    files: dict[str, bytes] = {}
    for member in members:
        name = _name(member, place)
        if member.is_dir():
            continue
        if name in files:
            raise BadInput(f"{place}: {name}", "is in it twice")
        with archive.open(member) as file:  # reads no more than the size that was added up above
            files[name] = file.read(member.file_size + 1)
        if len(files[name]) != member.file_size:
            raise BadInput(f"{place}: {name}", "is not as long as it says")
    return files


def _name(member: zipfile.ZipInfo, place: str) -> str:
    name = member.orig_filename
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in name or not name:
        raise BadInput(f"{place}: {name!r}", "leads out of the bundle")
    mode = member.external_attr >> 16
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and stat.S_IFMT(mode):
        raise BadInput(f"{place}: {name!r}", "is a link or a device, not a file")
    if member.flag_bits & 0x1:
        raise BadInput(f"{place}: {name!r}", "is encrypted")
    return str(path)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Not signed yet. The same files give the same bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(member, files[name], zipfile.ZIP_DEFLATED)
        archive.comment = bytes(COMMENT)  # its length is signed too
    return held.getvalue()[:-COMMENT]


def sealed(content: bytes, key: bytes, signature: bytes) -> bytes:
    return content + MAGIC + key + signature


def folder_files(folder: Path) -> dict[str, bytes]:
    """What is packed from a folder: regular files, without caches and hidden ones."""
    if not folder.is_dir():
        raise BadInput(str(folder), "is no folder")
    files = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
            continue
        if path.is_symlink():
            raise BadInput(str(path), "is a symbolic link, which a bundle can not hold")
        if path.is_file():
            files[inside.as_posix()] = path.read_bytes()
    return files
