"""What a host keeps of its components beyond a crash: one SQLite file, synchronised at each transaction.

On failure: `StoreFailed` with the file and the reason; the host then stops, since it may promise nothing
any more.
"""

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from regraft.heal.components.effects import Change, Durable, Forget, Put, SetRole, Stored
from regraft.heal.components.life import Role
from regraft.heal.components.messages import Answered, CallId, Image, Remembered, Task
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
    """The disk, or what is on it."""


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
            raise BadInput(str(folder), f"can not be used: {fault.strerror}") from None
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
            raise BadInput(str(self.path), f"can not be used as a store: {fault}") from None

    def close(self) -> None:
        self._base.close()
        os.close(self._lock)

    def load(self) -> list[Stored]:
        try:
            rows = self._base.execute("SELECT * FROM stay ORDER BY tenure").fetchall()
            return [self._stored(*row) for row in rows]
        except (sqlite3.Error, msgspec.DecodeError, ValueError) as fault:
            raise BadInput(str(self.path), f"holds what no host has written: {fault}") from None

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
        """All or nothing, and on the disk when it returns."""
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
            case Change():
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

    def _change(self, change: Change) -> None:
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
