"""ZooKeeper servers of our own, from the jars inside pyspark: one for `regraft up`, three for a quorum.

On failure: a server that ends before it serves is started again on other ports (another program may have
taken one meanwhile), a few times. After that, the last line of its log is the reason in the fault. Servers
never outlive the process that started them, however it ends (`processes.programs`). They listen on 127.0.0.1
only.

With a directory, data and ports stay the same from one run to the next, and no second run can use the
directory at the same time. If another program has taken a port, the servers get new ports and the log says
so. Without a directory, data are in a temporary one, which `stop` removes, or the next start if this process
was killed.
"""

import asyncio
import contextlib
import fcntl
import logging
import ssl
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO

import msgspec

from regraft.coord.ports import LOOPBACK, free_ports, freed
from regraft.coord.server_files import Ports, ServerOptions, ServerTls, write_files
from regraft.coord.temporary import TemporaryFolder
from regraft.model import BadInput, RegraftError
from regraft.model.files import write_bytes
from regraft.processes.programs import kill_program, start_program

log = logging.getLogger("regraft.coord")
PORTS = "ports.json"
START_SECONDS = 60.0
FREED_SECONDS = 10.0
ATTEMPTS = 5
POLL_SECONDS = 0.02


class Server:
    """One server: a process that can be killed and started again on the same ports and data."""

    def __init__(self, place: Path, id: int, ports: list[Ports], options: ServerOptions) -> None:
        self.place = place
        self.port = ports[id - 1].client
        self._command = write_files(place, id, ports, options)
        self._tls = options.tls
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The id of the server's process, and of its process group."""
        return self._process.pid if self._process is not None else None

    def launch(self) -> None:
        with (self.place / "log").open("wb") as log:
            self._process = start_program(self._command, log)

    def kill(self) -> None:
        """End it as a crash does, with `kill -9`."""
        process, self._process = self._process, None
        if process is not None:
            kill_program(process)

    async def mode(self) -> str | None:
        """`standalone`, `leader` or `follower`; None while it does not serve."""
        try:
            async with asyncio.timeout(2.0):
                reader, writer = await asyncio.open_connection(LOOPBACK, self.port, ssl=self._context())
                try:
                    writer.write(b"srvr")
                    answer = await reader.read()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return None
        modes = [line for line in answer.decode(errors="replace").splitlines() if line.startswith("Mode: ")]
        return modes[0].removeprefix("Mode: ") if modes else None

    def reason(self) -> str:
        """The last line of its log, stack traces left out."""
        with contextlib.suppress(OSError):
            lines = (self.place / "log").read_text(errors="replace").splitlines()
            said = [line.strip() for line in lines if line.strip() and not line.startswith("\tat ")]
            return said[-1] if said else "it said nothing"
        return "its log cannot be read"

    def _context(self) -> ssl.SSLContext | None:
        if self._tls is None:
            return None
        context = ssl.create_default_context(cafile=str(self._tls.authority))
        context.check_hostname = False
        if self._tls.clients_too:
            context.load_cert_chain(self._tls.certificate, self._tls.key)
        return context


