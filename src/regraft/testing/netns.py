"""Network namespaces without names: they live as long as a file descriptor or a process holds them.

Nothing is left on the machine when the process ends, however it ends. Needs Linux and root.
"""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x4000_0000
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class Namespace:
    """A network namespace of its own, empty but for a loopback that is down."""

    def __init__(self) -> None:
        own = _current()
        try:
            _call("unshare", _CLONE_NEWNET)
            self.descriptor = _current()
        finally:
            _call("setns", own, _CLONE_NEWNET)
            os.close(own)

    @property
    def path(self) -> str:
        """For programs that want it as a file."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What this thread opens or starts meanwhile belongs to the namespace."""
        own = _current()
        try:
            _call("setns", self.descriptor, _CLONE_NEWNET)
            yield
        finally:
            _call("setns", own, _CLONE_NEWNET)
            os.close(own)

    def ip(self, *lines: str) -> None:
        """Lines for `ip -batch`."""
        with self.inside():
            run(["ip", "-batch", "-"], "\n".join(lines) + "\n")

    def close(self) -> None:
        os.close(self.descriptor)


def _current() -> int:
    # Not /proc/self/ns: that is the main thread's.
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def run(command: list[str], given: str = "", environment: dict[str, str] | None = None) -> str:
    """Its output; what it says on failure is in the error."""
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def start(command: list[str], log: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """A process that dies with the thread that started it, at the latest."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            preexec_fn=lambda: _call("prctl", _PR_SET_PDEATHSIG, _SIGKILL),  # noqa: PLW1509
        )
