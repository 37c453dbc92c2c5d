"""The bundles that a host has, as files named by their sha256. The signature is checked at each use."""

import hashlib
import os
from pathlib import Path

from regraft.components.bundle import Bundle
from regraft.components.manifest import Limits
from regraft.components.signing import Trust
from regraft.model import BadInput

KEPT_REFUSALS = 1_000


class Bundles:
    def __init__(self, folder: Path, trust: Trust) -> None:
        self._folder, self._trust = folder, trust
        folder.mkdir(parents=True, exist_ok=True)
        self._refused: dict[str, str] = {}
        self._seconds: dict[str, float] = {}

    def path(self, sha256: str) -> Path:
        return self._folder / f"{sha256}.zip"

    def has(self, sha256: str) -> bool:
        """Also true for a bundle that was refused here: fetching it once more would not help."""
        return sha256 in self._refused or (is_sha256(sha256) and self.path(sha256).exists())

    def take(self, data: bytes, place: str) -> Bundle:
        """Checks the bundle, then keeps it."""
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            bundle = self._trust.opened(data, place)
        except BadInput as fault:
            self._refused = dict(list(self._refused.items())[-KEPT_REFUSALS:])
            self._refused[sha256] = str(fault)
            raise
        self._refused.pop(sha256, None)
        if not self.path(sha256).exists():
            part = self.path(sha256).with_suffix(f".{os.getpid()}")
            part.write_bytes(data)
            part.replace(self.path(sha256))
        return bundle

    def data(self, sha256: str) -> bytes:
        try:
            return self.path(sha256).read_bytes()
        except OSError as fault:
            raise BadInput(f"bundle {sha256[:12]}", f"cannot be read: {fault.strerror}") from None

    def opened(self, sha256: str) -> Bundle:
        """`BadInput` if it is missing, its content does not match its name, or it is no longer trusted."""
        place = f"bundle {sha256[:12]}"
        if sha256 in self._refused:
            raise BadInput("", self._refused[sha256])
        if not is_sha256(sha256):
            raise BadInput("bundle", "is not named by a sha256")
        bundle = self._trust.opened(self.data(sha256), place)
        if bundle.sha256 != sha256:
            raise BadInput(place, "has changed on the disk")
        self._seconds[sha256] = bundle.manifest.limits.call_seconds
        return bundle

    def problem(self, sha256: str) -> str:
        """Why it cannot run here; empty if it can."""
        try:
            self.opened(sha256)
        except BadInput as fault:
            return str(fault)
        return ""

    def seconds(self, sha256: str) -> float:
        """The time limit of a call, from its manifest."""
        if sha256 not in self._seconds:
            self.problem(sha256)
        return self._seconds.get(sha256, Limits().call_seconds)


def is_sha256(text: str) -> bool:
    return len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)
