"""A fault of the core is the end of its broker: half of a change may be done.

asyncio would close the one connection on which the fault showed, or end a task that nobody waits for, and
the broker would go on from a state that nobody has thought of.
"""

from collections.abc import Callable
from types import TracebackType


class FailStop:
    """`with fail_stop:` what the core does; a fault goes to `failed` and no further."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(fault, Exception):
            self._failed(fault)
            return True
        return False
