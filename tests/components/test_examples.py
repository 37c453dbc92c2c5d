"""The four example applications, packed from `examples/`, on real hosts; and the command for them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.components.conftest import Site
from tests.components.test_host import live, start

from regraft.cli.components_command import components
from regraft.components.bundle import folder_files
from regraft.components.intents import carry_out
from regraft.components.signing import private_key, signed_bundle
from regraft.model import BadInput
from regraft.model.intents import Clone

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "components"


def packed(site: Site, example: str) -> bytes:
    return signed_bundle(folder_files(EXAMPLES / example), private_key(site.folder / "key"), example)


def test_chat_and_search_move_with_their_state_and_are_updated_where_they_are(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2, spares=2) as (one, two):
            assert (await one.create("chat", packed(site, "chat"))).refused == ""
            assert (await two.create("search", packed(site, "remote_search"))).refused == ""
            await one.call("chat", "join", "ann")
            assert await two.call("chat", "say", "ann", "hello") == 1
            documents = {f"d{i}": f"text number {i} of {'pigs' if i % 2 else 'cats'}" for i in range(30)}
            indexing = asyncio.create_task(one.call("search", "index", documents))
            assert (await one.migrate("chat", "h2")).refused == ""
            assert (await two.migrate("search", "h1")).refused == ""
            assert await indexing == 30
            assert await one.call("chat", "read", 0) == [[1, "ann", "hello"]]
            assert [name for name, _ in await two.call("search", "search", "pigs 7", 1)] == ["d7"]
            assert (await two.create("update", packed(site, "update"))).refused == ""
            for name in ("chat", "search"):
                await one.call("update", "command", name, "1.1", {"kept": 5})
            done = await carry_out(Clone(source="h2", targets=("h1", "h2")), one.calls, one.directory)
            assert {name for name, _ in done.done} >= {"update@h1", "update@h2"}
            assert await one.call("update@h1", "apply") == ["search"]
            assert await one.call("update@h2", "apply") == ["chat"]

    live(work())


def test_a_file_transfer_continues_when_both_ends_move(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2, spares=2) as (one, two):
            content = bytes(range(256)) * 512
            for name, host in (("left", one), ("right", two)):
                assert (await host.create(name, packed(site, "file_transfer"), {"piece": 4096})).refused == ""
            digest = await one.call("left", "put", "f", content)
            sending = asyncio.create_task(one.call("left", "send", "f", "right"))
            await asyncio.sleep(0.05)
            assert (await one.migrate("left", "h2")).refused == ""
            assert (await two.migrate("right", "h1")).refused == ""
            assert await sending == digest
            assert await two.call("right", "get", "f") == content
            assert await two.call("right", "names") == ["f"]

    live(work())


def invoke(*arguments: Any) -> dict[str, Any]:
    done = CliRunner().invoke(components, [*map(str, arguments), "--json"])
    if done.exception is not None:
        raise done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_command_packs_creates_calls_moves_clones_and_ends(site: Site, tmp_path: Path) -> None:
    where = ("--zookeeper", site.zookeeper, "--zookeeper-root", site.root)
    assert invoke("key", tmp_path / "me")["public"] == str(tmp_path / "me.pub")
    (tmp_path / "me.pub").rename(site.trusted / "me.pub")
    chat = tmp_path / "chat.zip"
    made = invoke("pack", EXAMPLES / "chat", "--key", tmp_path / "me", "-o", chat)
    assert invoke("verify", chat, "--trusted", site.trusted) == made
    chat.write_bytes(chat.read_bytes().replace(b"manifest.json", b"manifesT.json"))
    with pytest.raises(BadInput, match="has changed since it was signed"):
        invoke("verify", chat, "--trusted", site.trusted)
    invoke("pack", EXAMPLES / "chat", "--key", tmp_path / "me", "-o", chat)
    with asyncio.Runner() as runner:
        hosts = [runner.run(start(site, id)) for id in ("h1", "h2")]
        invoke("create", "chat", chat, "--at", "h1", *where)
        assert invoke("call", "chat", "join", "ann", *where)["value"] == {"members": ["ann"], "said": 0}
        assert invoke("migrate", "chat", "h2", *where)["place"] == "h2"
        assert invoke("call", "chat", "where", *where) == {"value": "h2"}
        assert invoke("clone", "chat", "h1", *where)["component"] == "chat@h1"
        listed = invoke("list", *where)["components"]
        assert [(each["name"], each["place"]) for each in listed] == [("chat", "h2"), ("chat@h1", "h1")]
        for bad, reason in (
            (("migrate", "chat", "h7"), "h7: no component host is running there"),
            (("migrate", "chart", "h1"), "chart: no component has this name"),
            (("create", "chat", chat, "--at", "h1"), "chat is at h2 already"),
        ):
            with pytest.raises(BadInput) as fault:
                invoke(*bad, *where)
            assert str(fault.value) == reason
        invoke("terminate", "chat", *where)
        assert [each["name"] for each in invoke("list", *where)["components"]] == ["chat@h1"]
        for host in hosts:
            host.kill()
            runner.run(host.wait())
