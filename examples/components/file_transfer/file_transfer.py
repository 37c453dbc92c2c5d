"""Files from one component to another, piece by piece; a transfer goes on where it was when either has moved.

Each file is a field of the state of its own: only what has changed is stored.
"""

import hashlib
from collections.abc import Generator
from typing import Any

PIECE = 64 * 1024


class FileTransfer:
    def __init__(self, state: dict[str, Any], context: Any) -> None:
        self.state, self.context = state, context
        state.setdefault("release", "1.0")
        state.setdefault("piece", PIECE)

    def put(self, name: str, data: bytes) -> str:
        self.state[f"file {name}"] = bytes(data)
        return self.digest(name)

    def get(self, name: str) -> bytes:
        return self._file(name)

    def digest(self, name: str) -> str:
        return hashlib.sha256(self._file(name)).hexdigest()

    def _file(self, name: str) -> bytes:
        if f"file {name}" not in self.state:
            raise KeyError(f"no file {name}")
        return self.state[f"file {name}"]

    def names(self) -> list[str]:
        return sorted(field[5:] for field in self.state if field.startswith("file "))

    def send(self, progress: dict[str, Any], name: str, to: str) -> Generator[None, None, str]:
        """A task: one piece a step. Its answer is the digest, which both sides have."""
        progress.setdefault("at", 0)
        data = self._file(name)
        while progress["at"] < len(data) or progress["at"] == 0:
            piece = data[progress["at"] : progress["at"] + self.state["piece"]]
            self.context.call(to, "take", name, progress["at"], piece)
            progress["at"] += max(1, len(piece))
            yield
        theirs = self.context.call(to, "finish", name)
        if theirs != self.digest(name):
            raise ValueError(f"{name} is not the same there")
        return theirs

    def take(self, name: str, at: int, piece: bytes) -> None:
        held = self.state.get(f"part {name}", b"")
        if at > len(held):
            raise ValueError(f"{name}: the piece at {at} comes before that at {len(held)}")
        self.state[f"part {name}"] = held[:at] + bytes(piece)

    def finish(self, name: str) -> str:
        self.state[f"file {name}"] = self.state.pop(f"part {name}")
        return self.digest(name)

    def where(self) -> str:
        return self.context.place

    def update(self, release: str, settings: dict[str, Any]) -> str:
        self.state["release"] = release
        self.state["piece"] = settings.get("piece", self.state["piece"])
        return release
