"""`regraft up`: brokers run, can be found, and stop when told to."""

import asyncio
import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest
from tests.broker.io.peers import finish
from tests.cli.conftest import Run, refused
from tests.cli.running import CHAIN, PROGRAM, running
from tests.segments.stored import records

from regraft.broker.core import Broker, Effect
from regraft.broker.io.configuration import Configuration
from regraft.broker.io.journal import Journal
from regraft.broker.io.overlay import Overlay
from regraft.cli.up_command import _watch
from regraft.client.sync import connect
from regraft.model import Kind, Topology


@pytest.mark.parametrize("options", [[], ["--processes", "--state", "state", "--telemetry", "telemetry"]])
def test_brokers_run_are_listed_and_stop(folder: Path, options: list[str]) -> None:
    with running(folder, *options) as up:
        assert list(up["brokers"]) == ["a", "b", "c"]
        assert up["brokers"]["b"]["neighbours"] == ["a", "c"]
        assert len({row["pid"] for row in up["brokers"].values()}) == (3 if options else 1)
        written = json.loads((folder / "out" / "overlay.json").read_text())
        assert written == {"brokers": up["brokers"]}
        with urllib.request.urlopen(up["brokers"]["a"]["metrics"]) as response:
            assert b'regraft_links{broker="a"} 1' in response.read()
    assert up["process"].returncode == 0
    assert not (folder / "out" / "overlay.json").exists()
    for row in up["brokers"].values():
        with pytest.raises(ProcessLookupError):
            os.kill(row["pid"], 0)


@pytest.mark.parametrize("options", [[], ["--processes", "--state", "state"]])
def test_telemetry_is_put_into_a_bucket_also_what_comes_last(
    folder: Path, bucket: str, options: list[str]
) -> None:
    with running(folder, "--telemetry", f"{bucket}/live", *options) as up:
        with connect(up["brokers"]["a"]["address"], name="desk") as desk:
            desk.subscribe("n > 1").close()
        with urllib.request.urlopen(up["brokers"]["a"]["metrics"]) as response:
            assert b'regraft_telemetry_lost_total{broker="a"} 0' in response.read()
    told = [
        (each["broker"], each["client"], each["change"]) for each in records(f"{bucket}/live", "interest")
    ]
    assert told == [("a", "desk", "added"), ("a", "desk", "removed")]
    assert (folder / (options[2:3] or ["out"])[0] / "outbox").is_dir()
    assert not list(folder.rglob("*.parquet"))


def test_a_table_says_what_runs_where(folder: Path) -> None:
    (folder / "chain.json").write_text(json.dumps(CHAIN))
    command = [*PROGRAM, "up", "chain.json", "--no-metrics", "--no-agents"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as up:
        assert up.stdout is not None
        lines = [up.stdout.readline() for _ in range(5)]
        up.send_signal(signal.SIGINT)
        _, errors = up.communicate(timeout=20)
    assert lines[0].split() == ["broker", "address", "process", "neighbours", "metrics"]
    assert lines[2].split()[0] == "b"
    assert lines[2].split()[3:] == ["a", "c", "-"]
    assert "3 brokers run" in lines[4]
    assert (up.returncode, errors) == (0, "stopped\n")


def test_a_broker_process_that_dies_is_reported(folder: Path) -> None:
    with running(folder, "--processes") as up:
        os.kill(up["brokers"]["b"]["pid"], signal.SIGKILL)
        assert up["process"].stderr.readline() == "broker b has ended (exit code -9)\n"
    assert up["process"].returncode == 1


def test_bad_input_is_one_line(regraft: Run, folder: Path) -> None:
    (folder / "tokens.json").write_text('{"clients": 5}')
    (folder / "bad.pem").write_text("nothing")
    (folder / "file").write_text("")
    assert "no such file" in refused(regraft("up", "missing.json"))
    assert "tokens.json: Expected `object`" in refused(regraft("up", "now.json", "--tokens", "tokens.json"))
    (folder / "tokens.json").write_text('{"client": {"*": "secret"}}')
    assert "unknown field 'client'" in refused(regraft("up", "now.json", "--tokens", "tokens.json"))
    assert "no usable certificate" in refused(regraft("up", "now.json", "--certificate", "bad.pem"))
    assert "needs --certificate" in refused(regraft("up", "now.json", "--ca", "bad.pem"))
    assert "--sample is for --telemetry" in refused(regraft("up", "now.json", "--sample", "5"))
    assert "--probes is for --telemetry" in refused(regraft("up", "now.json", "--probes", "0"))
    assert "folder" in refused(regraft("up", "now.json", "--directory", "file/overlay.json"))


def test_a_broker_that_gives_up_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Broker, now: float) -> list[Effect]:
        if self.id == "b":
            raise ZeroDivisionError("planted")
        return []

    async def scenario() -> int:
        overlay = Overlay(Topology.of([("a", "b")]), Configuration)
        async with overlay:
            stop = asyncio.Event()
            watching = asyncio.create_task(_watch(overlay, stop))
            await overlay.ended("b")
            await asyncio.sleep(0.05)
            stop.set()
            return await watching

    monkeypatch.setattr(Broker, "tick", broken)
    assert finish(scenario()) == 1
    assert capsys.readouterr().err == "broker b has ended (ZeroDivisionError in the core: planted)\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--state", "file"], "file: cannot be made into a folder"),
        (["--telemetry", "file"], "file: cannot be made into a folder"),
        (["--telemetry", "s3://"], "s3://: is not an address of a store"),
        (["--telemetry", "ftp://host/x"], "ftp://host/x: is not an address of a store"),
        (["--host", "192.0.2.1"], "192.0.2.1:0: cannot be listened on"),
        (["--host", "a..b"], "a..b:0: cannot be listened on"),
        (["--host", "192.0.2.1", "--processes"], "192.0.2.1:0: cannot be listened on"),
    ],
)
def test_where_brokers_can_not_run_is_bad_input(
    regraft: Run, folder: Path, options: list[str], reason: str
) -> None:
    (folder / "file").write_text("")
    assert reason in refused(regraft("up", "now.json", "--no-agents", *options))


def test_an_id_too_long_for_a_file_is_bad_input(regraft: Run, folder: Path) -> None:
    (folder / "one.json").write_text(json.dumps({"brokers": ["x" * 300], "links": []}))
    assert "cannot be used as a journal: File name too long" in refused(
        regraft("up", "one.json", "--state", "state", "--no-agents")
    )


@pytest.mark.parametrize(("before", "after"), [("tree", "mesh"), ("mesh", "tree")])
def test_state_of_another_kind_of_overlay_is_bad_input(
    regraft: Run, folder: Path, before: Kind, after: Kind
) -> None:
    for id in "abcde":
        Journal(folder / "state" / f"{id}.journal", before).close()
    file = {"tree": "now.json", "mesh": "ring.json"}[after]
    reason = refused(regraft("up", file, "--state", "state", "--no-agents"))
    assert reason == f"state/a.journal: is of a broker in a {before}, not in a {after}"


def test_the_help_of_all_says_where_to_start(regraft: Run) -> None:
    text = regraft("--help").stdout
    for command in ("demo", "plan", "up", "sub", "pub"):
        assert f"    regraft {command} " in text


def test_the_help_has_examples(regraft: Run) -> None:
    for command in ("up", "pub", "sub"):
        text = regraft(command, "--help").stdout
        assert "Examples:" in text
        assert f"regraft {command} " in text
        assert "--json" in text
