"""What a host keeps of its components beyond a crash, and the queue of effects that wait for it.

`Store` is one SQLite file, synchronised at each transaction. `EffectQueue` carries effects out in their
order: what follows something that is to be stored waits until that is durable.

On failure: `StoreFailed` with the file and the reason. Nothing leaves the queue any more, and the host stops,
because it can promise nothing without its disk.
"""

import asyncio
import fcntl
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from regraft.components.effects import Durable, Effect, Forget, Put, SetRole, Stored, StorePoint
from regraft.components.life import Role
from regraft.components.messages import Answered, CallId, Image, Remembered, Task
from regraft.model import BadInput, RegraftError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS life (number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS stay (tenure TEXT PRIMARY KEY, role TEXT NOT NULL, sender TEXT NOT NULL,
  version INTEGER NOT NULL, name TEXT NOT NULL, bundle TEXT NOT NULL, origin TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cell (tenure TEXT, key TEXT, value BLOB NOT NULL, PRIMARY KEY (tenure, key));
CREATE TABLE IF NOT EXISTS answer (tenure TEXT, caller TEXT, number INTEGER, value BLOB NOT NULL,
  PRIMARY KEY (tenure, caller, number));
CREATE TABLE IF NOT EXISTS floor (tenure TEXT, caller TEXT, number INTEGER NOT NULL,
  PRIMARY KEY (tenure, caller));
CREATE TABLE IF NOT EXISTS task (tenure TEXT, caller TEXT, number INTEGER, value BLOB NOT NULL,
  PRIMARY KEY (tenure, caller, number));
"""
_TABLES = ("stay", "cell", "answer", "floor", "task")
_pack = msgspec.msgpack.encode
_answer = msgspec.msgpack.Decoder(Answered).decode
_task = msgspec.msgpack.Decoder(Task).decode


class StoreFailed(RegraftError):
    """The disk failed, or what is on it is damaged."""


class Store:
    """Used by one thread at a time. `life` counts the starts of the host."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "components.db"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / "host.lock", os.O_WRONLY | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(str(folder), "belongs to a host that is running") from None
        except OSError as fault:
            raise BadInput(str(folder), f"cannot be used: {fault.strerror}") from None
        try:
            self._base = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.executescript(_SCHEMA)
            self._base.execute("INSERT INTO life SELECT 0 WHERE NOT EXISTS (SELECT * FROM life)")
            self._base.execute("UPDATE life SET number = number + 1")
            self.life: int = self._base.execute("SELECT number FROM life").fetchone()[0]
        except sqlite3.Error as fault:
            os.close(self._lock)
            raise BadInput(str(self.path), f"cannot be used as a store: {fault}") from None

    def close(self) -> None:
        self._base.close()
        os.close(self._lock)

    def load(self) -> list[Stored]:
        try:
            rows = self._base.execute("SELECT * FROM stay ORDER BY tenure").fetchall()
            return [self._stored(*row) for row in rows]
        except (sqlite3.Error, msgspec.DecodeError, ValueError) as fault:
            raise BadInput(str(self.path), f"holds something that no host has written: {fault}") from None

    def _rows(self, what: str, tenure: str) -> list[Any]:
        return self._base.execute(f"SELECT {what} WHERE tenure = ?", (tenure,)).fetchall()

    def _stored(
        self, tenure: str, role: str, sender: str, version: int, name: str, bundle: str, origin: str
    ) -> Stored:
        floors = dict(self._rows("caller, number FROM floor", tenure))
        answers: dict[str, dict[int, Answered]] = {caller: {} for caller in floors}
        for caller, number, value in self._rows("caller, number, value FROM answer", tenure):
            answers.setdefault(caller, {})[number] = _answer(value)
        tasks = self._rows("caller, number, value FROM task", tenure)
        image = Image(
            name=name,
            tenure=tenure,
            bundle=bundle,
            origin=origin,
            cells=dict(self._rows("key, value FROM cell", tenure)),
            remembered={caller: Remembered(floors.get(caller, 0), each) for caller, each in answers.items()},
            tasks=[(CallId(caller, number), _task(value)) for caller, number, value in tasks],
        )
        return Stored(image, Role(role), sender, version)

    def apply(self, changes: Sequence[Durable]) -> None:
        """Stores all or nothing; it is on the disk when this returns."""
        try:
            self._base.execute("BEGIN IMMEDIATE")
            for change in changes:
                self._apply(change)
            self._base.execute("COMMIT")
        except sqlite3.Error as fault:
            raise StoreFailed(f"{self.path}: {fault}") from None

    def _apply(self, change: Durable) -> None:
        match change:
            case Put(image=image, role=role):
                self._forget(image.tenure)
                row = (image.tenure, role.value, change.sender, change.version)
                self._many("stay", 7, [(*row, image.name, image.bundle, image.origin)])
                self._fill(image)
            case SetRole(tenure=tenure, role=role):
                self._base.execute("UPDATE stay SET role = ? WHERE tenure = ?", (role.value, tenure))
            case Forget(tenure=tenure):
                self._forget(tenure)
            case StorePoint():
                self._change(change)

    def _forget(self, tenure: str) -> None:
        for table in _TABLES:
            self._base.execute(f"DELETE FROM {table} WHERE tenure = ?", (tenure,))

    def _many(self, table: str, columns: int, rows: list[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * columns)
        self._base.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)

    def _fill(self, image: Image) -> None:
        tenure = image.tenure
        self._many("cell", 3, [(tenure, key, cell) for key, cell in image.cells.items()])
        self._many("task", 4, [(tenure, id.caller, id.number, _pack(task)) for id, task in image.tasks])
        for caller, each in image.remembered.items():
            self._many("floor", 3, [(tenure, caller, each.floor)])
            rows = [(tenure, caller, number, _pack(answer)) for number, answer in each.answers.items()]
            self._many("answer", 4, rows)

    def _change(self, change: StorePoint) -> None:
        tenure, run = change.tenure, self._base.execute
        for key, cell in change.cells.items():
            if cell is None:
                run("DELETE FROM cell WHERE tenure = ? AND key = ?", (tenure, key))
            else:
                self._many("cell", 3, [(tenure, key, cell)])
        for id, task in change.tasks.items():
            if task is None:
                place = (tenure, id.caller, id.number)
                run("DELETE FROM task WHERE tenure = ? AND caller = ? AND number = ?", place)
            else:
                self._many("task", 4, [(tenure, id.caller, id.number, _pack(task))])
        for caller, floor in change.floors.items():
            self._many("floor", 3, [(tenure, caller, floor)])
            run("DELETE FROM answer WHERE tenure = ? AND caller = ? AND number < ?", (tenure, caller, floor))
        for id, answer in change.answers.items():
            self._many("answer", 4, [(tenure, id.caller, id.number, _pack(answer))])


class EffectQueue:
    """Everything that waits to be stored goes into one transaction, which runs in a thread.

    `act` carries out the effects that are not stored; `fail` is called when the store has failed.
    """

    def __init__(self, store: Store, act: Callable[[Effect], None], fail: Callable[[str], None]) -> None:
        self._store, self._act, self._fail = store, act, fail
        self._pending: deque[Effect | Callable[[], None]] = deque()
        self._syncing: asyncio.Task[None] | None = None
        self._failed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="components")

    def add(self, *effects: Effect | Callable[[], None]) -> None:
        """A function is called when its turn comes, like an effect."""
        self._pending.extend(effects)
        self._continue()

    async def close(self) -> None:
        self._failed = True
        if self._syncing is not None:
            await asyncio.gather(self._syncing, return_exceptions=True)
        self._thread.shutdown()

    def _continue(self) -> None:
        while self._pending and self._syncing is None and not self._failed:
            if isinstance(self._pending[0], Put | StorePoint | SetRole | Forget):
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
            if isinstance(each, Put | StorePoint | SetRole | Forget):
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
        for effect in rest:  # before newer effects, which may wait for the next transaction
            if not self._failed:
                self._do(effect)
        self._continue()
