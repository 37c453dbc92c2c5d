"""The workers of one host, by tenure: what the core wants of them, and what they say."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from regraft.heal.components import pipe
from regraft.heal.components.bundles import Bundles
from regraft.heal.components.effects import Effect, Freeze, Go, Kill, Load, Run
from regraft.heal.components.messages import Image
from regraft.heal.components.workers import Spares, WorkerProcess
from regraft.model import BadInput

Said = Callable[[str, WorkerProcess, pipe.Up], None]
Died = Callable[[str, str], None]


class Crew:
    """`said(tenure, worker, message)` and `died(tenure, reason)` are called for the worker that a component
    has now, never for an earlier one."""

    def __init__(self, id: str, folder: Path, bundles: Bundles, said: Said, died: Died, spares: int) -> None:
        self._id, self._folder, self._bundles = id, folder, bundles
        self._said, self._died = said, died
        self._spares = Spares(folder, spares)
        self._workers: dict[str, WorkerProcess] = {}
        self._loads: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        (self._folder / "logs").mkdir(exist_ok=True)
        await self._spares.fill()

    async def close(self) -> None:
        for load in self._loads.values():
            load.cancel()
        await asyncio.gather(*self._loads.values(), return_exceptions=True)
        workers, self._workers = list(self._workers.values()), {}
        await asyncio.gather(self._spares.close(), *[each.ended() for each in workers])

    def kill_all(self) -> None:
        for worker in self._workers.values():
            worker.kill()

    def act(self, effect: Effect) -> None:
        """For a worker that has just died: nothing, the core will hear of it."""
        match effect:
            case Load(image=image):
                self._loads[image.tenure] = asyncio.get_running_loop().create_task(self._load(image))
            case Kill(tenure=tenure):
                if (load := self._loads.pop(tenure, None)) is not None:
                    load.cancel()
                if (worker := self._workers.pop(tenure, None)) is not None:
                    worker.kill()
            case Go(tenure=tenure) if (worker := self._workers.get(tenure)) is not None:
                worker.stand(False)
                worker.say(pipe.Proceed())
            case Run(tenure=tenure) if (worker := self._workers.get(tenure)) is not None:
                worker.say(pipe.Do(id=effect.id, method=effect.method, arguments=effect.arguments))
            case Freeze(tenure=tenure) if (worker := self._workers.get(tenure)) is not None:
                worker.say(pipe.Halt())

    async def _load(self, image: Image) -> None:
        tenure = image.tenure
        try:
            manifest = self._bundles.opened(image.bundle).manifest
            worker = self._workers[tenure] = await self._spares.take()
        except (BadInput, OSError) as fault:
            self._died(tenure, str(fault))
            return
        begin = pipe.Begin(
            bundle=str(self._bundles.path(image.bundle).resolve()),
            manifest=manifest,
            name=image.name,
            place=self._id,
            origin=image.origin,
            cells=image.cells,
            tasks=image.tasks,
            log=str((self._folder / "logs" / f"{image.name}.log").resolve()),
        )
        worker.begin(
            begin,
            lambda message: self._heard(tenure, worker, message),
            lambda reason: self._ended(tenure, worker, reason),
        )

    def _heard(self, tenure: str, worker: WorkerProcess, message: pipe.Up) -> None:
        if self._workers.get(tenure) is worker:
            if isinstance(message, pipe.Begun) or (
                isinstance(message, pipe.Reached) and message.point.frozen
            ):
                worker.stand(True)
            self._said(tenure, worker, message)

    def _ended(self, tenure: str, worker: WorkerProcess, reason: str) -> None:
        if self._workers.get(tenure) is worker:
            del self._workers[tenure]
            self._died(tenure, reason)
