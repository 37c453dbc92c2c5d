"""The lab of hosts: addresses, files, clocks and processes of their own, and networks that fail on demand."""

import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from regraft.testing.hosts import Lab, LabHost, skew, unavailable

LATENCY_MS = 20.0
pytestmark = pytest.mark.xdist_group("hosts")  # they share one lab

HOLDER = """
import time
from regraft.testing.hosts import Lab
with Lab(2) as lab:
    a, b = lab.hosts
    a.run(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 </dev/null &"])  # left alone by its parent
    (a.folder / "file").write_text("")
    started = b.start(["sleep", "600"])
    print(a.folder, lab._router.pid, a.first_process, b.first_process, started.pid, flush=True)
    time.sleep(600)
"""
CLOCKS = """
import datetime, threading, time
lock = threading.Lock()
lock.acquire()
lock.acquire(timeout=0.01)
print(time.time(), datetime.datetime.now().timestamp(), time.monotonic())
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[Lab]:
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED ON SEVERAL HOSTS: {reason}", stacklevel=1)
        pytest.skip(reason)
    with Lab(3, latency_ms=LATENCY_MS) as lab:
        yield lab


@pytest.fixture
def lab(shared: Lab) -> Iterator[Lab]:
    yield shared
    shared.heal()
    for a in shared.hosts:
        for b in shared.hosts:
            if a is not b:
                shared.latency(a, b, LATENCY_MS)
                shared.loss(a, b, 0.0)


def eventually(holds: Callable[[], bool]) -> bool:
    for _ in range(3000):
        if holds():
            return True
        time.sleep(0.01)
    return False


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Post:
    """A UDP socket in each host."""

    def __init__(self, lab: Lab, stack: ExitStack) -> None:
        self.lab = lab
        self._sockets: dict[LabHost, socket.socket] = {}
        for host in lab.hosts:
            with host.inside():
                own = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                own.bind((host.address, 5000))
                own.settimeout(30)
                self._sockets[host] = own

    def send(self, a: LabHost, b: LabHost, data: bytes = b"hello") -> None:
        self._sockets[a].sendto(data, (b.address, 5000))

    def receive(self, host: LabHost) -> tuple[bytes, str]:
        data, (sender, _) = self._sockets[host].recvfrom(1 << 16)
        return data, sender

    def passes(self, a: LabHost, b: LabHost) -> bool:
        """Whether a packet from `a` arrives at `b`: the router says which of both has happened."""
        before = self.lab.packets(a, b)
        self.send(a, b)
        assert eventually(lambda: self.lab.packets(a, b) != before)
        if self.lab.packets(a, b).dropped > before.dropped:
            return False
        return self.receive(b) == (b"hello", a.address)


@contextmanager
def posting(lab: Lab) -> Iterator[Post]:
    with ExitStack() as stack:
        yield Post(lab, stack)


def round_trip(a: LabHost, b: LabHost) -> float:
    """The seconds that the handshake of a TCP connection takes."""
    with b.inside(), socket.create_server((b.address, 0)) as server, a.inside():
        began = time.monotonic()
        with socket.create_connection(server.getsockname(), 30):
            return time.monotonic() - began


def test_every_host_reaches_every_other_from_its_own_address(lab: Lab) -> None:
    assert [host.address for host in lab.hosts] == ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
    with posting(lab) as post:
        for a in lab.hosts:
            for b in lab.hosts:
                post.send(a, b, a.name.encode())
                assert post.receive(b) == (a.name.encode(), a.address)


def test_a_round_trip_takes_twice_the_latency(lab: Lab) -> None:
    a, b, _ = lab.hosts
    assert round_trip(a, b) >= 0.040
    lab.latency(b, a, 100.0)
    assert round_trip(a, b) >= 0.120


def test_a_cut_stops_one_direction_until_it_heals(lab: Lab) -> None:
    a, b, _ = lab.hosts
    lab.cut(a, b)
    with posting(lab) as post:
        assert not post.passes(a, b)
        assert post.passes(b, a)
        lab.heal()
        assert post.passes(a, b)


def test_a_partition_separates_groups_until_it_heals(lab: Lab) -> None:
    a, b, c = lab.hosts
    lab.partition({a, b}, {c})
    with posting(lab) as post:
        assert not any([post.passes(a, c), post.passes(c, a), post.passes(b, c), post.passes(c, b)])
        assert post.passes(a, b)
        lab.heal()
        assert post.passes(a, c)


def test_packets_are_lost_in_one_direction(lab: Lab) -> None:
    a, b, _ = lab.hosts
    lab.loss(a, b, 1.0)
    with posting(lab) as post:
        assert not post.passes(a, b)
        assert post.passes(b, a)


def test_a_connection_survives_loss_and_jitter(lab: Lab) -> None:
    a, b, _ = lab.hosts
    sent = os.urandom(200_000)
    for one, other in ((a, b), (b, a)):
        lab.latency(one, other, 1.0, jitter_ms=2.0)
        lab.loss(one, other, 0.05)
    with b.inside(), socket.create_server((b.address, 0)) as server:
        with a.inside():
            sender = socket.create_connection(server.getsockname(), 30)
        receiver, _ = server.accept()
        with sender, receiver, receiver.makefile("rb") as received:
            sender.sendall(sent)
            sender.shutdown(socket.SHUT_WR)
            assert received.read() == sent
    assert lab.packets(a, b).dropped > 0


def test_a_host_sees_only_its_own_files_and_processes(lab: Lab) -> None:
    a, b, _ = lab.hosts
    other = b.start(["sleep", "600"])
    assert a.run(["sh", "-c", "echo kept > file; pwd"]).strip() == str(a.folder)
    assert (a.folder / "file").read_text() == "kept\n"
    assert b.run(["sh", "-c", "ls; ls .."]).split() == ["h2"]
    assert b.run(["cat", "/proc/1/comm", "/proc/sys/kernel/hostname"]).splitlines()[1] == "h2"
    assert "sleep" in b.run(["sh", "-c", "cat /proc/[0-9]*/comm"])
    assert "sleep" not in a.run(["sh", "-c", "cat /proc/[0-9]*/comm"])
    assert other.poll() is None


def test_a_crash_kills_all_programs_of_one_host(lab: Lab) -> None:
    a, b, _ = lab.hosts
    on_a = [a.start(["sleep", "600"]), a.start(["sh", "-c", "sleep 600; true"])]
    on_b = b.start(["sleep", "600"])
    a.crash()
    assert [process.wait(30) for process in on_a] == [-9, -9]
    assert on_b.poll() is None
    assert a.run(["echo", "on again"]) == "on again\n"


def test_a_program_writes_to_its_log_and_a_failure_says_why(lab: Lab, tmp_path: Path) -> None:
    host = lab.hosts[0]
    program = "echo $GREETING; echo again >&2; exit 3"
    started = host.start(["sh", "-c", program], log=tmp_path / "log", environment={"GREETING": "hello"})
    assert started.wait(30) == 3
    assert (tmp_path / "log").read_text() == "hello\nagain\n"
    with pytest.raises(RuntimeError, match=r"^h1: sh -c echo no >&2; exit 1: no$"):
        host.run(["sh", "-c", "echo no >&2; exit 1"])
    assert host.run(["cat"], "given") == "given"


@pytest.mark.skipif(skew.unavailable() is not None, reason=str(skew.unavailable()))
def test_a_hosts_wall_clock_is_skewed_and_its_other_clocks_are_not(lab: Lab) -> None:
    """The program also waits with a time limit, which must not become longer."""
    host = lab.hosts[0]
    for seconds in (-3600.5, 86400.0):
        host.skew = seconds
        before = time.time(), time.monotonic()
        wall, date, monotonic = map(float, host.run([sys.executable, "-S", "-c", CLOCKS]).split())
        after = time.time(), time.monotonic()
        host.skew = 0.0
        assert before[0] + seconds <= wall <= after[0] + seconds
        assert before[0] + seconds <= date <= after[0] + seconds
        assert before[1] <= monotonic <= after[1]


def test_nothing_remains_after_a_failure(shared: Lab) -> None:
    interfaces, descriptors = set(os.listdir("/sys/class/net")), len(os.listdir("/proc/self/fd"))
    seen: list[tuple[Path, subprocess.Popen[bytes]]] = []

    def fail() -> None:
        with Lab(2) as lab:
            host = lab.hosts[0]
            seen.append((host.folder, host.start(["sleep", "600"])))
            assert set(os.listdir("/sys/class/net")) == interfaces, "not even while it runs"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    ((folder, process),) = seen
    assert process.returncode == -9
    assert not folder.parent.parent.exists()
    assert set(os.listdir("/sys/class/net")) == interfaces
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_nothing_remains_when_the_process_of_the_lab_is_killed(shared: Lab) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        folder, *numbers = holder.stdout.readline().split()
        pids = [int(number) for number in numbers]
        inside = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _in_host(pid, pids[1])]
        try:
            assert len(inside) == 2, "its first process and the one that was left alone"
            assert not any(gone(pid) for pid in (*pids, *inside))
        finally:
            holder.kill()
    assert eventually(lambda: all(gone(pid) for pid in (*pids, *inside)))
    assert eventually(lambda: not Path(folder).parent.parent.exists())


def _in_host(pid: int, first: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/net") == os.readlink(f"/proc/{first}/ns/net")
    except OSError:
        return False


def test_a_lab_without_its_router_says_so(shared: Lab, tmp_path: Path) -> None:
    with Lab(1, folder=tmp_path) as lab:
        started = lab.hosts[0].start(["sleep", "600"])
        assert lab._router is not None
        lab._router.kill()
        assert started.wait(30) == -9, "its programs end with it"
        with pytest.raises(RuntimeError, match="the router has ended"):
            lab.heal()
    assert (tmp_path / "hosts" / "h1").exists(), "the folder was given, so it stays"
