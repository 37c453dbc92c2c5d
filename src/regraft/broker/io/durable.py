"""Nothing that depends on something stored leaves before that is durable.

Memory is synchronised in the background. What the core sends meanwhile waits for it; what it stores meanwhile
is written afterwards, together, for the next synchronisation. If memory fails nothing leaves any more.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from regraft.broker.core import Close, Report, Store
from regraft.broker.io.memory import Memory
from regraft.protocol.messages import AnyMessage


@dataclass
class Outgoing:
    """What leaves together: messages by connection, then connections to close, then reports to the agent,
    and who else waits for that moment."""

    sends: dict[int, list[AnyMessage]] = field(default_factory=dict)
    closes: list[Close] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    calls: list[Callable[[], None]] = field(default_factory=list)

    def add(self, other: "Outgoing") -> None:
        for connection, messages in other.sends.items():
            self.sends.setdefault(connection, []).extend(messages)
        self.closes += other.closes
        self.reports += other.reports
        self.calls += other.calls


class Durable:
    """Passes outgoing things on to `leave`, at once or when what came before is durable."""

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
        """Nobody waits for this task: every fault has to be told."""
        try:
            await memory.sync()
            self._syncing = None
            self._leave(self._after_this)
        except Exception as fault:
            self._syncing = None
            self._fail(fault)
            return
        if self._stores:
            stores, out = self._stores, self._after_next
            self._stores, self._after_next = [], Outgoing()
            self._begin(out, stores)
