"""`regraft up --heal`: a broker that is killed is healed around, started again, and joins; one that a rule
removes is out of service until it is wanted; one that is wanted is started."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, answered, refused
from tests.cli.running import CHAIN, PROGRAM, running


def brokers(folder: Path) -> dict[str, Any]:
    command = [*PROGRAM, "brokers", "--adaptations", "10", "--json"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    document: dict[str, Any] = json.loads(found.stdout)
    return document


def test_a_killed_broker_is_replaced_started_again_and_joins(folder: Path) -> None:
    with running(folder, "--agents", "--heal", "--state", "state") as up:
        assert {row["neighbours"][0] for row in up["brokers"].values()} == {"a", "b"}
        assert brokers(folder)["databases"].keys() == {"d1", "d2"}
        os.kill(up["brokers"]["b"]["pid"], signal.SIGKILL)
        until = time.monotonic() + 60
        while True:
            found = brokers(folder)
            kinds = [each["kind"] for each in found["adaptations"]]
            if set(kinds) == {"add", "delete"}:
                break
            assert time.monotonic() < until, found
            time.sleep(0.5)
        assert {each["outcome"] for each in found["adaptations"]} == {"done"}
        assert {each["id"]: each["state"] for each in found["brokers"]} == dict.fromkeys("abc", "up")
        assert up["process"].stderr.readline().startswith("node b has ended")
        with urllib.request.urlopen(up["brokers"]["b"]["metrics"]) as response:  # where it was before
            assert b'broker="b"' in response.read()
    assert up["process"].returncode == 0


CHAT = Path(__file__).parents[2] / "examples" / "components" / "chat"


@contextmanager
def component_hosts(folder: Path, zookeeper: str, *brokers: str) -> Iterator[None]:
    """Component hosts beside these brokers, each in a process of its own."""
    command = [
        *(sys.executable, "-m", "regraft.components", "--guarded"),
        *("--trusted", str(folder / "trusted"), "--zookeeper", zookeeper),
    ]
    started = [
        subprocess.Popen(
            [*command, "--id", id, "--folder", str(folder / f"host-{id}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for id in brokers
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline()
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.communicate(timeout=30)


def chat_at_b(folder: Path, regraft: Run) -> None:
    (folder / "trusted").mkdir()
    assert regraft("components", "key", "me.pem").exit_code == 0
    (folder / "me.pem.pub").rename(folder / "trusted" / "me.pub")
    assert regraft("components", "pack", CHAT, "--key", "me.pem", "-o", "chat.zip").exit_code == 0


def outcome(folder: Path, number: int) -> tuple[str, str]:
    """Waits for this many adaptations; outcome and reason of the last one."""
    until = time.monotonic() + 60
    while len(found := brokers(folder)["adaptations"]) < number:
        assert time.monotonic() < until, found
        time.sleep(0.2)
    return found[0]["outcome"], found[0]["reason"]


FAILS = ("rules", "raise", "migrateBrokerRequest", "b", "--wait", "60")
RATES = ("--set", "max_input_rate=1", "--set", "min_output_rate=2")


def test_a_broker_leaves_after_its_components_and_stays_out_until_it_is_wanted(
    folder: Path, regraft: Run
) -> None:
    """Rule 3 of Mimosa Pudica §4.3. At first no host can take its component, so the broker stays."""
    chat_at_b(folder, regraft)
    with running(folder, "--agents", "--heal", "--state", "state") as up:
        with component_hosts(folder, up["zookeeper"], "b"):
            assert regraft("components", "create", "chat", "chat.zip", "--at", "b").exit_code == 0
            assert regraft(*FAILS, *RATES).exit_code == 0
            state, reason = outcome(folder, 1)
            assert state == "failed"
            assert reason.startswith("chat: no component host is running at ")
            assert reason.endswith("; b stays: its components could not leave")
            assert [each["state"] for each in brokers(folder)["brokers"]] == ["up"] * 3
        with component_hosts(folder, up["zookeeper"], "a", "b", "c"):
            assert regraft(*FAILS, *RATES).exit_code == 0
            assert outcome(folder, 2) == ("done", "")
            (chat,) = answered(regraft("components", "list", "--json"))["components"]
            assert chat["place"] in ("a", "c")
        out = "broker b is out of service; `regraft rules raise addBrokerRequest b` brings it back\n"
        assert any(line == out for line in up["process"].stderr)
    with running(folder, "--agents", "--heal", "--state", "state") as up:
        assert sorted(up["brokers"]) == ["a", "c"]
        nowhere = regraft("rules", "raise", "addBrokerRequest", "x", "--to", "b")
        assert refused(nowhere) == "--to: unknown broker id 'b'"
        added = regraft("rules", "raise", "addBrokerRequest", "b", "--to", "a", "--to", "c", "--wait", "60")
        assert (added.exit_code, added.stdout) == (0, "b has joined by addBrokerRules\n"), added.stderr
        added = regraft("rules", "raise", "addBrokerRequest", "x", "--to", "c", "--wait", "60", "--json")
        assert answered(added)["rules"] == ["addBrokerRules"]
        again = regraft("rules", "raise", "addBrokerRequest", "x", "--to", "c")
        assert refused(again) == "BROKER: 'x' is in the overlay already"
        shown = answered(regraft("topology", "--json"))
        assert sorted(map(sorted, shown["links"])) == [["a", "b"], ["b", "c"], ["c", "x"]]
        assert "x" in json.loads((folder / up["directory"]).read_text())["brokers"]
    assert up["process"].returncode == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--database", "sqlite:a.db"], "--heal"),
        (["--heal", "--no-agents"], "--heal"),
        (["--heal", "--spare", "x"], "--heal"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    folder: Path, regraft: Run, options: list[str], reason: str
) -> None:
    (folder / "chain.json").write_text(json.dumps(CHAIN))
    assert reason in refused(regraft("up", "chain.json", *options))


def test_a_mesh_is_not_healed(folder: Path, regraft: Run) -> None:
    (folder / "mesh.json").write_text(json.dumps({**CHAIN, "kind": "mesh"}))
    assert "trees" in refused(regraft("up", "mesh.json", "--heal"))
