import sys
from pathlib import Path

import pytest
from benchmarks._peers import PeerFailed, free_ports, started

SERVER = """
import os, pathlib, socket, sys, time
pathlib.Path("pid").write_text(str(os.getpid()))
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(60)
"""


def running(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_server_is_stopped_and_its_folder_removed_after_an_error() -> None:
    (port,) = free_ports(1)
    pid = ""
    with pytest.raises(ZeroDivisionError), started("test") as servers:  # noqa: PT012
        folder = servers.folder
        servers.run([sys.executable, "-c", SERVER, str(port)], port)
        pid = (folder / "pid").read_text()
        assert running(pid)
        raise ZeroDivisionError
    assert not running(pid)
    assert not folder.exists()


def test_a_server_that_ends_at_once_is_reported_with_its_last_words() -> None:
    (port,) = free_ports(1)
    with started("test") as servers, pytest.raises(PeerFailed, match="no such setting"):
        servers.run([sys.executable, "-c", "raise SystemExit('no such setting')"], port)


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
