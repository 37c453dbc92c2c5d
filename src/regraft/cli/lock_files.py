"""Files and folders that only one running command may use at a time.

Beside a claimed file lies a lock file with the id of the process that holds it. The system releases the lock
when that process ends, however it ends. A lock file that a killed process leaves behind blocks no one: it
only shows that the last holder was killed.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from regraft.model import BadInput


@contextmanager
def claimed(lock: Path, what: Path, option: str) -> Iterator[bool]:
    """Holds the lock inside the block. The value: whether the last holder was killed. `BadInput` if another
    process holds `what`; `option` tells the user how to choose another one."""
    file = _locked(lock, what, option)
    try:
        file.seek(0)
        was_killed = bool(file.read())
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield was_killed
    finally:
        with suppress(OSError):
            lock.unlink()  # while it is locked: a process that has opened it meanwhile notices in `_locked`
        file.close()


def _locked(lock: Path, what: Path, option: str) -> TextIO:
    while True:
        try:
            file = lock.open("a+")
        except OSError as fault:
            raise BadInput(str(lock), f"cannot be written: {fault.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_ino == lock.stat().st_ino:
                return file
            file.close()  # its holder has removed this file since we opened it: lock the new one
        except FileNotFoundError:
            file.close()
        except OSError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            who = f"`regraft up` in process {holder}" if holder else "another `regraft up`"
            raise BadInput(str(what), f"belongs to {who}, which is running; {option}") from None


@contextmanager
def claimed_directory(path: Path) -> Iterator[bool]:
    """Claims the directory file: two overlays would overwrite each other's."""
    target = path.resolve()
    if target.exists() and not target.is_file():  # a pipe or a terminal
        yield False
        return
    lock = target.with_name(f".{target.name}.lock")
    with claimed(lock, path, "give this overlay another file with --directory") as was_killed:
        yield was_killed


@contextmanager
def claimed_state(folder: Path | None) -> Iterator[bool]:
    """Claims the folder of journals, if there is one."""
    if folder is None:
        yield False
        return
    with claimed(folder / "lock", folder, "give this overlay another folder with --state") as was_killed:
        yield was_killed
