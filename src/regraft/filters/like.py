"""Patterns of the LIKE operator (CESQL 1.0 §3.4.3).

A pattern is cut at its `%` into segments. The first and the last have fixed places in the text; each of the
others is taken where it first occurs behind the one before, and no choice is revised later. So matching costs
one search through the text, whatever the pattern.
"""

import re
from collections.abc import Callable, Sequence

MAX_WILD = 64
"""The most characters between two `%` if a `_` is among them: such a segment is tried at every place."""

Find = Callable[[str, int, int], int]
"""(text, start, end) -> the place behind the segment's first occurrence in between, -1 if there is none."""


def literal_of(pattern: str) -> str | None:
    """The only string that a pattern matches, or None if it has wildcards."""
    pieces = _pieces(pattern)
    return None if "%" in pieces or "_" in pieces else "".join(piece[-1] for piece in pieces)


def wild_length(pattern: str) -> int:
    """Characters of the longest segment between two `%` that has a `_`."""
    return max((len(each) for each in _segments(pattern)[1:-1] if "_" in each), default=0)


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test of strings."""
    segments = _segments(pattern)
    first, last = _at_place(segments[0]), _at_place(segments[-1])
    head, tail = len(segments[0]), len(segments[-1])
    if len(segments) == 1:
        return lambda text: len(text) == head and first(text, 0)
    middle = [_finder(segment) for segment in segments[1:-1] if segment]

    def matches(text: str) -> bool:
        at, end = head, len(text) - tail
        if end < at or not first(text, 0) or not last(text, end):
            return False
        for find in middle:
            at = find(text, at, end)
            if at < 0:
                return False
        return True

    return matches


def _segments(pattern: str) -> list[list[str]]:
    """The pieces between the `%`."""
    found: list[list[str]] = [[]]
    for piece in _pieces(pattern):
        if piece == "%":
            found.append([])
        else:
            found[-1].append(piece)
    return found


def _at_place(segment: Sequence[str]) -> Callable[[str, int], bool]:
    """Whether the segment is at a place of a text that is long enough for it."""
    if "_" in segment:
        match = re.compile(_source(segment), re.DOTALL).match
        return lambda text, at: match(text, at) is not None
    fixed = "".join(piece[-1] for piece in segment)
    return lambda text, at: text.startswith(fixed, at)


def _finder(segment: Sequence[str]) -> Find:
    size = len(segment)
    if "_" in segment:
        search = re.compile(_source(segment), re.DOTALL).search
        return lambda text, at, end: found.end() if (found := search(text, at, end)) is not None else -1
    fixed = "".join(piece[-1] for piece in segment)
    return lambda text, at, end: found + size if (found := text.find(fixed, at, end)) >= 0 else -1


def _source(segment: Sequence[str]) -> str:
    return "".join("." if piece == "_" else re.escape(piece[-1]) for piece in segment)


def _pieces(pattern: str) -> list[str]:
    """The characters of the pattern; an escaped wildcard is one piece of two characters."""
    return re.findall(r"\\[%_]|.", pattern, re.DOTALL)


def ends_of(pattern: str) -> tuple[str, str, bool]:
    """The fixed text before the first and behind the last wildcard of a pattern that has one, and whether
    nothing but `%` lies between them."""
    pieces = _pieces(pattern)
    wild = [i for i, piece in enumerate(pieces) if piece in ("%", "_")]
    head = "".join(piece[-1] for piece in pieces[: wild[0]])
    tail = "".join(piece[-1] for piece in pieces[wild[-1] + 1 :])
    return head, tail, all(piece == "%" for piece in pieces[wild[0] : wild[-1] + 1])
