"""What a broker remembers beyond a crash: a file of its own (`journal`), or a place that others can read.

With the second, another process can go on where the broker was when it died for good.
"""

from collections.abc import Iterable
from typing import Protocol


class Memory(Protocol):
    life: int
    """Greater at every start of this broker, wherever it is started."""
    values: dict[str, bytes]

    def append(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Change values, None forgets; durable after `sync`."""

    async def sync(self) -> None:
        """Returns when everything that was appended before is durable. Raises if it cannot be: an OSError
        or a RegraftError; the broker gives up then, because it could no longer keep what it promises."""

    def close(self) -> None: ...
