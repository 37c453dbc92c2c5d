"""The kinds of values in a configuration file, and how a field of a section declares its key.

A section is a frozen dataclass. Each of its fields is made by `setting`, which takes the kind of the value,
the default as the file writes it, and the documentation; or by `secret`, which names an environment variable.
This module knows neither the sections nor the file.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from regraft.model.errors import BadInput
from regraft.model.quantities import byte_count, seconds

T = TypeVar("T")
Written = str | int | float | bool | list[str]
"""A value as TOML has it."""
LONGEST = 100 * 366 * 86_400.0
"""A hundred years, in seconds: the longest time that a key accepts."""
MOST, MOST_WHOLE = 1e15, 10**12
"""The largest numbers that a key without a limit of its own accepts. An infinite number is never accepted,
because the saved state of the loop, which holds it, could not be read again."""


@dataclass(frozen=True)
class ValueKind(Generic[T]):
    """`expected` says in words what the file must have. `read` turns a value of one of the types `written`
    into what the program uses, or raises `ValueError` or `BadInput`."""

    expected: str
    written: tuple[type, ...]
    read: Callable[[Any], T]

    def value(self, written: object, place: str) -> T:
        try:
            if type(written) in self.written:  # isinstance would take true for a number
                return self.read(written)
        except (ValueError, BadInput):
            pass
        raise BadInput(place, f"expected {self.expected}, found {shown(written)}")


def shown(written: object) -> str:
    """A value of the file in an error message."""
    if isinstance(written, str):
        return f'"{written}"'
    return str(written).lower() if isinstance(written, bool) else str(written)[:80]


@dataclass(frozen=True)
class Key:
    kind: ValueKind[Any]
    default: Written
    about: str


def setting(kind: ValueKind[T], default: Written, about: str) -> T:
    """A field that is a key of the file."""
    return field(default=kind.read(default), metadata={"key": Key(kind, default, about)})


def secret(variable: str) -> str:
    """A field that comes from the environment and never from the file; empty if the variable is not set."""
    return field(default="", repr=False, metadata={"variable": variable})


def keys_of(section: Any) -> dict[str, Key]:
    return {each.name: each.metadata["key"] for each in fields(section) if "key" in each.metadata}


def secrets_of(section: Any) -> dict[str, str]:
    """Variables of the environment by the fields that they are for."""
    return {each.name: each.metadata["variable"] for each in fields(section) if "variable" in each.metadata}


def _without_nul(written: str) -> str:
    if "\0" in written:
        raise ValueError(written)
    return written


def texts(written: list[object]) -> tuple[str, ...]:
    if not all(isinstance(each, str) for each in written):
        raise ValueError(written)
    return tuple(map(str, written))


def spark_settings(texts: Iterable[str], place: str) -> dict[str, str]:
    """Settings of Spark that a user has written as KEY=VALUE; `place`: where."""
    found = {}
    for each in texts:
        key, equals, value = each.partition("=")
        if not equals or not key.startswith("spark."):
            raise BadInput(f"{place} {each}", "must be KEY=VALUE, and the key begin with spark.")
        found[key] = value
    return found


def _within(written: float, least: float, most: float) -> float:
    if not least <= written <= most:  # also refuses nan
        raise ValueError(written)
    return written


def text(expected: str = "text") -> ValueKind[str]:
    return ValueKind(expected, (str,), _without_nul)


def choice(*names: str) -> ValueKind[Any]:
    def read(written: str) -> str:
        if written not in names:
            raise ValueError(written)
        return written

    return ValueKind("one of " + ", ".join(f'"{name}"' for name in names), (str,), read)


def whole(least: int, most: int = MOST_WHOLE) -> ValueKind[int]:
    at_most = "" if most == MOST_WHOLE else f" to {most}"
    return ValueKind(
        f"a whole number from {least}{at_most}", (int,), lambda written: int(_within(written, least, most))
    )


def number(least: float, most: float = MOST) -> ValueKind[float]:
    at_most = "" if most == MOST else f" to {most:g}"
    return ValueKind(
        f"a number from {least:g}{at_most}",
        (int, float),
        lambda written: float(_within(written, least, most)),
    )


def duration(least: str = "0s") -> ValueKind[float]:
    """In seconds."""
    more = "" if least == "0s" else f", at least {least}"
    return ValueKind(
        f'a length of time such as "500ms", "60s", "5m" or "1h"{more}',
        (str,),
        lambda written: _within(seconds(written), seconds(least), LONGEST),
    )


def zero_is_none(kind: ValueKind[T]) -> ValueKind[T | None]:
    """A limit: 0 in the file is None in the program, and means that there is none."""
    return ValueKind(kind.expected, kind.written, lambda written: kind.read(written) or None)


TEXT = text()
PATH = ValueKind("a path", (str,), lambda written: Path(_without_nul(written)))
OPTIONAL_PATH = ValueKind(
    "a path, or nothing", (str,), lambda written: Path(_without_nul(written)) if written else None
)
PLACE = ValueKind("a path or an address", (str,), _without_nul)
"""As text, because an address is no path. A relative path starts at the file's folder, like the others."""
SIZE = ValueKind('a size such as "200MB"', (str,), byte_count)
SWITCH = ValueKind("true or false", (bool,), bool)
NAMES = ValueKind("a list of names", (list,), texts)
SPARK_SETTINGS = ValueKind(
    'a list of settings such as "spark.executor.memory=8g"',
    (list,),
    lambda written: tuple(spark_settings(texts(written), "").items()),
)
