"""Long work in small steps: a generator that yields whenever somebody else might have a turn.

A broker reads the filters of its clients between messages of others. Reading the longest takes tens of
milliseconds, a step of it tens of microseconds.
"""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]


def finish(steps: Steps[T]) -> T:
    """All of it at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
