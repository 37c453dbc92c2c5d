"""Patterns of the LIKE operator (CESQL 1.0 §3.4.3)."""

import re
from collections.abc import Callable


def literal_of(pattern: str) -> str | None:
    """The only string that a pattern matches, or None if it has wildcards."""
    pieces = _pieces(pattern)
    return None if "%" in pieces or "_" in pieces else "".join(piece[-1] for piece in pieces)


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test of strings. Its time is at most the product of both lengths: once a part between two `%` is
    found, an earlier choice is never tried again (atomic groups)."""
    segments: list[str] = [""]
    for piece in _pieces(pattern):
        if piece == "%":
            segments.append("")
        else:
            segments[-1] += "." if piece == "_" else re.escape(piece[-1])
    if len(segments) == 1:
        source = segments[0]
    else:
        middle = "".join(f"(?>.*?{segment})" for segment in segments[1:-1] if segment)
        source = f"{segments[0]}{middle}.*{segments[-1]}"
    fullmatch = re.compile(source, re.DOTALL).fullmatch
    return lambda text: fullmatch(text) is not None


def _pieces(pattern: str) -> list[str]:
    """Characters; an escaped wildcard is one piece of two."""
    return re.findall(r"\\[%_]|.", pattern, re.DOTALL)


def ends_of(pattern: str) -> tuple[str, str, bool]:
    """The fixed text before the first and behind the last wildcard of a pattern that has one, and whether
    only one `%` lies between."""
    pieces = _pieces(pattern)
    wild = [i for i, piece in enumerate(pieces) if piece in ("%", "_")]
    head = "".join(piece[-1] for piece in pieces[: wild[0]])
    tail = "".join(piece[-1] for piece in pieces[wild[-1] + 1 :])
    return head, tail, all(piece == "%" for piece in pieces[wild[0] : wild[-1] + 1])
