"""Remembers Java's classes and their functions by name, for the calls that PySpark makes for every column.

PySpark asks Java for the class `functions`, and then for the function in it, at every use. Java answers by
looking for the name in all packages, and so in Spark's 280 jars. The answer is always the same.
"""

from typing import Any

CLASSES = ("functions", "org.apache.spark.sql.functions", "PythonSQLUtils", "PythonUtils")


class _Remembered:
    """A class of Java whose functions are asked for once. They have no state, so threads may share them."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._java_class, name)
        setattr(self, name, member)
        return member


def remember_classes(jvm: Any) -> None:
    """`jvm` is the view of Java that PySpark uses; what it has as an attribute it does not ask Java for."""
    for name in CLASSES:
        if name not in vars(jvm):
            setattr(jvm, name, _Remembered(getattr(jvm, name)))
