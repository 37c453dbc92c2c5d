"""A bundle: a zip file with `manifest.json`, Python modules and data files, signed in its comment.

It is never unpacked to disk. Host and worker read the files into memory with the same code and within the
same limits, so what runs is what was checked; the worker imports modules from there (`BundleFinder`). The
comment holds the public key and an Ed25519 signature of every byte before it.
"""

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import stat
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType
from typing import NamedTuple

from regraft.components.manifest import Manifest, read_manifest
from regraft.model import BadInput

MANIFEST = "manifest.json"
MAGIC = b"regraft-component-1:"
KEY, SIGNATURE = 32, 64
COMMENT = len(MAGIC) + KEY + SIGNATURE
MOST_BYTES = 32 << 20
"""The size of the zip file."""
MOST_CONTENT = 64 << 20
"""The size of its files, unpacked."""
MOST_FILES = 2_000
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, EOFError, OSError)


class Bundle(NamedTuple):
    manifest: Manifest
    files: dict[str, bytes]
    sha256: str


class Signed(NamedTuple):
    """The parts of a bundle's bytes; `key` and `signature` are empty if it is not signed."""

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
    """The content. `BadInput` if it is not a bundle, exceeds a limit, or has a path that leads out of it."""
    if len(data) > MOST_BYTES:
        raise BadInput(place, f"has {len(data)} bytes, where {MOST_BYTES} are allowed")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = _files(archive, place)
    except BadInput:
        raise
    except _FAULTS as fault:
        raise BadInput(place, f"is not a readable zip file: {str(fault) or type(fault).__name__}") from None
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
            raise BadInput(f"{place}: {name}", "occurs twice")
        with archive.open(member) as file:  # one byte beyond the declared size shows a lie about it
            files[name] = file.read(member.file_size + 1)
        if len(files[name]) != member.file_size:
            raise BadInput(f"{place}: {name}", "does not have the size that it declares")
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
    """The content of a bundle, without its signature. The same files give the same bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(member, files[name], zipfile.ZIP_DEFLATED)
        archive.comment = bytes(COMMENT)  # the length of the comment is part of the signed bytes
    return held.getvalue()[:-COMMENT]


def sealed(content: bytes, key: bytes, signature: bytes) -> bytes:
    return content + MAGIC + key + signature


def folder_files(folder: Path) -> dict[str, bytes]:
    """The files of a folder that belong in a bundle: regular ones, no caches, nothing hidden."""
    if not folder.is_dir():
        raise BadInput(str(folder), "is not a folder")
    files = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
            continue
        if path.is_symlink():
            raise BadInput(str(path), "is a symbolic link, which a bundle cannot hold")
        if path.is_file():
            files[inside.as_posix()] = path.read_bytes()
    return files


# The code of a bundle, as the modules of a worker


class BundleFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports from memory. The interpreter asks it last, so a bundle cannot replace other modules."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def _path(self, name: str) -> str | None:
        base = name.replace(".", "/")
        return next((p for p in (f"{base}/__init__.py", f"{base}.py") if p in self._files), None)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        found = self._path(fullname)
        if found is None:
            return None
        package = found.endswith("/__init__.py")
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=f"bundle:{found}", is_package=package)
        return spec

    def get_source(self, fullname: str) -> str:
        path = self._path(fullname)
        if path is None:
            raise ImportError(f"no module {fullname} in the bundle", name=fullname)
        return importlib.util.decode_source(self._files[path])

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.get_source(fullname), f"bundle:{self._path(fullname)}", "exec", dont_inherit=True)

    def is_package(self, fullname: str) -> bool:
        return (self._path(fullname) or "").endswith("/__init__.py")


def install_modules(files: Mapping[str, bytes]) -> None:
    sys.meta_path.append(BundleFinder(files))
