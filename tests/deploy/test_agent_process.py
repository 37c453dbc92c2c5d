"""An agent in a process of its own."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.broker.io.peers import finish
from tests.deploy.agents_at_work import TOKEN, at_work

from regraft.coord import Configuration, Digest, Layout, Sasl, Tls
from regraft.deploy.agent_process import Driven, read_settings, settings
from regraft.deploy.agents import Agents
from regraft.deploy.states import Reported
from regraft.model import Topology

CHAIN = Topology.of([("a", "b"), ("b", "c")])
PROGRAM = [sys.executable, "-m", "regraft.deploy.agent_process"]


@pytest.mark.parametrize("auth", [None, Digest("u", "p"), Sasl("u", "p"), Sasl("u", mechanism="GSSAPI")])
def test_settings_say_all_that_the_starter_knows(tmp_path: Path, auth: Digest | Sasl | None) -> None:
    (tmp_path / "ca.pem").write_text("")
    tls = Tls(authority=tmp_path / "ca.pem", check_hostname=False)
    configuration = Configuration("127.0.0.1:2181", auth, tls, "nothing", 3.0, 4.0)
    read = read_settings(settings(configuration, Layout("/here"), "secret"))
    assert (read.configuration, read.root, read.token) == (configuration, "/here", "secret")


def test_an_agent_started_by_hand_works_and_ends_when_told(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            await work.kill("b")
            control = "{}:{}".format(*(work.overlay.controls["b"] or ()))
            agent = await asyncio.create_subprocess_exec(
                *(*PROGRAM, "--broker", "b", "--control", control),
                *("--zookeeper", hosts, "--zookeeper-root", root),
                env=os.environ | {"REGRAFT_CONTROL_TOKEN": TOKEN},
            )
            path = await work.action("shift", "a", "b", "c")
            await work.command(path, "a", "b", "c")
            await work.reported(path, Reported.DONE, "a", "b", "c")
            agent.terminate()
            assert await agent.wait() == 0
            assert await work.coord.get(work.layout.alive("b")) is None

    finish(scenario())


def test_one_process_holds_the_agents_of_several_brokers_and_is_followed_by_another(
    hosts: str, root: str
) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            for id in CHAIN.ids:
                await work.kill(id)
            driven = {id: Driven(work.overlay.controls[id] or ("", 0), TOKEN) for id in CHAIN.ids}
            async with Agents(Configuration(hosts), work.layout, driven, place="beside") as agents:
                path = await work.action("shift", "a", "b", "c")
                await work.command(path, "a", "b", "c")
                await work.reported(path, Reported.DONE, "a", "b", "c")
                first = agents.running["a"]
                assert {process.pid for process in agents.running.values()} == {first.pid}
                first.kill()
                await first.wait()
                path = await work.action("shift", "a", "c", "b", number=2)
                await work.command(path, "a", "c", "b")
                await work.reported(path, Reported.DONE, "a", "c", "b")
                assert agents.running["a"].pid != first.pid
            for id in CHAIN.ids:
                assert await work.coord.get(work.layout.alive(id)) is None

    finish(scenario())


def test_a_process_that_hangs_is_ended_and_followed_by_another(
    hosts: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regraft.deploy.agents.SILENT_SECONDS", 4.0)

    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            await work.kill(*CHAIN.ids)
            driven = {id: Driven(work.overlay.controls[id] or ("", 0), TOKEN) for id in CHAIN.ids}
            async with Agents(Configuration(hosts), work.layout, driven, place="beside") as agents:
                while await work.coord.get(work.layout.alive("a")) is None:
                    await asyncio.sleep(0.05)
                first = agents.running["a"]
                first.send_signal(signal.SIGSTOP)
                path = await work.action("shift", "a", "b", "c")
                await work.command(path, "a", "b", "c")
                await work.reported(path, Reported.DONE, "a", "b", "c")
                assert first.returncode == -signal.SIGKILL

    finish(scenario())


@pytest.mark.parametrize(
    ("options", "said", "reason"),
    [
        (["--control", "nowhere"], None, "'nowhere': an address is host:port"),
        (["--control", "127.0.0.1:1"], None, "REGRAFT_CONTROL_TOKEN: holds the token of the broker"),
        (
            ["--control", "127.0.0.1:1", "--settings-from-stdin"],
            "{}\n",
            "standard input: does not hold settings",
        ),
        (
            ["--settings-from-stdin"],
            '{"token":"","hosts":"127.0.0.1:1","root":"/regraft"}\n',
            "--broker, --control: say whose agent it is",
        ),
    ],
)
def test_bad_input_is_one_line(options: list[str], said: str | None, reason: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("REGRAFT_")}
    result = subprocess.run(
        [*PROGRAM, "--broker", "b", *options],
        input=said,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.startswith(f"regraft: {reason}")
    assert result.stderr.count("\n") == 1
