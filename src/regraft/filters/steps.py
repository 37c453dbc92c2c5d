"""Long work in small steps: a generator that yields wherever other work may run in between.

A broker reads a client's filter between the messages of other clients. Reading the longest filter takes tens
of milliseconds, one step of it tens of microseconds.
"""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]


def finish(steps: Steps[T]) -> T:
    """Run all steps at once and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
