"""What a broker must offer to be measured beside the others, and how its processes live and end.

Every peer starts its brokers from its own package, on free loopback ports, with everything they write in
a folder of their own that is gone afterwards. A broker is stopped by its process id; nothing stays
behind, also after an error or Ctrl-C.
"""

import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from benchmarks._load import Load

from regraft.processes.programs import end_programs, start_program

STOP_SECONDS = 20.0


class PeerFailed(Exception):
    """The peer cannot be measured; the others still can."""


class Unavailable(PeerFailed):
    """The peer's package is not on this machine; the message says how to get it."""


class Chain(Protocol):
    """Running brokers b0 - b1 - …: who publishes at the first reaches who subscribes at the last.

    The two commands obey the contract of `_load`.
    """

    def publisher(self, load: Load) -> Sequence[str]: ...

    def subscriber(self, load: Load) -> Sequence[str]: ...


class Peer(Protocol):
    @property
    def name(self) -> str: ...

    def version(self) -> str:
        """Raises `Unavailable`."""

    def chain(self, brokers: int) -> AbstractContextManager[Chain]:
        """Start this many brokers, linked in a row; stop them at the end."""


class Started:
    """Child processes and their folder; the last one started is the first one stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()

    def run(self, command: Sequence[str], port: int, environment: Mapping[str, str] | None = None) -> None:
        """Start a server and wait until it accepts connections on its port."""
        log = self.folder / f"{Path(command[0]).name}-{port}.log"
        with log.open("wb") as output:
            # A group of its own: Ctrl-C reaches us only, and we stop the server in order.
            process = start_program(command, output, directory=self.folder, environment=environment)
        self._stack.callback(end_programs, [process], STOP_SECONDS)
        until = time.monotonic() + 120
        while not _accepts(port):
            if process.poll() is not None or time.monotonic() > until:
                last = log.read_text(errors="replace").strip()[-2000:]
                raise PeerFailed(f"{command[0]} does not answer on its port; its last words:\n{last}")
            time.sleep(0.05)

    def stop(self) -> None:
        self._stack.close()


@contextmanager
def started(name: str) -> Iterator[Started]:
    with tempfile.TemporaryDirectory(prefix=f"regraft-bench-{name}-") as folder:
        servers = Started(Path(folder))
        try:
            yield servers
        finally:
            servers.stop()


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on; all are held until all are known, so they differ."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


def _accepts(port: int) -> bool:
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0
