"""Typed access to the fields of a document: each fault names the place and the rule."""

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from regraft.model.errors import BadInput

_TYPES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def named(value: Any) -> str:
    """A value in an error message: its kind, and the value itself if it is not a list or an object."""
    if value is None:
        return "null"
    kind = _TYPES.get(type(value), type(value).__name__)
    return f"{kind} ({brief(value)})" if isinstance(value, (bool, int, float, str)) else kind


def brief(value: object) -> str:
    """One printable line, whatever the value."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a very large number"
    return text if len(text) <= 60 else text[:57] + "..."


def an_object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(place, f"must be an object, not {named(value)}")
    return value


def a_list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(place, f"must be a list, not {named(value)}")
    return value


def required(document: dict[str, Any], key: str, place: str = "") -> Any:
    if key not in document:
        raise BadInput(place, f"the field {key!r} is missing")
    return document[key]


def only(document: Mapping[str, Any], known: Iterable[str], place: str = "", what: str = "field") -> None:
    """Refuse a field that is not known: a mistyped name would silently change the meaning."""
    names = list(known)
    for key in document:
        if key not in names:
            hint = meant(key, names)
            raise BadInput(place, f"unknown {what} {brief(key)}; there are {', '.join(names)}{hint}")


def meant(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name; empty if no known name is similar."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def an_id(value: Any, place: str) -> str:
    """A broker id: non-empty text. Numbers are refused: 1 and "1" would be two brokers."""
    if (
        isinstance(value, str) and value and value.isascii()
    ):  # the common case, first: a large file has many ids
        return value
    if not isinstance(value, str):
        raise BadInput(place, f"a broker id must be a string, not {named(value)}")
    if not value:
        raise BadInput(place, "a broker id must not be empty")
    return a_text(value, place)


def a_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise BadInput(place, f"must be a string, not {named(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadInput(place, f"half a surrogate pair is not a character: {brief(value)}") from None
    return value


def a_number(value: Any, place: str, low: float, high: float = math.inf) -> float:
    """A finite number in the range, as float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadInput(place, f"must be a number, not {named(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not low <= number <= high:
        bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise BadInput(place, f"must be a finite number {bounds}, not {brief(value)}")
    return number


def a_whole_number(value: Any, place: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(place, f"must be a whole number, not {named(value)}")
    if not low <= value <= high:
        raise BadInput(place, f"must be a whole number from {low} to {high}, not {brief(value)}")
    return value
