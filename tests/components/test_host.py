"""Hosts of components with real parts: worker processes, sockets, a ZooKeeper, and `kill -9`."""

import asyncio
import contextlib
import hashlib
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trustme
from tests.components.conftest import PROBE, Site

from regraft.components.caller import Calls
from regraft.components.directory import places
from regraft.components.host import ComponentHost
from regraft.components.intents import carry_out, orders
from regraft.components.messages import CallFailed, Code, Entry, Image, Offer, Order
from regraft.components.network import Security, security_of
from regraft.components.resident import HostTimings
from regraft.components.signing import make_key, private_key, signed_bundle
from regraft.coord import Coord, Corrupt
from regraft.model import BadInput
from regraft.model.intents import Clone, Migrate

SECONDS = 40


def live(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(SECONDS):
            await work

    asyncio.run(limited())


async def fails(call: Awaitable[Any]) -> str:
    with pytest.raises(CallFailed) as fault:
        await call
    return str(fault.value)


def test_calls_during_moves_wait_and_each_is_executed_once(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2) as (one, two), site.calls() as outside:
            assert (await one.create("p", site.bundle(), {"n": 100})).refused == ""
            answers: list[int] = []
            over = asyncio.Event()

            async def load(calls: Calls) -> None:
                while not over.is_set():
                    answers.append(await calls.call("p", "add"))

            loads = [asyncio.create_task(load(calls)) for calls in (outside, outside, one.calls, two.calls)]
            for source, target in [(one, "h2"), (two, "h1"), (one, "h2")]:
                await asyncio.sleep(0.1)
                ended = await source.migrate("p", target)
                assert ended.refused == ""
                assert ended.seconds > 0
            over.set()
            await asyncio.gather(*loads)
            assert sorted(answers) == list(range(101, 101 + len(answers)))
            found = await outside.call("p", "read")
            assert (found["place"], found["moves"], found["n"]) == ("h2", 3, 100 + len(answers))
            assert (one.names, two.names) == ([], ["p"])

    live(work())


def test_an_unfinished_task_continues_after_the_move_and_code_is_sent_once(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2) as (one, two):
            await one.create("p", site.bundle())
            task = asyncio.create_task(one.call("p", "task", 40, 0.01))
            for source, target in [(one, "h2"), (two, "h1"), (one, "h2")]:
                await asyncio.sleep(0.1)
                assert (await source.migrate("p", target)).refused == ""
                assert await one.call("p", "add", 0) == 0  # calls are served beside the task
            assert not task.done()
            assert await task == "h2"
            assert (await one.call("p", "read"))["steps"] == list(range(40))
            assert len(list((site.folder / "h2" / "bundles").iterdir())) == 1

    live(work())


def test_a_call_that_does_not_end_in_time_for_a_move_is_executed_at_the_target(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2, timings=HostTimings(freeze=0.1)) as (one, _):
            await one.create("p", site.bundle())
            slow = asyncio.create_task(one.call("p", "slow", 0.5))
            await asyncio.sleep(0.15)
            assert (await one.migrate("p", "h2")).refused == ""
            assert await slow == 1
            assert (await one.call("p", "read"))["n"] == 1

    live(work())


async def start(site: Site, id: str) -> Process:
    options = ("--id", id, "--folder", site.folder / id, "--trusted", site.trusted)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "regraft.components", *map(str, options)),
        *("--zookeeper", site.zookeeper, "--root", site.root, "--guarded"),
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    assert json.loads(await process.stdout.readline())["id"] == id
    return process


def test_hosts_killed_while_a_component_moves_lose_no_call_and_execute_none_twice(site: Site) -> None:
    """A host's process dies at some moment of the move, and starts again."""

    async def work() -> None:
        rng = Random(3)
        hosts = dict(
            zip(("h1", "h2"), await asyncio.gather(start(site, "h1"), start(site, "h2")), strict=True)
        )
        async with site.calls() as calls:
            order = Order(number=0, kind="create", name="p", data=site.bundle())
            assert await calls.order("h1", order) is not None
            answers: list[int] = []
            over = asyncio.Event()

            async def load() -> None:
                while not over.is_set():
                    answers.append(await calls.call("p", "add"))

            loads = [asyncio.create_task(load()) for _ in range(3)]
            task = asyncio.create_task(calls.call("p", "task", 100, 0.005))
            for _ in range(2):
                await asyncio.sleep(0.1)
                found = await calls.directory.find("p")
                assert found is not None
                source = found.entry.place
                target = "h2" if source == "h1" else "h1"
                move = asyncio.create_task(
                    calls.order(source, Order(number=0, kind="migrate", name="p", target=target), 5)
                )
                await asyncio.sleep(rng.uniform(0, 0.04))
                victim = rng.choice(("h1", "h2"))
                hosts[victim].kill()
                await hosts[victim].wait()
                hosts[victim] = await start(site, victim)
                await calls.call("p", "add", 0)
                await move
            over.set()
            await asyncio.gather(*loads)
            await task
            assert sorted(answers) == list(range(1, 1 + len(answers)))
            found_state = await calls.call("p", "read")
            assert (found_state["n"], found_state["steps"]) == (len(answers), list(range(100)))
        for process in hosts.values():
            process.kill()
            await process.wait()

    live(work())


