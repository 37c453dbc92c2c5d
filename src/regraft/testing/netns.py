"""Network namespaces without names: they live as long as a file descriptor or a process holds them.

Nothing is left on the machine when the process ends, however it ends. Needs Linux and root.
"""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

CLONE_NEWNET = 0x4000_0000
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int | bytes | None) -> None:
    """A function of the C library that returns 0 or sets `errno`."""
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class Namespace:
    """A new network namespace, empty but for a loopback that is down; or an existing one."""

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is not None:
            self.descriptor = descriptor
            return
        own = _current()
        try:
            call("unshare", CLONE_NEWNET)
            self.descriptor = _current()
        finally:
            call("setns", own, CLONE_NEWNET)
            os.close(own)

    @property
    def path(self) -> str:
        """The namespace as a file, for programs that take one."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What this thread opens or starts meanwhile belongs to the namespace."""
        own = _current()
        try:
            call("setns", self.descriptor, CLONE_NEWNET)
            yield
        finally:
            call("setns", own, CLONE_NEWNET)
            os.close(own)

    def ip(self, *lines: str) -> None:
        """Run `ip -batch` with these lines in the namespace."""
        with self.inside():
            run(["ip", "-batch", "-"], "\n".join(lines) + "\n")

    def close(self) -> None:
        os.close(self.descriptor)


def unavailable() -> str | None:
    """Why network namespaces or TUN devices cannot be made here, or None."""
    try:
        Namespace().close()
        with open("/dev/net/tun", "rb"):
            pass
    except OSError as fault:
        return f"network namespaces or /dev/net/tun are not permitted here ({fault}); run as root"
    return None


def _current() -> int:
    # Not /proc/self/ns, which is that of the main thread.
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def run(command: list[str], given: str = "", environment: dict[str, str] | None = None) -> str:
    """The output of the command; if it fails, the error holds what it wrote to standard error."""
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
