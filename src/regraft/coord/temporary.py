"""Temporary folders that are removed even when their owner is killed.

On failure: a process that is killed cannot remove its folder, so the folder stays until another process of
Regraft creates one for the same purpose and removes those whose owners are dead. An owner is dead if its file
`owner` is not locked: the system releases the lock with the process, however that ends.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

OWNER = "owner"


class TemporaryFolder:
    """A new folder in the system's place for temporary files; `with` removes it at the end."""

    def __init__(self, purpose: str) -> None:
        prefix = f"regraft-{purpose}-"
        _remove_abandoned(Path(tempfile.gettempdir()), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._owner = (self.path / OWNER).open("wb")
        fcntl.flock(self._owner, fcntl.LOCK_EX)
        # Written under the lock: if the file is still empty, the owner is just about to lock it.
        self._owner.write(b"%d\n" % os.getpid())
        self._owner.flush()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._owner.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _remove_abandoned(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # another user's, or another process is removing it
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return False
    with (folder / OWNER).open("rb") as owner:
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return bool(owner.read(1))
