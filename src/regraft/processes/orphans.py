"""A process that we start ends with its parent, even if the parent is killed with `kill -9`.

Such processes stop when their standard input ends. That alone is not enough: what a broker waits for while
it stops may have died as well (the ZooKeeper of a `regraft up` that was killed), and a process that hangs
notices nothing. So a thread in each process watches its parent. When the parent is gone, the process has a
few seconds to stop by itself; then the thread ends it.
"""

import os
import threading
from multiprocessing.process import parent_process
from typing import Any

GRACE_SECONDS = 5.0
LOOK_SECONDS = 1.0


def end_with_parent(grace: float = GRACE_SECONDS) -> None:
    """Start the thread that watches the parent; called when the process begins."""
    watching = (parent_process(), os.getppid(), grace)
    threading.Thread(target=_watch, args=watching, daemon=True, name="end with parent").start()


def _watch(forked_for: Any, started_by: int, grace: float) -> None:
    """`forked_for` is set if a fork server has made this process: for the system the parent is then that
    server, which lives as long as any of its children."""
    never = threading.Event()
    if forked_for is not None:
        forked_for.join()
    else:
        while os.getppid() == started_by:
            never.wait(LOOK_SECONDS)
    never.wait(grace)
    os._exit(1)
