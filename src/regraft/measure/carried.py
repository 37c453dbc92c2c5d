"""Functions for a stream through Spark Connect, which find this package wherever the server calls them.

A Connect server gives the files of a session to its workers, but not to two processes of a stream: the one
that asks the data source for offsets, and the one that is called for each micro-batch. Both see `OUT`, so the
package is put there, and what is sent to them looks there first. It is pickled whole instead of by its name,
so it must use nothing of this package itself.
"""

import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from regraft.measure.shipping import archive
from regraft.model.files import write_bytes

PACKAGE = "_package.zip"


def put_package(out: Path) -> str:
    """Put the package into the folder; returns its SHA-256 and where it is."""
    place, content = out / PACKAGE, archive()
    if place.is_symlink():
        place.unlink()
    write_bytes(place, content)
    return f"{hashlib.sha256(content).hexdigest()}:{place}"


def carried(function: Callable[..., Any], package: str) -> Callable[..., Any]:
    """`function` in a form that such a process can call. `package` is what `put_package` has returned."""
    from pyspark import cloudpickle  # noqa: PLC0415 — loads pyspark

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return partial(_call, package, pickle.dumps(function))


def _call(package: str, function: bytes, *arguments: Any) -> Any:
    """Others may write in `OUT`, too: only the package that was meant is used, from a folder of the process's
    own."""
    import atexit  # noqa: PLC0415 — the module's own imports are not sent with this function
    import hashlib  # noqa: PLC0415
    import os  # noqa: PLC0415
    import pickle  # noqa: PLC0415
    import shutil  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    digest, _, put = package.partition(":")
    name = f"regraft-{digest}.zip"
    if not any(place.endswith(name) for place in sys.path):
        with open(put, "rb") as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() != digest:
            raise RuntimeError(f"{put} is not the package that was put there")
        own = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        with open(os.path.join(own, name), "wb") as file:
            file.write(content)
        sys.path.insert(0, os.path.join(own, name))
    return pickle.loads(function)(*arguments)
