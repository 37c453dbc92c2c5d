"""Functions for a stream through Spark Connect, which find this package wherever the server calls them.

A Connect server gives the files of a session to its workers, but not to two processes of a stream: the one
that asks the data source for offsets, and the one that is called for each micro-batch. Both see `OUT`, so the
package is put there, and what is sent to them looks there first. It is pickled whole instead of by its name,
so it must use nothing of this package itself.
"""

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
    """Put the package into the folder; returns where it is."""
    write_bytes(out / PACKAGE, archive())
    return str(out / PACKAGE)


def carried(function: Callable[..., Any], package: str) -> Callable[..., Any]:
    """`function` in a form that such a process can call."""
    from pyspark import cloudpickle  # noqa: PLC0415 — loads pyspark

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return partial(_call, package, pickle.dumps(function))


def _call(package: str, function: bytes, *arguments: Any) -> Any:
    import pickle  # noqa: PLC0415 — the module's own imports are not sent with this function
    import sys  # noqa: PLC0415

    if package not in sys.path:
        sys.path.insert(0, package)
    return pickle.loads(function)(*arguments)
