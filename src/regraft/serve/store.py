"""What survives a restart: the state of the loop, its decisions, and documents by kind and id. SQLite.

Each step of the loop is one transaction: its state, decisions and documents are written together, or not at
all. A killed process leaves the last whole step. No other process may write there: the file is locked. A
state that this version cannot read is an error that names the file; it is never replaced by a new one.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from regraft.loop.decisions import Decision
from regraft.loop.state import State
from regraft.model import BadInput, RegraftError
from regraft.serve.views import DecisionView

VERSION = 1
T = TypeVar("T")
_TABLES = """
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL, document BLOB NOT NULL, PRIMARY KEY (kind, id));
CREATE INDEX IF NOT EXISTS documents_by_time ON documents (kind, at);
CREATE INDEX IF NOT EXISTS decisions_by_kind ON decisions (kind, id);
"""


class StoreFault(RegraftError):
    """The file cannot be written or read: the disk is full, or the file is damaged."""


class Document(NamedTuple):
    """Documents of a kind are ordered by `at`."""

    kind: str
    id: str
    at: float
    value: msgspec.Struct


class Store:
    """All methods are called from one thread, and take a few milliseconds at most."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=1.0)
            self._open()
        except (sqlite3.Error, OSError) as fault:
            locked = "locked" in str(fault)
            rule = "another loop uses it" if locked else f"cannot be used: {fault}"
            raise BadInput(str(path), rule) from None

    def _open(self) -> None:
        run = self._connection.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run(
            "PRAGMA synchronous = NORMAL"
        )  # if the machine loses power, whole last steps may be lost, never half a step
        found = run("PRAGMA user_version").fetchone()[0]
        if found not in (0, VERSION):
            raise sqlite3.DatabaseError(f"it has version {found}, this program needs {VERSION}")
        self._connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")

    def close(self) -> None:
        self._connection.close()

    def state(self) -> State | None:
        """The last state, if there is one. `BadInput` if this version cannot read it: beginning anew would
        forget the mode that somebody has set, the plan that waits and the runs that have been judged."""
        row = self._read("SELECT document FROM state", ())
        if not row:
            return None
        try:
            return _decoded(row[0][0], State)
        except StoreFault as fault:
            way_out = "use the Regraft that wrote it, or move the file away to begin anew"
            raise BadInput(str(self._path), f"the state of the loop in it {fault}; {way_out}") from None

    def write(
        self,
        state: State | None = None,
        decisions: Iterable[tuple[Decision, str | None]] = (),
        documents: Iterable[Document] = (),
    ) -> list[DecisionView]:
        """Writes everything, or raises `StoreFault`. Returns the decisions with the ids that they got."""
        told: list[DecisionView] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            if state is not None:
                self._connection.execute(
                    "INSERT OR REPLACE INTO state VALUES (1, ?)", (msgspec.json.encode(state),)
                )
            for decision, operation in decisions:
                told.append(self._insert(decision, operation))
            self._connection.executemany(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)",
                [(each.kind, each.id, each.at, msgspec.json.encode(each.value)) for each in documents],
            )
            self._connection.execute("COMMIT")
        except sqlite3.Error as fault:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise StoreFault(f"the state cannot be written: {fault}") from None
        return told

    def _insert(self, decision: Decision, operation: str | None) -> DecisionView:
        cursor = self._connection.execute(
            "INSERT INTO decisions (at, kind, document) VALUES (?, ?, x'')", (decision.at, decision.kind)
        )
        fields = {name: getattr(decision, name) for name in decision.__struct_fields__}
        view = DecisionView(id=cursor.lastrowid or 0, operation=operation, **fields)
        self._connection.execute(
            "UPDATE decisions SET document = ? WHERE id = ?", (msgspec.json.encode(view), view.id)
        )
        return view

    def decisions(self, limit: int, before: int | None, kind: str | None) -> tuple[DecisionView, ...]:
        """The newest first."""
        rows = self._read(
            "SELECT document FROM decisions WHERE (? IS NULL OR id < ?) AND (? IS NULL OR kind = ?) "
            "ORDER BY id DESC LIMIT ?",
            (before, before, kind, kind, limit),
        )
        return tuple(self._view(row, "decision", DecisionView) for row in rows)

    def document(self, kind: str, id: str, type: type[T]) -> T | None:
        rows = self._read("SELECT document FROM documents WHERE kind = ? AND id = ?", (kind, id))
        return self._view(rows[0], kind, type) if rows else None

    def documents(
        self,
        kind: str,
        type: type[T],
        limit: int,
        since: float = float("-inf"),
        before: float = float("inf"),
    ) -> tuple[T, ...]:
        """The newest first, from `since` on and before `before`."""
        rows = self._read(
            "SELECT document FROM documents WHERE kind = ? AND at >= ? AND at < ? ORDER BY at DESC LIMIT ?",
            (kind, since, before, limit),
        )
        return tuple(self._view(row, kind, type) for row in rows)

    def _view(self, row: tuple[bytes], kind: str, type: type[T]) -> T:
        try:
            return _decoded(row[0], type)
        except StoreFault as fault:
            raise StoreFault(f"{self._path}: what it holds of kind {kind!r} {fault}") from None

    def forget(self, before: float) -> None:
        """Deletes decisions and documents that are older than `before`."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("DELETE FROM decisions WHERE at < ?", (before,))
            self._connection.execute("DELETE FROM documents WHERE at < ?", (before,))
            self._connection.execute("COMMIT")
        except sqlite3.Error as fault:
            raise StoreFault(f"the state cannot be written: {fault}") from None

    def _read(self, query: str, values: tuple[object, ...]) -> list[tuple[bytes]]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as fault:
            raise StoreFault(f"the state cannot be read: {fault}") from None


def _decoded(document: bytes, type: type[T]) -> T:
    try:
        return msgspec.json.decode(document, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise StoreFault(f"cannot be read by this version: {str(fault).splitlines()[0]}") from None
