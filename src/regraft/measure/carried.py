"""Functions for a stream, which bring this package wherever a cluster or a Connect server calls them.

The workers of a session get its files, but not the process of a stream that asks the data source for offsets;
nor, on a Connect server, the one that is called for each micro-batch. So what is sent to them is pickled
together with the package, and whole instead of by its name: it must use nothing of this package itself.
"""

import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from regraft.measure.shipping import archive


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` in a form that such a process can call."""
    from pyspark import cloudpickle  # noqa: PLC0415 — loads pyspark

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    package = archive()
    name = f"regraft-{hashlib.sha256(package).hexdigest()}.zip"
    return partial(_call, name, package, pickle.dumps(function))


def _call(name: str, package: bytes, function: bytes, *arguments: Any) -> Any:
    import atexit  # noqa: PLC0415 — the module's own imports are not sent with this function
    import os  # noqa: PLC0415
    import pickle  # noqa: PLC0415
    import shutil  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    if not any(place.endswith(name) for place in sys.path):
        own = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        with open(os.path.join(own, name), "wb") as file:
            file.write(package)
        sys.path.insert(0, os.path.join(own, name))
    return pickle.loads(function)(*arguments)
