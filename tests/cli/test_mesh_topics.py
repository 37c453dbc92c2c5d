"""A topic that no design knew, on a mesh as a user starts it: delivered, or not acknowledged and said why."""

import json
import subprocess
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

import networkx as nx
from tests.cli.conftest import Run, refused
from tests.cli.running import PROGRAM, running, subscribed

from regraft.cli.up_options import configuring

FILTER = "topic = 'new'"
OPTIONS = (
    "host",
    "state",
    "telemetry",
    "probes",
    "telemetry_budget",
    "certificate",
    "key",
    "ca",
    "clients_too",
    "tokens",
)


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def test_a_topic_that_no_design_knew_is_delivered_or_not_acknowledged(regraft: Run, folder: Path) -> None:
    Path("interest.csv").write_text("node,topic\n" + "".join(f"{broker},red\n" for broker in "abcde"))
    assert regraft("design", "gm2", "--interest", "interest.csv", "-o", "mesh.json").exit_code == 0
    overlay = nx.Graph(json.loads(Path("mesh.json").read_text())["links"])
    one, other = next(pair for pair in combinations("abcde", 2) if not overlay.has_edge(*pair))
    between = nx.shortest_path(overlay, one, other)[1:-1]
    apart = f"waiting: topic 'new' is not connected among {one}, {other}: no links lead from {one} to {other}"
    with ExitStack() as started, running(folder, "--no-metrics", topology="mesh.json"):
        near = subscribed(folder, FILTER, "--count", "1", "--broker", one)
        far = subprocess.Popen(
            [*PROGRAM, "sub", FILTER, "--count", "1", "--broker", other],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in (near, far):
            started.callback(process.kill)
        assert line_of(far).startswith(apart)

        unacknowledged = regraft("pub", "topic=new", "--broker", one, "--advertise", FILTER, "--timeout", "3")
        assert unacknowledged.exit_code == 1
        assert "acknowledged" not in unacknowledged.stdout
        waiting, error = unacknowledged.stderr.splitlines()
        assert waiting.startswith(apart)
        assert error.startswith("regraft: no advertisement")
        assert "in place within 3 s; topic 'new' is not connected among" in error

        late = regraft("sub", FILTER, "--broker", other, "--timeout", "2")
        assert late.exit_code == 1
        assert "in place within 2 s; topic 'new' is not connected" in late.stderr

        helping = [subscribed(folder, FILTER, "--count", "1", "--broker", broker) for broker in between]
        while not (line := line_of(far)).startswith("subscribed at "):
            assert line.startswith("waiting: ")
        published = regraft("pub", "topic=new", "n=1", "--broker", one, "--timeout", "60")
        assert published.exit_code == 0, published.stderr
        assert published.stdout.startswith("1 published and acknowledged")
        for process in (near, far, *helping):
            assert json.loads(process.communicate(timeout=60)[0])["attributes"] == {"topic": "new", "n": 1}


def test_how_connected_topics_have_to_be_is_a_matter_of_meshes(regraft: Run) -> None:
    assert "--connected is for meshes" in refused(regraft("up", "now.json", "--connected", "2"))
    configure = configuring(
        "mesh", dict.fromkeys(OPTIONS) | {"connected": 2, "no_metrics": True, "sample": 1}
    )
    assert configure("a", ("b",)).connected == 2
