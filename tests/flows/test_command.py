"""`regraft routes --install`: from files to events that arrive in real switches."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.flows.live_traffic import LiveTraffic

from regraft.cli.entry import main
from regraft.flows import AddressBlock, wire
from regraft.model.network_files import read_network
from regraft.model.route_files import read_route_workload
from regraft.testing.switches import switch_lab

ABILENE = Path(__file__).parents[1] / "data" / "topology_zoo" / "Abilene.graphml"
BLOCK = "239.192.0.0/14"
WORK: dict[str, Any] = {
    "publishers": [
        {"id": "p1", "switch": "0", "rate": 5, "advertisement": ["0"]},
        {"id": "p2", "switch": "7", "rate": 5, "advertisement": ["0", "1"]},
    ],
    "subscribers": [
        {"id": "q1", "switch": "3", "subscription": ["00", "110"]},
        {"id": "q2", "switch": "9", "subscription": ["0"]},
        {"id": "q3", "switch": "9", "subscription": ["1"]},
    ],
}


def installed(work: Path, switches: Path, *more: str) -> Result:
    command = ["routes", str(ABILENE), "--workload", str(work), "--install", str(switches), "--json", *more]
    return CliRunner().invoke(main, command)


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


@pytest.mark.usefixtures("real_switches")
def test_events_arrive_as_the_files_say_and_a_second_call_sends_nothing(tmp_path: Path) -> None:
    work = written(tmp_path / "work.json", WORK)
    hosts = read_route_workload(work)
    with switch_lab(wire(read_network(ABILENE), hosts, 4), 4) as lab:
        switches = written(tmp_path / "switches.json", {"block": BLOCK, "switches": lab.addresses})
        wired = tmp_path / "wired.json"
        first = installed(work, switches, "--wired", str(wired))
        assert first.exit_code == 0, first.output
        assert json.loads(first.stdout)["installed"]["messages"] > 0
        lab.switches.settle()
        assert LiveTraffic(lab, AddressBlock.of(BLOCK), Random(1)).send_many(100, hosts) == []
        assert json.loads(installed(work, switches).stdout)["installed"]["messages"] == 0
        assert json.loads(installed(work, wired).stdout)["installed"]["messages"] == 0
        # The first publisher leaves; the others are still where they are plugged in.
        work = written(work, WORK | {"publishers": WORK["publishers"][1:]})
        assert installed(work, wired).exit_code == 0
        lab.switches.settle()
        fewer = read_route_workload(work)
        assert LiveTraffic(lab, AddressBlock.of(BLOCK), Random(2)).send_many(50, fewer) == []


def test_the_wiring_is_written_only_where_something_is_installed(tmp_path: Path) -> None:
    work = written(tmp_path / "work.json", WORK)
    command = ["routes", str(ABILENE), "--workload", str(work), "--wired", str(tmp_path / "wired.json")]
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "--wired: needs --install" in result.stderr


def test_an_expression_longer_than_the_block_allows_is_bad_input(tmp_path: Path) -> None:
    long = WORK["subscribers"][0] | {"id": "q4", "subscription": ["0" * 19]}
    work = written(tmp_path / "work.json", WORK | {"subscribers": [*WORK["subscribers"], long]})
    addresses = dict.fromkeys(read_network(ABILENE).switches, "tcp:127.0.0.1:1")
    result = installed(work, written(tmp_path / "switches.json", {"block": BLOCK, "switches": addresses}))
    assert result.exit_code == 2
    assert "has 19 digits, the block 239.192.0.0/14 has room for 18" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_switch_that_is_not_there_is_a_failure_in_one_line(tmp_path: Path) -> None:
    work = written(tmp_path / "work.json", WORK)
    addresses = dict.fromkeys(read_network(ABILENE).switches, f"unix:{tmp_path}/none")
    result = installed(work, written(tmp_path / "switches.json", {"switches": addresses}))
    assert result.exit_code == 1
    assert "no connection: No such file" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
