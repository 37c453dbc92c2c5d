"""Lengths of time and sizes as people write them: `500ms`, `60s`, `1h`; `200MB`."""

import re

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SIZE = re.compile(r"(\d{1,15})\s*([kMGT]?)B?", re.ASCII)
_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def seconds(text: str, default_unit: str = "") -> float:
    """The length of time in seconds, which may be infinite if the text has hundreds of digits.

    `ValueError` if the text is not a length of time; a number alone is one only with a `default_unit`.
    """
    found = _TIME.fullmatch(text.strip())
    unit = (found[2] or default_unit) if found else ""
    if found is None or not unit:
        raise ValueError(f"{text!r} is not a length of time")
    return float(found[1]) * _SECONDS[unit]


def byte_count(text: str) -> int:
    """`ValueError` if the text is not a size."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size")
    return int(found[1]) * _BYTES[found[2]]
