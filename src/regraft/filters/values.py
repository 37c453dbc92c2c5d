"""The values of the content language and its casts (CESQL 1.0 §3.1, §3.7).

A value is a boolean, a number or a string. CESQL knows 32-bit integers only; here a number may also be a
float or a larger integer (an extension: decimal literals and float attributes). So that a number stays one
thing, 5 and 5.0 are the same value and have the same text "5". A string casts to a number only where CESQL
says so: when it spells a 32-bit integer. None and NaN count as a missing attribute.
"""

import re
from functools import lru_cache
from math import isnan
from typing import Final

Value = bool | int | float | str
Number = int | float

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,10}", re.ASCII)
# `text_of` writes no number with more characters than this; `integer_of` treats longer strings apart.
_LONGEST_NUMBER_TEXT = 400


def as_value(value: object) -> Value | None:
    """An event's attribute as the language sees it; None if it is missing."""
    kind = type(value)
    if kind is str or kind is int or kind is bool:
        return value  # type: ignore[return-value]
    if isinstance(value, float):
        return None if isnan(value) else float(value)
    if value is None:
        return None
    if isinstance(value, int):
        return int(value)
    return str(value)  # CESQL §3.2: a value of any other type is represented as a string


def integer_of(text: str) -> int | None:
    """The 32-bit integer that a string spells (CESQL String -> Integer), or None."""
    return _integer_of(text) if len(text) <= _LONGEST_NUMBER_TEXT else _long_integer_of(text)


def _integer_of(text: str) -> int | None:
    if _INTEGER.fullmatch(text) is None:
        return None
    # Behind the zeros there are at most ten digits; `int` would be slow on the zeros.
    number = int(text) if len(text) < 12 else int(text[-10:]) * (-1 if text[0] == "-" else 1)
    return number if INT_MIN <= number <= INT_MAX else None


# A filter may cast the same attribute of an event hundreds of times, and that may be megabytes of zeros.
_long_integer_of = lru_cache(2)(_integer_of)


def boolean_of(text: str) -> bool | None:
    """CESQL String -> Boolean, or None."""
    if len(text) > 5:
        return None
    lower = text.lower()
    return True if lower == "true" else False if lower == "false" else None


def text_of(value: Value) -> str:
    """Any value as a string; never fails."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int) and not -(10**400) < value < 10**400:
        return hex(value)  # decimal digits of huge integers cost quadratic time
    return repr(value)


def number_of(value: Value) -> Number | None:
    """Any value as a number, or None if it cannot be cast."""
    if isinstance(value, str):
        return integer_of(value)
    return int(value) if isinstance(value, bool) else value


def truth_of(value: Value) -> bool | None:
    """Any value as a boolean, or None if it cannot be cast."""
    return boolean_of(value) if isinstance(value, str) else bool(value)


def number_with_text(text: str) -> Number | None:
    """The number whose text is exactly this, or None: the inverse of `text_of` on numbers."""
    if len(text) > _LONGEST_NUMBER_TEXT:
        return None
    for read in (int, float):
        try:
            number: Number = read(text)
        except (ValueError, OverflowError):
            continue
        if not isnan(number) and text_of(number) == text:
            return number
    return None
