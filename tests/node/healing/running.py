"""Steps of the core of healing with a real ZooKeeper and deployer: requests are carried out, time passes."""

import asyncio
from random import Random
from typing import Any, TypeVar

from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.coord import Configuration, Coord, Layout
from regraft.heal.core import HealingSettings
from regraft.heal.core.effects import Broken, Do
from regraft.heal.core.events import Answered, Failed
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.tasks import Work
from regraft.node.healing.answering import RequestHandlers, RequestTasks
from regraft.node.healing.settings import NodeSettings, reaching

T = TypeVar("T")


class Running:
    """A node without brokers or a database: it carries out requests to ZooKeeper and the deployer."""

    def __init__(self, coord: Coord, hosts: str, layout: Layout) -> None:
        self.known = Knowledge(HealingSettings(id="a", life=0), Random(1), {})
        settings = NodeSettings(BrokerConfiguration("a"), reaching(Configuration(hosts), layout))
        nobody: Any = None
        handlers = RequestHandlers(settings, coord, nobody, nobody, nobody)
        self._requests = RequestTasks(handlers.answer, self._told)
        self._news = asyncio.Event()

    def _told(self, told: Answered | Failed) -> None:
        if isinstance(told, Answered):
            self.known.tasks.answered(told.number, told.answer, None)
        else:
            self.known.tasks.answered(told.number, None, told.fault)
        self._news.set()

    async def result(self, work: Work[T]) -> T:
        loop, tasks = asyncio.get_running_loop(), self.known.tasks
        tasks.now = loop.time()
        task = self.known.begin(work)
        while True:
            self._news.clear()
            tasks.run(loop.time())
            effects, self.known.effects = self.known.effects, []
            for effect in effects:
                if isinstance(effect, Broken):
                    raise effect.fault
                if isinstance(effect, Do):
                    self._requests.begin(effect.number, effect.request)
            if task.done:
                return task.over.value  # type: ignore[return-value]
            due = tasks.next_due()
            try:
                async with asyncio.timeout(due - loop.time() if due is not None else None):
                    await self._news.wait()
            except TimeoutError:
                pass  # it is time for the next step
