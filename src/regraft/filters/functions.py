"""The built-in functions (CESQL 1.0 §3.5) and the arithmetic of the language (§3.4).

Each is total: it returns a value and, where something went wrong, the kind of error.
"""

from collections.abc import Callable
from enum import StrEnum
from math import fmod, isfinite, trunc
from operator import add, mul, sub
from typing import Any, NamedTuple

from regraft.filters.values import INT_MAX, INT_MIN, Number, Value, number_of, text_of, truth_of

# White space as Unicode defines it; `str.strip` would also remove control characters.
_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)


class Fault(StrEnum):
    """Kinds of evaluation errors (§3.3)."""

    MATH = "math"
    CAST = "cast"
    MISSING_ATTRIBUTE = "missingAttribute"
    MISSING_FUNCTION = "missingFunction"
    FUNCTION_EVALUATION = "functionEvaluation"


Outcome = tuple[Value, Fault | None]

LONGEST_TEXT = 8_192
"""The most characters that functions and LIKE accept and return: longer texts would keep a broker busy with
one event."""


class Signature(NamedTuple):
    """`casts` of the parameters (the last one repeats if `variadic`), the zero of the result, the body."""

    casts: tuple[Callable[[Value], Outcome], ...]
    zero: Value
    body: Callable[..., Outcome]
    variadic: bool = False


def to_number(value: Value) -> tuple[Number, Fault | None]:
    number = number_of(value)
    return (0, Fault.CAST) if number is None else (number, None)


def to_truth(value: Value) -> tuple[bool, Fault | None]:
    truth = truth_of(value)
    return (False, Fault.CAST) if truth is None else (truth, None)


def to_text(value: Value) -> tuple[str, Fault | None]:
    text = text_of(value)
    return (text, None) if len(text) <= LONGEST_TEXT else ("", Fault.FUNCTION_EVALUATION)


def to_integer(value: Value) -> tuple[int, Fault | None]:
    """As `to_number`; a fraction is cut off, and a number of more than 32 bits is a cast error."""
    number, fault = to_number(value)
    if isinstance(number, float):
        number = trunc(number) if isfinite(number) else INT_MAX + 1
    return (number, fault) if INT_MIN <= number <= INT_MAX else (0, Fault.CAST)


def negate(x: Number) -> Outcome:
    return _bounded(-x)


def calculate(operator: str, x: Number, y: Number) -> Outcome:
    try:
        return _bounded(_ARITHMETIC[operator](x, y))
    except (OverflowError, ValueError, ZeroDivisionError):
        return 0, Fault.MATH


def _divide(x: Number, y: Number) -> Number:
    if isinstance(x, float) or isinstance(y, float):
        return x / y
    return abs(x) // abs(y) if (x < 0) == (y < 0) else -(abs(x) // abs(y))


def _remainder(x: Number, y: Number) -> Number:
    if isinstance(x, float) or isinstance(y, float):
        return fmod(x, y)
    return abs(x) % abs(y) if x >= 0 else -(abs(x) % abs(y))


_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": _divide,
    "%": _remainder,
}


def _bounded(number: Number) -> Outcome:
    good = isfinite(number) if isinstance(number, float) else INT_MIN <= number <= INT_MAX
    return (number, None) if good else (0, Fault.MATH)


def _abs(x: Number) -> Outcome:
    if isinstance(x, int) and not -INT_MAX <= x <= INT_MAX:
        return INT_MAX, Fault.MATH
    return abs(x), None


def _left(x: str, count: int) -> Outcome:
    return (x, Fault.FUNCTION_EVALUATION) if count < 0 else (x[:count], None)


def _right(x: str, count: int) -> Outcome:
    return (x, Fault.FUNCTION_EVALUATION) if count < 0 else (x[max(0, len(x) - count) :], None)


def _substring(x: str, position: int, count: int | None = None) -> Outcome:
    if not -len(x) <= position <= len(x) or (count is not None and count < 0):
        return "", Fault.FUNCTION_EVALUATION
    if position == 0:
        return "", None
    start = position - 1 if position > 0 else len(x) + position
    return x[start:] if count is None else x[start : start + count], None


def _concat(*parts: str) -> Outcome:
    return _concat_ws("", *parts)


def _concat_ws(by: str, *parts: str) -> Outcome:
    if sum(map(len, parts)) + len(by) * len(parts) > LONGEST_TEXT:
        return "", Fault.FUNCTION_EVALUATION
    return by.join(parts), None


def _same(x: Any) -> Outcome:
    return x, None


def _text(body: Callable[..., Any]) -> Callable[..., Outcome]:
    return lambda *arguments: (body(*arguments), None)


FUNCTIONS: dict[str, tuple[Signature, ...]] = {
    "INT": (Signature((to_integer,), 0, _same),),
    "BOOL": (Signature((to_truth,), False, _same),),
    "STRING": (Signature((to_text,), "", _same),),
    "ABS": (Signature((to_number,), 0, _abs),),
    "LENGTH": (Signature((to_text,), 0, _text(len)),),
    "CONCAT": (
        Signature((), "", _text(str)),
        Signature((to_text,), "", _concat, variadic=True),
    ),
    "CONCAT_WS": (Signature((to_text,), "", _concat_ws, variadic=True),),
    "LOWER": (Signature((to_text,), "", _text(str.lower)),),
    "UPPER": (Signature((to_text,), "", _text(str.upper)),),
    "TRIM": (Signature((to_text,), "", _text(lambda x: x.strip(_WHITE))),),
    "LEFT": (Signature((to_text, to_integer), "", _left),),
    "RIGHT": (Signature((to_text, to_integer), "", _right),),
    "SUBSTRING": (
        Signature((to_text, to_integer), "", _substring),
        Signature((to_text, to_integer, to_integer), "", _substring),
    ),
}


def find_function(name: str, arity: int) -> Signature | None:
    for signature in FUNCTIONS.get(name, ()):
        if arity == len(signature.casts) or (signature.variadic and arity > len(signature.casts)):
            return signature
    return None
