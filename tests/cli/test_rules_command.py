"""`regraft rules` and `regraft brokers`: checked without a database, stored in and listed from a real one."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run, answered, refused

from regraft.cli.rules_command import definitions
from regraft.coord import Configuration, Coord, Layout
from regraft.heal.database.client import DatabaseClient
from regraft.heal.database.records import Adaptation, BrokerRecord
from regraft.heal.raised import raised
from regraft.model import BadInput, Topology
from regraft.model.facts import Event
from regraft.model.intents import Delete
from regraft.node.healing import in_service
from regraft.node.healing.processes import write_topology

pytestmark = pytest.mark.xdist_group("destination database")  # one ZooKeeper
MINE = """\
type oblig shedLoad(target database, Broker<T> broker, float most = 0.85) {
  subject   AdaptationManager;
  on        brokerOverloaded(cpu, memory, threads, queue);
  do        database.moveClients(broker) -> database.shiftAway(broker);
  when      cpu >= most && queue > 1000;
  priority  5;
}
"""


@pytest.fixture(scope="module")
def hosts(hosts: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A destination database below the root that commands look at by default; where its ZooKeeper is."""
    store = tmp_path_factory.mktemp("database") / "d1.db"
    command = [
        *(sys.executable, "-m", "regraft.heal.database", "--id", "d1", "--guarded"),
        *("--zookeeper", hosts, "--store", f"sqlite:{store}"),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["id"] == "d1"
    yield hosts
    process.terminate()
    assert process.wait(20) == 0


def test_rules_are_checked_without_a_database(regraft: Run, folder: Path) -> None:
    (folder / "mine.ponder").write_text(MINE)
    found = answered(
        regraft("rules", "check", "mine.ponder", "--seed", "--define", "User Defined=3", "--json")
    )
    assert [rule["name"] for rule in found["rules"]][-1] == "shedLoad"
    assert found["rules"][-1] == {
        "name": "shedLoad",
        "event": "brokerOverloaded",
        "actions": ["moveClients", "shiftAway"],
        "priority": 5,
    }
    assert found["conflicts"] == []
    said = regraft("rules", "check", "mine.ponder")
    assert (said.exit_code, said.stdout) == (0, "1 rules, 0 conflicts\n")


def test_bad_rules_are_refused_with_their_place(regraft: Run, folder: Path) -> None:
    (folder / "bad.ponder").write_text(MINE.replace("brokerOverloaded", "brokerOverload"))
    assert refused(regraft("rules", "check", "bad.ponder")).startswith(
        "bad.ponder:3:13: unknown event 'brokerOverload'; there are"
    )
    (folder / "twice.ponder").write_text(MINE)
    assert "the rule 'shedLoad' stands twice" in refused(
        regraft("rules", "check", "twice.ponder", str(folder / "twice.ponder"))
    )
    assert refused(regraft("rules", "check")) == "FILES: name a file with rules, or --seed"
    assert "missing.ponder" in refused(regraft("rules", "check", "missing.ponder"))
    assert (
        refused(regraft("rules", "check", "--seed", "--define", "x"))
        == "--define: must be NAME=VALUE, not 'x'"
    )
    (folder / "binary.ponder").write_bytes(b"\xff\xfe")
    assert "binary.ponder" in refused(regraft("rules", "check", "binary.ponder"))


def test_conflicts_are_reported(regraft: Run, folder: Path) -> None:
    (folder / "two.ponder").write_text(
        MINE + MINE.replace("shedLoad", "drop").replace("shiftAway", "deleteBroker")
    )
    said = regraft("rules", "check", "two.ponder")
    assert said.exit_code == 0
    assert "conflict: shedLoad and drop: on brokerOverloaded both may apply" in said.stderr
    assert "2 rules, 1 conflicts" in said.stdout


def test_rules_are_stored_listed_and_versioned(regraft: Run, folder: Path, hosts: str) -> None:
    (folder / "mine.ponder").write_text(MINE)
    where = ("--zookeeper", hosts)
    first = answered(regraft("rules", "put", "--seed", "--define", "User Defined=3", *where, "--json"))
    assert (first["version"], len(first["rules"]), first["conflicts"]) == (1, 4, [])
    assert regraft("rules", "put", "mine.ponder", *where).stdout == "version 2: 5 rules\n"
    (folder / "mine.ponder").write_text(MINE.replace("0.85", "0.9"))
    assert answered(regraft("rules", "put", "mine.ponder", *where, "--json"))["version"] == 3
    listed = answered(regraft("rules", "list", *where, "--json"))
    assert (listed["version"], listed["definitions"]) == (3, {"User Defined": 3.0})
    assert [(rule["name"], rule["version"]) for rule in listed["rules"]][3:] == [
        *(("taskTransferRules", 1), ("shedLoad", 2))
    ]
    assert "shedLoad" in regraft("rules", "list", *where).stdout
    text = regraft("rules", "list", "--text", *where).stdout
    (folder / "again.ponder").write_text(text)
    assert answered(
        regraft("rules", "put", "again.ponder", "--instead", "--define", "User Defined=2", *where, "--json")
    )
    (folder / "bad.ponder").write_text(MINE.replace("moveClients", "explode"))
    said = refused(regraft("rules", "put", "bad.ponder", *where))
    assert said.startswith("bad.ponder:4:22: unknown action 'explode'")
    assert answered(regraft("rules", "list", *where, "--json"))["version"] == 4


def test_brokers_and_adaptations_are_listed(regraft: Run, folder: Path, hosts: str) -> None:
    async def fill() -> None:
        async with await Coord.open(Configuration(hosts)) as coord:
            client = await DatabaseClient.found(coord, Layout())
            await client.put_broker(BrokerRecord(id="b1", host="h", port=7, life=2, region="eu"))
            await client.put_broker(BrokerRecord(id="b2", state="down", heir="b1"))
            log = Adaptation(
                id="1",
                kind="delete",
                cause="b2 did not answer",
                at=0.0,
                rules=("deleteBrokerRules",),
                leader="b1",
                intents=(Delete(broker="b2"),),
                timeout_ms=30,
                outcome="failed",
                reason="no path",
            )
            await client.release("1", log)
            await client.close()

    asyncio.run(fill())
    found = answered(regraft("brokers", "--zookeeper", hosts, "--adaptations", "5", "--json"))
    assert [(each["id"], each["state"], each["databases"]) for each in found["brokers"]] == [
        *(("b1", "up", ["d1"]), ("b2", "down", ["d1"]))
    ]
    assert found["adaptations"][0]["intents"][0]["broker"] == "b2"
    assert found["databases"].keys() == {"d1"}
    shown = regraft("brokers", "--zookeeper", hosts, "--adaptations", "5").stdout
    assert "h:7" in shown
    assert "2 brokers in 1 databases" in shown
    assert "30 + 0 + 0 + 0" in shown
    assert "failed: no path" in shown


def test_without_a_database_the_commands_say_so(regraft: Run, folder: Path, hosts: str) -> None:
    elsewhere = ("--zookeeper", hosts, "--zookeeper-root", "/elsewhere")
    for command in (["rules", "list"], ["brokers"]):
        assert refused(regraft(*command, *elsewhere)) == (
            "/elsewhere/heal/alive: no destination database is running"
        )
        assert "--zookeeper" in refused(regraft(*command))


def test_a_database_process_says_what_is_wrong_in_one_line(hosts: str) -> None:
    command = [
        sys.executable,
        "-m",
        "regraft.heal.database",
        "--id",
        "x",
        "--zookeeper",
        hosts,
        "--store",
        "mysql:x",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("regraft.heal.database: store: must be sqlite:PATH")


def test_definitions_are_numbers_truths_or_texts() -> None:
    assert definitions(("a=1.5", "b = true", "c=x=y", "r.User Defined=3")) == {
        **{"a": 1.5, "b": True, "c": "x=y"},
        "r.User Defined": 3.0,
    }
    with pytest.raises(BadInput, match="--define"):
        definitions(("=3",))


def test_an_event_is_raised_at_a_broker_that_listens_and_withdrawn_otherwise(
    regraft: Run, folder: Path, hosts: str
) -> None:
    there = ("--zookeeper", hosts)
    assert "unknown event 'rain'" in refused(regraft("rules", "raise", "rain", "b1", *there))
    wrong = regraft("rules", "raise", "deleteBrokerRequest", "b1", "--set", "cpu=1", *there)
    assert refused(wrong) == "--set: deleteBrokerRequest has no argument 'cpu'"
    assert regraft("rules", "put", "--seed", "--define", "User Defined=3", *there).exit_code == 0
    unwanted = regraft("rules", "raise", "brokerRecovered", "b1", *there)
    assert refused(unwanted) == "EVENT: no rule that is stored asks for brokerRecovered"
    nobody = regraft("rules", "raise", "deleteBrokerRequest", "b1", "--wait", "0.2", *there)
    assert nobody.exit_code == 1
    assert "the node of b1 does not answer" in nobody.stderr
    assert asyncio.run(_heard(hosts)) == Event(
        name="transferBrokerRequest", broker="b1", brokers=("b2", "b4"), components=("update",)
    )


def test_a_broker_that_nobody_can_start_or_place_is_not_added(
    regraft: Run, folder: Path, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ("--zookeeper", hosts, "--wait", "0.2")
    assert regraft("rules", "put", "--seed", "--define", "User Defined=3", *there[:2]).exit_code == 0
    adding = ("rules", "raise", "addBrokerRequest")
    assert "there is no topology" in refused(regraft(*adding, "x", *there))
    asyncio.run(_overlay_of_three(hosts))
    assert refused(regraft(*adding, "a", *there)) == "BROKER: 'a' is in the overlay already"
    assert refused(regraft(*adding, "x", "--to", "z", *there)) == "--to: unknown broker id 'z'"
    apart = regraft(*adding, "x", "--to", "a", "--to", "c", *there)
    assert refused(apart) == "--to: a and c are not the two ends of a link"
    assert refused(regraft(*adding, "x", "--to", "b", *there)) == "--to: the node of 'b' does not run"
    nobody = regraft(*adding, "x", *there)
    assert (nobody.exit_code, nobody.stderr) == (1, "regraft: no node of this overlay runs, and heals\n")
    monkeypatch.setattr(in_service, "TAKEN_SECONDS", 0.2)
    reason = "x does not run, and no process here starts it: `regraft up --heal` does that"
    assert asyncio.run(_asked_to_start(hosts)) == reason


async def _overlay_of_three(hosts: str) -> None:
    async with await Coord.connect(hosts) as coord:
        await write_topology(coord, Layout(), Topology.of([("a", "b"), ("b", "c")]))


async def _asked_to_start(hosts: str) -> str:
    """Asks for a broker as a leader does. Out of service: removed, and not in the overlay."""
    async with await Coord.connect(hosts) as coord:
        for id in ("b", "x"):
            await in_service.retire(coord, Layout(), id)
        assert await in_service.out_of_service(coord, Layout()) == {"x"}
        await in_service.reinstate(coord, Layout(), "x")
        assert await in_service.out_of_service(coord, Layout()) == set()
        return await in_service.ask_to_start(coord, Layout(), "x", ("a",))


async def _heard(hosts: str) -> Event:
    """The event that a node gets; one that is not fully judged comes again."""
    command = ("rules", "raise", "transferBrokerRequest", "b1", "--to", "b2", "--to", "b4")
    options = ("--component", "update", "--zookeeper", hosts, "--wait", "60", "--json")
    code = "from regraft.cli import main; main()"
    async with await Coord.connect(hosts) as coord:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, *command, *options)
        first = await anext(raised(coord, Layout(), "b1"))
        events = raised(coord, Layout(), "b1")
        assert await anext(events) == first
        following = asyncio.ensure_future(anext(events))
        assert await process.wait() == 0
        following.cancel()
    return first