class Ensemble:
    """`async with Ensemble(nodes=3) as ensemble: await Coord.connect(ensemble.hosts)`"""

    def __init__(
        self,
        nodes: int = 1,
        directory: Path | None = None,
        *,
        tls: ServerTls | None = None,
        sasl_users: tuple[tuple[str, str], ...] = (),
    ) -> None:
        if nodes < 1:
            raise BadInput("ZooKeeper", f"an ensemble has at least one node, not {nodes}")
        self.nodes: list[Server] = []
        self._count = nodes
        self._options = ServerOptions(tls, sasl_users, synced=directory is not None)
        self._given = directory
        self._temporary: TemporaryFolder | None = None
        self._lock: IO[bytes] | None = None

    @property
    def hosts(self) -> str:
        """What clients connect to."""
        return ",".join(f"{LOOPBACK}:{node.port}" for node in self.nodes)

    async def __aenter__(self) -> "Ensemble":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Returns when every server serves. Call it from the loop: it waits without blocking."""
        place = self._own_directory()
        try:
            last = await self._last_ports(place / PORTS)
            for attempt in range(ATTEMPTS):
                ports = last if last and not attempt else free_ports(self._count)
                places = [place / f"server-{id}" for id in range(1, self._count + 1)]
                self.nodes = [
                    Server(place, id, ports, self._options) for id, place in enumerate(places, start=1)
                ]
                for node in self.nodes:
                    node.launch()
                if await self._serving(self.nodes):
                    write_bytes(place / PORTS, msgspec.json.encode(ports))
                    return
                reasons = [node.reason() for node in self.nodes if not node.running]
                for node in self.nodes:
                    node.kill()
            raise RegraftError(f"ZooKeeper does not start: {reasons[0] if reasons else 'no answer'}")
        except BaseException:
            await self.stop()
            raise

    async def restart(self, i: int) -> None:
        """Start a server again after `nodes[i].kill()`, on the same ports and with its data."""
        node = self.nodes[i]
        for _ in range(ATTEMPTS):
            node.kill()
            node.launch()
            if await self._serving([node]):
                return
        raise RegraftError(f"ZooKeeper does not start again: {node.reason()}")

    async def leader(self) -> int:
        """The index of the server that leads, as soon as there is one."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for i, node in enumerate(self.nodes):
                if node.running and await node.mode() in ("leader", "standalone"):
                    return i
            await asyncio.sleep(POLL_SECONDS)
        raise RegraftError("ZooKeeper has no leader: too few servers run")

    async def stop(self) -> None:
        """Kill the servers: what they acknowledged is on the disk. A temporary directory is removed."""
        for node in self.nodes:
            node.kill()
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        if self._temporary is not None:
            self._temporary.remove()
            self._temporary = None

    async def _serving(self, nodes: list[Server]) -> bool:
        """Whether all of them serve; False if one has ended instead, or the time is over."""
        deadline = time.monotonic() + START_SECONDS
        for node in nodes:
            while await node.mode() is None:
                if any(not each.running for each in nodes) or time.monotonic() > deadline:
                    return False
                await asyncio.sleep(POLL_SECONDS)
        return True

    def _own_directory(self) -> Path:
        if self._given is None:
            self._temporary = TemporaryFolder("zookeeper")
            return self._temporary.path
        place = self._given.resolve()
        try:
            place.mkdir(parents=True, exist_ok=True)
            self._lock = (place / "lock").open("a+b")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._check_count(place / "nodes")
        except BlockingIOError:
            raise BadInput(str(self._given), "another ZooKeeper of Regraft's uses this directory") from None
        except OSError as fault:
            raise BadInput(str(self._given), f"cannot hold ZooKeeper's data: {fault.strerror}") from None
        return place

    async def _last_ports(self, file: Path) -> list[Ports]:
        """The ports of the last start in this directory, once its servers have released them; none if they do
        not. If the process that started these servers was killed, they end a moment after it."""
        if not file.exists():
            return []
        try:
            last = msgspec.json.decode(file.read_bytes(), type=list[Ports])
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise BadInput(str(file), f"does not hold ports ({fault}); remove it to have new ones") from None
        used = [each.numbers if self._count > 1 else each.numbers[:1] for each in last]
        if await freed([(LOOPBACK, number) for numbers in used for number in numbers], FREED_SECONDS):
            return last
        log.warning("ZooKeeper cannot use its ports of the last start: another program uses one of them")
        return []

    def _check_count(self, file: Path) -> None:
        """Refuse another number of servers: one of three may lack what the other two have acknowledged."""
        if not file.exists():
            file.write_text(f"{self._count}\n")
        elif (before := file.read_text().strip()) != str(self._count):
            raise BadInput(str(self._given), f"holds the data of {before} servers, not of {self._count}")
