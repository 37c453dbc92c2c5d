"""Real switches come and go without a trace."""

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from regraft.flows import wire
from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.testing.switches import SwitchNetworkLab, switch_lab, unavailable

HOSTS = RouteWorkload((Publisher("p", "a", 1.0, ("0",)),), (Subscriber("q", "b", ("0",)),))
WIRING = wire(SwitchNetwork.of([("a", "b")]), HOSTS)

HOLDER = """
import sys, time
from tests.testing.test_switches import WIRING
from regraft.testing.switches import switch_lab
with switch_lab(WIRING) as lab:
    print(lab.switches.directory, *(process.pid for process in lab.switches.processes), flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _real_switches() -> None:
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED IN REAL SWITCHES: {reason}", stacklevel=1)
        pytest.skip(reason)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def eventually(holds: Callable[[], bool]) -> bool:
    for _ in range(200):
        if holds():
            return True
        time.sleep(0.05)
    return False


def interfaces() -> set[str]:
    return set(os.listdir("/sys/class/net"))


def test_bridges_ports_and_hosts_are_as_the_wiring_says() -> None:
    with switch_lab(WIRING) as lab:
        for (switch, cable), port in WIRING.cables.items():
            number = lab.switches.control("get", "interface", f"{lab.bridges[switch]}p{port}", "ofport")
            assert int(number) == port, cable
        host = WIRING.hosts["p"]
        assert f"{host.port}(" in lab.switches.tool(
            "ovs-ofctl", "-O", "OpenFlow13", "show", lab.addresses[host.switch]
        )


def test_nothing_remains_after_a_failure() -> None:
    before, descriptors = interfaces(), len(os.listdir("/proc/self/fd"))
    labs: list[SwitchNetworkLab] = []

    def fail() -> None:
        with switch_lab(WIRING) as lab:
            labs.append(lab)
            assert interfaces() == before, "not even while it runs"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    (lab,) = labs
    assert not lab.switches.directory.exists()
    assert all(process.poll() is not None for process in lab.switches.processes)
    assert interfaces() == before
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_the_switches_die_with_the_process_that_started_them() -> None:
    before = interfaces()
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as holder:
        assert holder.stdout is not None
        directory, *pids = holder.stdout.readline().split()
        try:
            assert len(pids) == 2
            assert not any(gone(int(pid)) for pid in pids)
        finally:
            holder.kill()
    assert eventually(lambda: all(gone(int(pid)) for pid in pids))
    assert interfaces() == before
    subprocess.run(["rm", "-r", directory], check=True)
