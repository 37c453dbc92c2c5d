"""The process that Python's workers are forked from: `python -m regraft.measure.daemon <module of a worker>`.

Spark puts a zip file of PySpark's source before the installed package, and Python compiles all of it anew in
every process. Here the installed package is used, which is compiled already: a process starts in a quarter of
the time.
"""

import sys
from importlib.util import find_spec

_ZIP = "pyspark.zip"


def without_zip(path: list[str]) -> list[str]:
    """The places of modules without Spark's zip files."""
    homes = {each.removesuffix(_ZIP) for each in path if each.endswith(f"/{_ZIP}")}
    return [each for each in path if not (each.endswith(".zip") and each.rpartition("/")[0] + "/" in homes)]


if __name__ == "__main__":
    everywhere, sys.path[:] = list(sys.path), without_zip(sys.path)
    if find_spec("pyspark") is None:
        sys.path[:] = everywhere
    from pyspark.daemon import manager

    manager()
