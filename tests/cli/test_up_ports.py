"""Where `regraft up` listens, and that two overlays do not get into each other's way."""

import json
import socket
import threading
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run, refused
from tests.cli.running import CHAIN, running

from regraft.coord.ports import LOOPBACK, reusable_ports


def with_ports(**given: int) -> dict[str, Any]:
    return {**CHAIN, "brokers": [{"id": id, "port": given.get(id)} for id in "abc"]}


def ports(up: dict[str, Any]) -> dict[str, int]:
    return {id: int(row["address"].rpartition(":")[2]) for id, row in up["brokers"].items()}


def test_hosts_and_ports_of_the_topology_are_used(folder: Path) -> None:
    a, b = reusable_ports([LOOPBACK] * 2)
    topology = with_ports(a=a, b=b)
    topology["brokers"][1]["host"] = "127.0.0.2"
    with running(folder, topology=topology) as up:
        assert up["brokers"]["a"]["address"] == f"127.0.0.1:{a}"
        assert up["brokers"]["b"]["address"] == f"127.0.0.2:{b}"
        assert ports(up)["c"] not in (a, b)


def test_a_port_that_is_taken_is_named_with_its_broker(regraft: Run, folder: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        (folder / "taken.json").write_text(json.dumps(with_ports(b=port)))
        reason = refused(regraft("up", "taken.json", "--no-agents"))
    assert reason == f"broker 'b': 127.0.0.1:{port}: is taken: another program listens there"


def test_a_port_is_of_one_broker(regraft: Run, folder: Path) -> None:
    (folder / "twice.json").write_text(json.dumps(with_ports(a=7000, c=7000)))
    reason = refused(regraft("up", "twice.json", "--no-agents"))
    assert reason == "broker 'c': 127.0.0.1:7000: is the address of broker 'a', too"


def test_a_port_of_the_last_start_that_is_taken_is_replaced_and_named(folder: Path) -> None:
    with running(folder, "--state", "state") as up:
        before = ports(up)
    with socket.create_server((LOOPBACK, before["b"])), running(folder, "--state", "state") as up:
        after = ports(up)
        assert up["process"].stderr.readline() == (
            f"regraft: broker 'b': port {before['b']} of the last start is taken, it gets another\n"
        )
    assert {id for id in "abc" if before[id] == after[id]} == {"a", "c"}


def test_after_a_kill_every_port_is_waited_for_that_a_dying_process_may_still_hold(folder: Path) -> None:
    def metrics(up: dict[str, Any]) -> str:
        return str(up["brokers"]["b"]["metrics"])

    with running(folder, "--state", "state") as up:
        before = metrics(up)
        up["process"].kill()
        up["process"].wait()
    port = int(before.rpartition(":")[2].partition("/")[0])
    with socket.create_server((LOOPBACK, port)) as held:
        release = threading.Timer(3.0, held.close)
        release.start()
        with running(folder, "--state", "state") as up:
            after = metrics(up)
        release.join()
    assert after == before


def test_ports_that_can_not_be_read_are_named_and_kept(regraft: Run, folder: Path) -> None:
    (folder / "state").mkdir()
    (folder / "state" / "ports.json").write_text('{"a": 5}')
    reason = refused(regraft("up", "now.json", "--no-agents", "--state", "state"))
    assert reason.startswith("state/ports.json: does not hold the ports of brokers")
    assert reason.endswith("remove it to have new ones chosen")
    assert (folder / "state" / "ports.json").read_text() == '{"a": 5}'


def test_two_overlays_do_not_share_a_directory_or_a_state(regraft: Run, folder: Path) -> None:
    with running(folder, "--state", "state") as up:
        written = (folder / "out" / "overlay.json").read_text()
        process = up["process"].pid
        assert refused(regraft("up", "now.json", "--no-agents")) == (
            f"out/overlay.json: belongs to `regraft up` in process {process}, which is running; "
            "give this overlay another file with --directory"
        )
        elsewhere = ["--directory", "other.json"]
        assert refused(regraft("up", "now.json", "--no-agents", "--state", "state", *elsewhere)) == (
            f"state: belongs to `regraft up` in process {process}, which is running; "
            "give this overlay another folder with --state"
        )
        with running(folder, *elsewhere):
            assert (folder / "other.json").exists()
        assert (folder / "out" / "overlay.json").read_text() == written
    left = [path.name for path in folder.rglob("*") if path.name in ("lock", ".overlay.json.lock")]
    assert left == []
