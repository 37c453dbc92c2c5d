"""What every part of an adaptation manager works with."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from regraft.app.healing.databases import Databases
from regraft.app.healing.hosting import Hosting
from regraft.app.healing.settings import NodeSettings
from regraft.app.healing.whereabouts import Whereabouts
from regraft.coord import Coord, Layout
from regraft.heal.wire import Connections
from regraft.model import Topology

T = TypeVar("T")


@dataclass
class Parts:
    """Of one node. `topology` is the last that was seen, and its epoch."""

    settings: NodeSettings
    coord: Coord
    hosting: Hosting
    whereabouts: Whereabouts
    connections: Connections
    databases: Databases
    topology: Topology | None = None
    epoch: int = 0
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    stopping: bool = False

    @property
    def id(self) -> str:
        return self.settings.id

    @property
    def layout(self) -> Layout:
        return self.settings.layout

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """In the background; it ends with the node. Nothing begins when that has begun to end."""
        task = asyncio.create_task(work)
        if self.stopping:
            task.cancel()
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def stop(self) -> None:
        self.stopping = True
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