def test_what_a_component_does_wrong_is_answered_with_the_reason_and_changes_nothing(site: Site) -> None:
    wrong = {
        "raises": "ValueError: two lines",
        "flood": "MemoryError",
        "garbage": "it sent something that is not a message",
        "huge_frame": "it sent a frame of 4294967295 bytes",
        "exit": "it ended by itself (3)",
        "killed": "its process was ended by SIGKILL",
        "bad_state": "field 'n' of the state is not plain data",
        "absent": "p has no method 'absent'",
        "_private": "p has no method '_private'",
        "opens_files": "Too many open files",
    }

    async def work() -> None:
        async with site.hosts(1, spares=2) as (host,):
            bundle = site.bundle(memory_bytes=64 << 20, state_bytes=1 << 20)
            assert (await host.create("p", bundle)).refused == ""
            for count, (method, reason) in enumerate(wrong.items(), 1):
                assert reason in await fails(host.call("p", method)), method
                assert await host.call("p", "add") == count, method
            assert "a state of" in await fails(host.call("p", "big_state", 2 << 20))
            assert "TypeError" in await fails(host.call("p", "add", 1, 2))
            assert "missing 1 required" in await fails(host.call("p", "task"))
            assert (await host.call("p", "read"))["n"] == len(wrong)

    live(work())


