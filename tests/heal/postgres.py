"""A real PostgreSQL for tests, from the system's packages: a free port, a temporary directory, not as root.

The server refuses to run as root, so root starts it as the user `postgres` that the package makes. It dies
with the process that started it.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from regraft.coord.ports import LOOPBACK, reusable_ports
from regraft.model import RegraftError
from regraft.processes.programs import kill_program, start_program

START_SECONDS = 30.0


def programs() -> Path | None:
    """The folder of initdb and postgres; None where the package is missing."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3]))
    if found:
        return found[-1].parent
    by_name = shutil.which("initdb")
    return Path(by_name).resolve().parent if by_name else None


class Postgres:
    """`with Postgres() as server: store_of(server.url)`"""

    def __init__(self) -> None:
        self._user = "postgres" if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://regraft@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> "Postgres":
        bin = programs()
        if bin is None:
            raise RegraftError("PostgreSQL is not installed: apt-get install postgresql")
        self._bin = bin
        self._place = Path(tempfile.mkdtemp(prefix="regraft-postgres-"))
        if self._user:
            entry = pwd.getpwnam(self._user)
            os.chown(self._place, entry.pw_uid, entry.pw_gid)
        self.port = reusable_ports([LOOPBACK])[0]
        data = str(self._place / "data")
        options = ["-D", data, "-U", "regraft", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [str(bin / "initdb"), *options], user=self._user, check=True, capture_output=True, cwd=self._place
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._place, ignore_errors=True)

    def start(self) -> None:
        """On the port and data that it has; also after `kill`."""
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        command = [str(self._bin / "postgres"), "-D", str(self._place / "data")]
        for each in settings:
            command += ["-c", each]
        with (self._place / "log").open("ab") as log:
            self._process = start_program(command, log, directory=self._place, user=self._user)
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(
            [str(self._bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
        ).returncode:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RegraftError(f"PostgreSQL does not start: {(self._place / 'log').read_text()[-300:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """As a crash does: the server and all its helpers at once."""
        process, self._process = self._process, None
        if process is not None:
            for pid in _below(process.pid):  # its helpers have groups of their own
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            kill_program(process)
            (self._place / "data" / "postmaster.pid").unlink(missing_ok=True)


def _below(pid: int) -> list[int]:
    """The process and all that it started, as far as they are still its own."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(each for child in children for each in _below(child))]
