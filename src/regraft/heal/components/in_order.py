"""Effects in their order: what follows something that is stored waits until that is durable.

All that waits to be stored goes into one transaction, in a thread. On failure nothing leaves any more.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from regraft.heal.components.effects import Change, Durable, Effect, Forget, Put, SetRole
from regraft.heal.components.store import Store, StoreFailed


class InOrder:
    """`act` does what is not stored; `fail` is told when the store has failed."""

    def __init__(self, store: Store, act: Callable[[Effect], None], fail: Callable[[str], None]) -> None:
        self._store, self._act, self._fail = store, act, fail
        self._pending: deque[Effect | Callable[[], None]] = deque()
        self._syncing: asyncio.Task[None] | None = None
        self._failed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="components")

    def add(self, *effects: Effect | Callable[[], None]) -> None:
        """A function is called in its turn, as an effect is."""
        self._pending.extend(effects)
        self._go_on()

    async def close(self) -> None:
        self._failed = True
        if self._syncing is not None:
            await asyncio.gather(self._syncing, return_exceptions=True)
        self._thread.shutdown()

    def _go_on(self) -> None:
        while self._pending and self._syncing is None and not self._failed:
            if isinstance(self._pending[0], Put | Change | SetRole | Forget):
                self._syncing = asyncio.get_running_loop().create_task(self._sync())
                return
            self._do(self._pending.popleft())

    def _do(self, effect: Effect | Callable[[], None]) -> None:
        if callable(effect):
            effect()
        else:
            self._act(effect)

    async def _sync(self) -> None:
        batch: list[Durable] = []
        rest: list[Effect | Callable[[], None]] = []
        for each in self._pending:
            if isinstance(each, Put | Change | SetRole | Forget):
                batch.append(each)
            else:
                rest.append(each)
        self._pending.clear()
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._store.apply, batch)
        except StoreFailed as fault:
            self._failed = True
            self._fail(str(fault))
            return
        self._syncing = None
        for effect in rest:  # before what has come meanwhile, which may wait for the next transaction
            if not self._failed:
                self._do(effect)
        self._go_on()
