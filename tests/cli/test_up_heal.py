"""`regraft up --heal`: a broker that is killed is healed around, started again, and joins."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, refused
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
