"""`regraft znode`, and the options that say which ZooKeeper a command uses."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.cli.conftest import Run, answered, refused

from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.coord import Configuration, Coord, Digest, Ensemble, Layout, Sasl, Tls
from regraft.model import BadInput


@pytest.fixture(scope="module")
def hosts() -> Iterator[str]:
    servers = Ensemble()
    asyncio.run(servers.start())
    yield servers.hosts
    asyncio.run(servers.stop())


def stored(hosts: str, nodes: dict[str, bytes]) -> None:
    async def write() -> None:
        async with await Coord.connect(hosts) as coord:
            for path, data in nodes.items():
                await coord.create(path, data)

    asyncio.run(write())


def test_nodes_are_shown_and_deleted_and_a_copy_is_kept(regraft: Run, folder: Path, hosts: str) -> None:
    stored(hosts, {"/regraft/plan": b"{garbage", "/regraft/plan/steps": b"\xff", "/regraft/topology": b"{}"})
    shown = regraft("znode", "show", "--zookeeper", hosts)
    assert shown.stdout.splitlines() == [
        *(
            "/regraft v0",
            "/regraft/plan v0 {garbage",
            "/regraft/plan/steps v0 /w==",
            "/regraft/topology v0 {}",
        )
    ]
    nodes = answered(regraft("znode", "show", "/regraft/plan", "--zookeeper", hosts, "--json"))["nodes"]
    assert nodes == [
        {"path": "/regraft/plan", "version": 0, "ephemeral_owner": None, "text": "{garbage"},
        {"path": "/regraft/plan/steps", "version": 0, "ephemeral_owner": None, "base64": "/w=="},
    ]
    done = answered(regraft("znode", "delete", "/regraft/plan", "--zookeeper", hosts, "--json"))
    assert done["deleted"] == ["/regraft/plan", "/regraft/plan/steps"]
    assert json.loads((folder / done["kept"]).read_text()) == {"nodes": nodes}
    assert refused(regraft("znode", "delete", "/regraft/plan", "--zookeeper", hosts)) == (
        "/regraft/plan: does not exist"
    )
    stored(hosts, {"/regraft/plan": b"again"})
    said = regraft("znode", "delete", "/regraft/plan", "--zookeeper", hosts).stdout
    assert said == "/regraft/plan and 0 below it deleted; a copy is in out/znodes/regraft%2Fplan-2.json\n"


@pytest.mark.parametrize("path", ["plan", "/a//b", "/a/", "/../a", ""])
def test_what_is_no_path_is_refused(regraft: Run, path: str) -> None:
    assert "is not the path of a node" in refused(regraft("znode", "delete", path, "--zookeeper", "a:1"))


def test_all_of_zookeeper_is_not_deleted(regraft: Run) -> None:
    assert "not Regraft's" in refused(regraft("znode", "delete", "/", "--zookeeper", "a:1"))


def test_the_ensemble_must_be_named_and_there(regraft: Run) -> None:
    assert refused(regraft("znode", "show")).startswith("--zookeeper: says where ZooKeeper is")
    assert "is not host:port" in refused(regraft("znode", "show", "--zookeeper", "a:b:c"))


def value(*arguments: str, **environment: str) -> Zookeeper:
    """What a command gets from these options."""
    got: list[Zookeeper] = []

    @click.command()
    @zookeeper_options
    @click.option("--other")
    def command(zookeeper: Zookeeper, other: Any) -> None:
        got.append(zookeeper)

    result = CliRunner().invoke(command, arguments, env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return got[0]


def test_without_options_the_command_starts_its_own() -> None:
    assert value("--other", "x") == Zookeeper(None, Layout())
    assert value(REGRAFT_ZOOKEEPER_AUTH="digest:a:b") == Zookeeper(None, Layout())


def test_the_options_become_one_value(tmp_path: Path) -> None:
    pem = tmp_path / "ours.pem"
    pem.touch()
    got = value(
        *("--zookeeper", "a:1,b:2", "--zookeeper-auth", "digest:me:pass:word", "--zookeeper-root", "/x/y"),
        *("--zookeeper-ca", str(pem), "--zookeeper-certificate", str(pem), "--zookeeper-world", "nothing"),
    )
    expected = Configuration("a:1,b:2", Digest("me", "pass:word"), Tls(pem, pem, pem), world="nothing")
    assert got == Zookeeper(expected, Layout("/x/y"))
    assert value("--zookeeper-tls", REGRAFT_ZOOKEEPER="c:3").needed() == Configuration("c:3", tls=Tls())


def test_credentials_can_come_from_a_file_or_the_environment(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sasl:me:secret\n")
    expected = Sasl("me", "secret")
    assert value("--zookeeper", "a:1", "--zookeeper-auth", f"@{tmp_path}/secret").needed().auth == expected
    assert value("--zookeeper", "a:1", REGRAFT_ZOOKEEPER_AUTH="sasl:me:secret").needed().auth == expected
    got = value("--zookeeper", "a:1", "--zookeeper-auth", "gssapi:me@REALM").needed().auth
    assert got == Sasl("me@REALM", mechanism="GSSAPI")


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--zookeeper", "a:1", "--zookeeper-auth", "me:secret"], "must be digest:USER:PASSWORD"),
        (["--zookeeper", "a:1", "--zookeeper-auth", "digest:secret"], "must be digest:USER:PASSWORD"),
        (["--zookeeper", "a:1", "--zookeeper-auth", "@missing"], "missing: cannot be read"),
        (["--zookeeper", "a:1", "--zookeeper-key", "x"], "there is none"),
        (["--zookeeper", "a:1", "--zookeeper-ca", "missing"], "missing: cannot be read"),
        (["--zookeeper-tls"], "--zookeeper-tls: is for an ensemble that is running"),
        (["--zookeeper-root", "x"], "is not a path such as /regraft"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], rule: str) -> None:
    with pytest.raises(BadInput, match=rule) as fault:
        value(*arguments)
    assert "secret" not in str(fault.value)
