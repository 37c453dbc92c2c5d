"""`regraft broker`: an overlay whose brokers are started one by one, as on several machines."""

import asyncio
import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, refused
from tests.cli.running import CHAIN, PROGRAM

from regraft.client.sync import connect
from regraft.coord import Ensemble
from regraft.coord.ports import reusable_ports

SHIFTED = {"brokers": ["a", "b", "c"], "links": [["a", "c"], ["b", "c"]]}


@contextmanager
def broker(folder: Path, hosts: str, id: str, *options: str) -> Iterator[dict[str, Any]]:
    command = [*PROGRAM, "broker", id, "chain.json", "--zookeeper", hosts, "--state", "state", "--json"]
    command += options
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()) | {"process": process}
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def regraft(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def heard(publish_at: str, subscribe_at: str) -> list[object]:
    """What one end of the overlay hears of three events of the other."""
    with connect(subscribe_at) as desk, connect(publish_at) as sensor:
        wanted = desk.subscribe("value > 1")
        for value in (1, 2, 3):
            sensor.send({"value": value}, b"")
        events = [wanted.get(30), wanted.get(30)]
        wanted.close()  # which confirms the last one: the publisher waits for that
        return [event.attributes["value"] for event in events if event is not None]


@pytest.mark.slow
def test_brokers_find_each_other_in_zookeeper_and_remember_changed_links(folder: Path) -> None:
    first, second = reusable_ports(["127.0.0.1", "127.0.0.1"])
    named = {**CHAIN, "brokers": [{"id": "a", "port": first}, "b", {"id": "c", "port": first}]}
    (folder / "chain.json").write_text(json.dumps(named))
    (folder / "shifted.json").write_text(json.dumps(SHIFTED))
    regraft(folder, "plan", "chain.json", "shifted.json", "-o", "plan.json", "--json")
    runner = asyncio.Runner()
    ensemble = Ensemble(directory=folder / "zookeeper")
    runner.run(ensemble.__aenter__())
    try:
        with ExitStack() as running:
            options = {"c": ("--port", str(second), "--host", "localhost")}
            up = {
                id: running.enter_context(broker(folder, ensemble.hosts, id, *options.get(id, ())))
                for id in "abc"
            }
            assert up["a"]["address"] == f"127.0.0.1:{first}", "as the file says"
            assert up["c"]["address"].endswith(f":{second}"), "the option counts more"
            assert heard(up["a"]["address"], up["c"]["address"]) == [2, 3]
            outcome = regraft(folder, "apply", "plan.json", "--zookeeper", ensemble.hosts, "--json")
            assert outcome["goal"] is True
        with ExitStack() as running:
            options = {"c": ("--port", "0", "--host", "localhost")}
            up = {
                id: running.enter_context(broker(folder, ensemble.hosts, id, *options.get(id, ())))
                for id in "cab"
            }
            assert heard(up["a"]["address"], up["c"]["address"]) == [2, 3]
            with urllib.request.urlopen(up["a"]["metrics"].replace("/metrics", "/healthz")) as answer:
                assert list(json.load(answer)["links"]) == ["c"]
    finally:
        runner.run(ensemble.__aexit__(None, None, None))
        runner.close()


def test_a_broker_that_listens_everywhere_must_say_where_it_is_reached(regraft: Run) -> None:
    line = refused(regraft("broker", "a", "now.json", "--zookeeper", "127.0.0.1:1", "--host", "0.0.0.0"))
    assert line.startswith("--address: is missing")


def test_without_a_zookeeper_it_is_refused(regraft: Run) -> None:
    assert refused(regraft("broker", "a", "now.json")).startswith("--zookeeper: says where")