def test_what_never_ends_is_stopped_and_changes_nothing(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(1, spares=2) as (host,):
            for name in ("p", "q"):
                assert (await host.create(name, site.bundle(call_seconds=1.5))).refused == ""
            said = await asyncio.gather(fails(host.call("p", "endless")), fails(host.call("q", "stuck_task")))
            assert all("did not end or reach a checkpoint within 1.5 s" in each for each in said)
            assert [await host.call(name, "add") for name in ("p", "q")] == [1, 1]

    live(work())


def test_a_task_continues_when_another_call_ends_the_process(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(1) as (host,):
            await host.create("p", site.bundle())
            task = asyncio.create_task(host.call("p", "task", 30, 0.02))
            await asyncio.sleep(0.4)
            assert "ended by itself" in await fails(host.call("p", "exit"))
            assert await task == "h1"
            assert (await host.call("p", "read"))["steps"] == list(range(30))

    live(work())


def test_a_component_calls_others_wherever_they_are(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2) as (one, two):
            await one.create("a", site.bundle())
            await two.create("b", site.bundle())
            assert await one.call("a", "ask", "b", 3) == 3
            assert "no component 'c'" in await fails(one.call("a", "ask", "c", 1))
            assert (await two.call("b", "read"))["n"] == 3
            assert await one.call("a", "prints") == len(PROBE)
            assert "standard output" in (site.folder / "h1" / "logs" / "a.log").read_text()

    live(work())


def test_clones_have_the_state_and_are_independent_and_terminated_components_are_gone(site: Site) -> None:
    async def work() -> None:
        # Long enough for a clone to start on a busy machine; the move to nowhere at the end takes as long.
        async with site.hosts(2, timings=HostTimings(ship=2.0)) as (one, two):
            await one.create("p", site.bundle(), {"n": 7})
            assert (await one.clone("p", "h2", "q")).refused == ""
            assert (await one.clone("p", "h1", "r")).refused == ""
            assert [await two.call(name, "add", k) for name, k in (("p", 1), ("q", 2), ("r", 3))] == [
                8,
                9,
                10,
            ]
            assert (await one.call("q", "read"))["origin"] == "p"
            assert (await one.clone("p", "h2", "q")).refused == "h2: q is at h2 already"
            assert (await one.create("q", site.bundle())).refused == "q is at h2 already"
            assert "not 1 to 100 letters" in (await one.create("a/b", site.bundle())).refused
            assert (await two.terminate("q")).refused == ""
            assert "there is no component 'q'" in await fails(one.call("q", "add"))
            assert places(await one.directory.all()) == {"h1": ("p", "r")}
            assert (await two.terminate("q")).refused == "q is not at h2"
            assert (await one.migrate("p", "nowhere")).refused == "nowhere does not answer"
            assert await one.call("p", "add") == 9

    live(work())


def test_a_bundle_that_the_target_does_not_trust_stays_where_it_is(site: Site, tmp_path: Path) -> None:
    async def work() -> None:
        others = tmp_path / "others"
        others.mkdir()
        make_key(tmp_path / "other")
        (tmp_path / "other.pub").rename(others / "other.pub")
        async with (
            site.hosts(1) as (one,),
            site.directory() as directory,
            ComponentHost("h9", tmp_path / "h9", others, directory),
        ):
            await one.create("p", site.bundle())
            reason = (await one.migrate("p", "h9")).refused
            assert "signed with a key that is not in others/" in reason
            assert "not in others/" in (await one.clone("p", "h9", "q")).refused
            assert await one.call("p", "add") == 1
            theirs = signed_bundle(
                {"manifest.json": site_manifest(), "probe.py": PROBE},
                private_key(tmp_path / "other"),
                "p",
            )
            assert "not in trusted/" in (await one.create("x", theirs)).refused
            assert "is not signed" in (await one.create("x", b"PK")).refused
            broken = site.bundle({"probe.py": b"import absent_module\n"})
            assert "No module named 'absent_module'" in (await one.create("x", broken)).refused
            assert one.names == ["p"]

    live(work())


def site_manifest() -> bytes:
    return json.dumps({"name": "probe", "version": "1", "entry": "probe:Probe"}).encode()


def test_intents_are_carried_out_once_however_often_they_are_asked_for(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(2) as (one, two):
            for name in ("a", "b"):
                assert (await one.create(name, site.bundle())).refused == ""
            for host in (two, one):  # any host may lead
                done = await carry_out(Migrate(source="h1", targets=("h2",)), host.calls, host.directory)
                assert done.refused == ()
            assert places(await one.directory.all()) == {"h2": ("a", "b")}
            for host in (one, two):
                clone = Clone(source="h2", targets=("h1",), components=("a",))
                done = await carry_out(clone, host.calls, host.directory)
                assert (done.done, done.refused) == ((("a@h1", "h1"),), ())
            moved = Migrate(source="h1", targets=("h2",), components=("b", "absent", "a@h1"))
            done = await carry_out(moved, one.calls, one.directory)
            assert done.done == (("b", "h2"), ("a@h1", "h2"))
            assert done.refused == (("absent", "there is no component 'absent'"),)
            wrong = Migrate(source="h1", targets=("h3",), components=("b",))
            assert (await carry_out(wrong, one.calls, one.directory)).refused == (
                ("b", "it is at h2, not at h1"),
            )
            none = await carry_out(
                Clone(source="h2", targets=(), components=("b",)), one.calls, one.directory
            )
            assert none.refused == (("b", "no target is named"),)

    live(work())


def test_to_several_targets_every_component_goes_to_each_and_the_original_last() -> None:
    names, targets = ("a", "b"), ("x", "y")
    clones = [("clone", "a", "x"), ("clone", "a", "y"), ("clone", "b", "x"), ("clone", "b", "y")]
    assert _said(orders(Clone(source="s", targets=targets), names)) == clones
    moved = [("clone", "a", "y"), ("clone", "b", "y"), ("migrate", "a", "x"), ("migrate", "b", "x")]
    assert _said(orders(Migrate(source="s", targets=targets), names)) == moved


def _said(given: list[Order]) -> list[tuple[str, str, str]]:
    return [(each.kind, each.name, each.target) for each in given]


def test_a_task_that_is_transferred_to_several_brokers_runs_at_each(site: Site) -> None:
    """Mimosa Pudica Fig. 2b; the next leader finds it done."""

    async def work() -> None:
        async with site.hosts(3) as (one, two, three):
            assert (await one.create("update", site.bundle())).refused == ""
            transfer = Migrate(source="h1", targets=("h2", "h3"), components=("update",))
            for host in (two, three):
                done = await carry_out(transfer, host.calls, host.directory)
                assert (set(done.done), done.refused) == ({("update@h3", "h3"), ("update", "h2")}, ())
            assert places(await one.directory.all()) == {"h2": ("update",), "h3": ("update@h3",)}

    live(work())


def test_a_host_that_was_stopped_finds_its_components_again(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(1) as (one,):
            await one.create("p", site.bundle())
            assert await one.call("p", "add") == 1
            with pytest.raises(BadInput, match="belongs to a host that is running"):
                async with site.directory() as directory:
                    await ComponentHost("h1", one._folder, site.trusted, directory).__aenter__()
        async with site.hosts(1) as (again,):
            assert await again.call("p", "add") == 2

    live(work())


def test_peers_without_the_token_or_with_garbage_are_sent_away_and_noted(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(1, security=Security("secret")) as (one,):
            await one.create("p", site.bundle())
            async with site.calls(Security("guess")) as stranger:
                assert "no answer" in await fails(stranger.call("p", "add", patience=0.5))
            async with site.calls(Security("secret")) as friend:
                assert await friend.call("p", "add") == 1
            for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x02{}", b"\xff" * 64):
                reader, writer = await asyncio.open_connection(one.host, one.port)
                writer.write(data)
                assert await reader.read() == b""
                writer.close()
            assert await one.call("p", "add") == 2
            noted = list(one.peer_faults)
            assert any("the token is not that of these hosts" in fault for fault in noted)
            assert any("bytes, where" in fault for fault in noted)

    live(work())


def test_names_that_are_paths_and_code_that_was_not_asked_for_are_refused(site: Site) -> None:
    async def work() -> None:
        async with site.hosts(1) as (one,), site.calls(me="h2") as evil:
            image = Image(name="../../up", tenure="up/h2/1/1", bundle="0" * 64)
            evil._network.send("h1", Offer(image=image, clone=True))
            data = site.bundle()
            evil._network.send("h1", Code(bundle=hashlib.sha256(data).hexdigest(), data=data))
            while not one.faults:
                await asyncio.sleep(0.01)
            assert list(one.faults) == ["h2: sent a bundle that was not asked for"]
            assert (one.names, list((site.folder / "h1" / "bundles").iterdir())) == ([], [])

    live(work())


def test_with_an_authority_both_sides_show_certificates(site: Site, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("h1", "friend"):
        certificate = authority.issue_cert(name, "127.0.0.1")
        certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / f"{name}.pem")

    def shown(name: str) -> Security:
        file = str(tmp_path / f"{name}.pem")
        variables = {"CERTIFICATE": file, "KEY": file, "AUTHORITY": str(tmp_path / "ca.pem")}
        return security_of({f"REGRAFT_COMPONENTS_{key}": value for key, value in variables.items()})

    async def work() -> None:
        assert security_of({}) == Security()
        async with site.hosts(1, security=shown("h1")) as (one,):
            await one.create("p", site.bundle())
            async with site.calls(shown("friend"), "friend") as friend:
                assert await friend.call("p", "add") == 1
            async with site.calls(shown("friend"), "somebody else") as liar, site.calls() as plain:
                assert "no answer" in await fails(liar.call("p", "add", patience=0.3))
                assert "no answer" in await fails(plain.call("p", "add", patience=0.3))
            assert any("does not name 'somebody else'" in fault for fault in one.peer_faults)

    live(work())


def test_the_directory_is_followed_and_garbage_in_it_is_named_with_its_repair(site: Site) -> None:
    async def work() -> None:
        async with site.directory() as directory, await Coord.connect(site.zookeeper) as coord:
            seen: list[dict[str, str]] = []

            async def follow() -> None:
                async for entries in directory.follow():
                    seen.append({name: entry.place for name, entry in entries.items()})

            following = asyncio.create_task(follow())
            entry = Entry(name="p", place="h1", tenure="t1")
            assert await directory.put(entry, None) == 0
            assert await directory.put(entry, None) is None
            while seen[-1:] != [{"p": "h1"}]:
                await asyncio.sleep(0.01)
            assert await directory.put(Entry(name="p", place="h2", tenure="t2"), 0) == 1
            assert await directory.put(entry, 0) is None
            while seen[-1:] != [{"p": "h2"}]:
                await asyncio.sleep(0.01)
            found = await directory.find("p")
            assert found is not None
            assert (found.entry.place, found.version) == ("h2", 1)
            assert await directory.remove("p", 0) == found
            assert await directory.remove("p", 1) is None
            await coord.create(f"{site.root}/components/names/q", b"{")
            with pytest.raises(Corrupt, match="regraft znode delete"):
                await directory.find("q")
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    live(work())


def lives(pid: int) -> bool:
    """A process that has ended may stay until its parent has read the exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_workers_end_with_their_host_even_in_an_endless_loop(site: Site) -> None:
    async def work() -> None:
        host = await start(site, "h1")
        children = Path(f"/proc/{host.pid}/task/{host.pid}/children")
        async with site.calls() as calls:
            await calls.order("h1", Order(number=0, kind="create", name="p", data=site.bundle()))
            asking = asyncio.create_task(calls.call("p", "endless", patience=1))
            await asyncio.sleep(0.3)
            workers = [int(pid) for pid in children.read_text().split()]
            assert workers
            host.send_signal(signal.SIGKILL)
            await host.wait()
            assert "no answer" in await fails(asking)
        for pid in workers:
            while lives(pid):
                await asyncio.sleep(0.02)

    live(work())
