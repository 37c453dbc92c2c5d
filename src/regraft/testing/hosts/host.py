"""One host as a test sees it: start programs there, look at its files, open sockets in its network.

The router has made its namespaces (`router`); this side only joins them.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any

from regraft.testing.hosts import skew as clock
from regraft.testing.netns import CLONE_NEWNET, Namespace, call

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID = 0x0002_0000, 0x0400_0000, 0x2000_0000
NETWORK = "10.77.0"
PROGRAM_SECONDS = 60.0


@contextmanager
def children_in(member: int) -> Iterator[None]:
    """What this thread forks meanwhile belongs to the processes of a host, of which `member` is a pidfd.

    A process cannot move into another process namespace, so its parent chooses. The kernel refuses to start
    a thread from this one meanwhile.
    """
    own = os.open("/proc/thread-self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        call("setns", member, CLONE_NEWPID)
        yield
    finally:
        call("setns", own, CLONE_NEWPID)
        os.close(own)


def enter(member: int, folder: Path) -> None:
    """To be called in a process that was forked in `children_in`: everything else of the host."""
    call("setns", member, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS)
    os.chdir(folder)


class LabHost:
    """Made by a `Lab`, and usable until that ends."""

    def __init__(self, number: int, folder: Path, first_process: int, library: Path) -> None:
        self.number = number
        self.name = folder.name
        self.address = f"{NETWORK}.{number}"
        self.folder = folder
        """Its files, under the same path inside and outside; other hosts do not see them."""
        self.first_process = first_process
        self.skew = 0.0
        """The seconds by which the wall clock of programs that are started from now on is ahead (`skew`)."""
        self._library = library
        self._member = os.pidfd_open(first_process)
        self._network = Namespace(os.open(f"/proc/{first_process}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        self._started: list[subprocess.Popen[Any]] = []

    def __repr__(self) -> str:
        return f"<{self.name} {self.address}>"

    def start(
        self,
        command: Sequence[str | Path],
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> "subprocess.Popen[Any]":
        """A program in this host, in its folder; its output is appended to `log`, if that is given.

        `environment` is added to the current one, `options` are those of `subprocess.Popen`.
        """
        options = {"stdin": DEVNULL, **options}
        if log is not None:
            with log.open("ab") as output:
                return self.start(command, None, environment, stdout=output, stderr=STDOUT, **options)
        with children_in(self._member):
            process = subprocess.Popen(
                command,
                env=self._environment(environment or {}),
                preexec_fn=lambda: enter(self._member, self.folder),  # noqa: PLW1509
                **options,
            )
        self._started.append(process)
        return process

    def run(
        self, command: Sequence[str | Path], given: str = "", environment: Mapping[str, str] | None = None
    ) -> str:
        """The output of a program in this host; what it says on failure is in the error."""
        pipes = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE}
        with self.start(command, None, environment, text=True, **pipes) as process:
            try:
                output, errors = process.communicate(given, PROGRAM_SECONDS)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            reason = errors.strip() or process.returncode
            raise RuntimeError(f"{self.name}: {' '.join(map(str, command))}: {reason}")
        return str(output)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Sockets that this thread opens meanwhile are in the network of the host, and so are threads that it
        starts, for good. Files, processes and the clock are those of the test."""
        with self._network.inside():
            yield

    def crash(self) -> None:
        """Kill all programs of the host at once. Its files stay, even those that were never synced."""
        self.run(["sh", "-c", "kill -9 -1"])

    def close(self) -> None:
        """When the router ends the host: wait for the programs, which it kills."""
        for process in self._started:
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        os.close(self._member)
        self._network.close()

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        environment = {**os.environ, "HOME": str(self.folder), "TMPDIR": str(self.folder), **more}
        if not self.skew:
            return environment
        if not self._library.exists():
            clock.build(self._library)
        return clock.shifted(environment, self._library, self.skew)
