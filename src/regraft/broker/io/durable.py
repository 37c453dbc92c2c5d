"""What the core stores is on the disk before anything that depends on it leaves.

The `Memory` is synchronised in the background. What the core sends meanwhile waits for that; what it stores
meanwhile is written together afterwards, for the next synchronisation. If the memory fails, nothing leaves
any more.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from regraft.broker.core import Close, Report, Store
from regraft.protocol.messages import AnyMessage


class Memory(Protocol):
    """What a broker remembers beyond a crash: a file of its own (`journal`), or a place that others can read.

    With the second, another process can continue where the broker was when it died for good.
    """

    life: int
    """Greater at every start of this broker, wherever it is started."""
    values: dict[str, bytes]

    def append(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Change values (None removes one); they are durable after `sync`."""

    async def sync(self) -> None:
        """Returns when everything that was appended before is durable. Raises if it cannot be: an OSError
        or a RegraftError; the broker gives up then, because it could no longer keep what it promises."""

    def close(self) -> None: ...


@dataclass
class Outgoing:
    """What leaves together: messages by connection, then connections to close, then reports to the agent,
    then functions to call."""

    sends: dict[int, list[AnyMessage]] = field(default_factory=dict)
    closes: list[Close] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    calls: list[Callable[[], None]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.sends or self.closes or self.reports or self.calls)

    def add(self, other: "Outgoing") -> None:
        for connection, messages in other.sends.items():
            self.sends.setdefault(connection, []).extend(messages)
        self.closes += other.closes
        self.reports += other.reports
        self.calls += other.calls


class Durable:
    """Passes what goes out on to `leave`, at once or when everything stored before it is durable."""

    def __init__(
        self,
        memory: Memory | None,
        leave: Callable[[Outgoing], None],
        failed: Callable[[Exception], None] = lambda fault: None,
    ) -> None:
        self._memory = memory
        self._leave = leave
        self._failed = failed
        self._broken = False
        self._syncing: asyncio.Task[None] | None = None
        self._after_this = Outgoing()
        self._stores: list[Store] = []
        self._after_next = Outgoing()

    def pass_on(self, out: Outgoing, stores: list[Store]) -> None:
        if self._broken:
            return
        if self._memory is None or (self._syncing is None and not stores):
            self._leave(out)
        elif self._syncing is None:
            self._begin(out, stores)
        elif stores or self._stores:
            self._stores += stores
            self._after_next.add(out)
        else:
            self._after_this.add(out)

    async def finish(self) -> None:
        while self._syncing is not None:
            await self._syncing

    def _begin(self, out: Outgoing, stores: list[Store]) -> None:
        assert self._memory is not None
        self._after_this = out
        try:
            self._memory.append(stores)
        except Exception as fault:
            self._fail(fault)
            return
        self._syncing = asyncio.create_task(self._sync(self._memory))

    def _fail(self, fault: Exception) -> None:
        self._broken = True
        self._failed(fault)

    async def _sync(self, memory: Memory) -> None:
        """No other task waits for this one, so every fault has to be reported."""
        try:
            await memory.sync()
            # As during a synchronisation: what leaving causes must not overtake what waits for the next one.
            while not self._after_this.is_empty:
                out, self._after_this = self._after_this, Outgoing()
                self._leave(out)
        except Exception as fault:
            self._syncing = None
            self._fail(fault)
            return
        self._syncing = None
        if self._stores:
            stores, out = self._stores, self._after_next
            self._stores, self._after_next = [], Outgoing()
            self._begin(out, stores)
