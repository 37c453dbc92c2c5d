"""Sends this package to the workers of a cluster, and checks that they have what it imports.

Workers on other machines get the modules of the process that starts the session, and use these before any
that are installed there: so both are of one version. Packages that are compiled for a machine (`NEEDED`) are
not sent. Whether they are there is asked at the start, because a task that fails later says it in a stack
trace. Asked are the workers that have registered by then; what another one lacks is said by `faults`.
"""

import importlib
import json
import platform
import socket
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipimport import zipimporter

import regraft
from regraft.model import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = ("lark", "msgspec", "numpy", "pandas", "pyarrow")
"""What workers import besides this package and PySpark, in every run of the pipeline."""
HINT = "install it there, or see docs/howto/existing-cluster.md"
_ROWS = 10_000
"""Spark divides them among as many tasks as the workers run at once."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can hold."""


class Shipped(NamedTuple):
    """The folder is removed when nothing refers to it any more, or when the process ends."""

    folder: tempfile.TemporaryDirectory[str]
    file: Path


def archive() -> bytes:
    """The modules of this package as a zip file: the same modules give the same bytes."""
    loader: object = getattr(regraft.__spec__, "loader", None)
    if isinstance(loader, zipimporter):  # this is a worker, which was sent such a file
        return Path(loader.archive).read_bytes()
    source = Path(regraft.__file__).parent
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as whole:
            for path in sorted(source.rglob("*.py")):
                entry = zipfile.ZipInfo(path.relative_to(source.parent).as_posix(), _LONG_AGO)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                whole.writestr(entry, path.read_bytes())
        file.seek(0)
        return file.read()


@cache
def _shipped() -> Shipped:
    """Written once in a process. It has to stay, because a worker that starts later fetches it later."""
    folder = tempfile.TemporaryDirectory(prefix="regraft-")
    file = Path(folder.name) / "regraft.zip"
    file.write_bytes(archive())
    return Shipped(folder, file)


def ship(session: "SparkSession") -> None:
    """Send the package to the workers of the session, those of Spark Connect as well."""
    place = str(_shipped().file)
    if hasattr(session, "sparkContext"):
        session.sparkContext.addPyFile(place)
    else:
        session.addArtifacts(place, pyfile=True)


def check_workers(session: "SparkSession") -> int:
    """How many tasks the workers run at once. `BadInput` if the Python of one lacks a module."""
    from pyspark.sql import functions as f  # noqa: PLC0415 — loads pyspark

    # Functions that work on batches need Arrow, which may be what is missing.
    missing = f.udf(lambda row: said_missing(), "string", useArrow=False)
    asked = session.range(_ROWS).select(missing("id").alias("said"), f.spark_partition_id().alias("task"))
    found = asked.agg(f.collect_set("said").alias("said"), f.max("task").alias("last")).collect()[0]
    for said in sorted(found["said"]):
        host, version, names = json.loads(said)
        modules = ", ".join(map(repr, names))
        what = "module" if len(names) == 1 else "modules"
        raise BadInput(f"worker {host}", f"Python {version} has no {what} {modules}: {HINT}")
    return int(found["last"]) + 1


@cache
def said_missing() -> str | None:
    """What a worker lacks: its host, the version of its Python and the modules, as JSON; None if nothing."""
    names = [name for name in NEEDED if not _is_there(name)]
    if not names:
        return None
    return json.dumps([socket.gethostname(), platform.python_version().rpartition(".")[0], names])


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
