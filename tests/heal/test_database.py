"""The destination database with real parts: SQLite, PostgreSQL, ZooKeeper, processes that are killed."""

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.heal.postgres import Postgres, programs

from regraft.coord import Configuration, Coord, Ensemble, Layout
from regraft.coord.typed import encode
from regraft.heal.database.client import DatabaseClient, DatabasesAway
from regraft.heal.database.metadata import Current, running_databases
from regraft.heal.database.node import DatabaseNode, DatabaseTiming
from regraft.heal.database.protocol import DatabaseAway, DatabaseConnection, GetBrokers
from regraft.heal.database.records import Adaptation, BrokerRecord, RuleSet
from regraft.heal.database.store import StoreFailed, store_of
from regraft.heal.election import Act, Choose, Effect, Elections, Send
from regraft.heal.grant import Denied, Grant, GrantRequest
from regraft.heal.reaction import react
from regraft.heal.repair import Join, join, repaired
from regraft.heal.rules import PAPER_RULES, check, parse
from regraft.model import BadInput, Topology
from regraft.model.facts import Event, Facts
from regraft.model.intents import Delete, Intent

pytestmark = pytest.mark.xdist_group("destination database")  # one ZooKeeper, one PostgreSQL
IDS = [f"b{i}" for i in range(9)]
LINE = [(f"b{i}", f"b{i + 1}") for i in range(8)]
QUICK = DatabaseTiming(grant=1.0, sweep=0.3, lost=0.2, check=0.05)
PAPER = {rule.name: rule.source for rule in parse(PAPER_RULES)}
OPEN = {"User Defined": 3.0}
NO_POSTGRES = "PostgreSQL is not installed: its tests are SKIPPED (as root: apt-get install postgresql)"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        warnings.warn(NO_POSTGRES, stacklevel=1)
        pytest.skip(NO_POSTGRES)
    with Postgres() as server:
        yield server


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk may be busy with other tests."""
    monkeypatch.setattr("regraft.heal.database.store.SECONDS", 20.0)


@pytest.fixture
def layout() -> Layout:
    return Layout(f"/test-{uuid.uuid4().hex}")


class World:
    """Databases over one ensemble; d1, d2 … in the order of their stores."""

    def __init__(self, coord: Coord, layout: Layout, nodes: list[DatabaseNode]) -> None:
        self.coord, self.layout, self.nodes = coord, layout, nodes

    def client(self, *order: int, seconds: float = 20.0) -> DatabaseClient:
        places = [self.nodes[i] for i in order or range(len(self.nodes))]
        return DatabaseClient([(each.host, each.port) for each in places], seconds)

    async def fill(self, client: DatabaseClient) -> None:
        for number, id in enumerate(IDS):
            assert await client.put_broker(BrokerRecord(id=id, host="h", port=number, life=1)) == 2

    def holders(self) -> dict[str, tuple[str, ...]]:
        placement = self.nodes[0]._metadata.placement.value
        assert placement is not None
        return dict(placement.holders)


@contextlib.asynccontextmanager
async def world(
    hosts: str, layout: Layout, *stores: str, timing: DatabaseTiming = QUICK
) -> AsyncIterator[World]:
    async with await Coord.connect(hosts) as coord, contextlib.AsyncExitStack() as stack:
        current = Current(epoch=4, kind="tree", brokers=IDS, links=LINE)
        await coord.create(layout.topology, encode(current))
        nodes = [
            await stack.enter_async_context(
                DatabaseNode(
                    f"d{number}",
                    store_of(store),
                    Configuration(hosts),
                    layout,
                    region=f"r{number}",
                    timing=timing,
                )
            )
            for number, store in enumerate(stores, start=1)
        ]
        await until(lambda: all(len(node._metadata.alive) == len(nodes) for node in nodes))
        yield World(coord, layout, nodes)


async def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await scenario

    asyncio.run(limited())


def files(place: Path, *names: str) -> list[str]:
    return [f"sqlite:{place / name}.db" for name in names]


def delete(target: str, asker: str, **more: Any) -> GrantRequest:
    return GrantRequest(kind="delete", asker=asker, target=target, **more)


def test_each_broker_is_at_two_databases_and_any_of_them_answers_for_all(
    hosts: str, layout: Layout, tmp_path: Path, postgres: Postgres
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b"), postgres.url) as all:
            await all.fill(all.client())
            assert all.nodes[2]._store.name.startswith("postgresql://")
            assert {len(set(holders)) for holders in all.holders().values()} == {2}
            assert {each for holders in all.holders().values() for each in holders} == {"d1", "d2", "d3"}
            for number in range(3):
                found = await all.client(number).brokers()
                assert {id: record.port for id, record in found.items()} == {
                    id: n for n, id in enumerate(IDS)
                }
                assert await all.client(number).brokers(["b4", "nobody"]) == {"b4": found["b4"]}
            here = await all.nodes[2]._replicas.own(())
            assert here.keys() == {id for id, holders in all.holders().items() if "d3" in holders}

    run(scenario())


def test_the_loss_of_any_one_database_changes_nothing_and_what_it_held_is_copied(
    hosts: str, layout: Layout, tmp_path: Path, postgres: Postgres
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b"), postgres.url) as all:
            client = all.client()
            await all.fill(client)
            await all.nodes[1].stop()
            assert len(await client.brokers()) == 9
            assert isinstance(await client.request(delete("b4", "b3")), Grant)
            assert await client.put_broker(BrokerRecord(id="b4", state="down", heir="b3")) == 2
            assert (await all.client(2).brokers(["b4"]))["b4"].heir == "b3"
            assert isinstance(await client.put_rules(PAPER, OPEN), RuleSet)
            await until(lambda: "d2" not in {each for holders in all.holders().values() for each in holders})
            async with asyncio.timeout(10):  # a database that is named as a holder may still be copying
                for n in (0, 2):
                    while sorted(await all.nodes[n]._replicas.own(())) != sorted(IDS):
                        await asyncio.sleep(0.05)

    run(scenario())


def test_a_postgresql_that_is_killed_is_passed_over_and_catches_up_when_it_is_back(
    hosts: str, layout: Layout, tmp_path: Path, postgres: Postgres
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a"), postgres.url) as all:
            near, far = all.client(1), all.client(0)
            await all.fill(far)
            postgres.kill()
            try:
                assert len(await near.brokers()) == 9  # from its peer
                assert await far.put_broker(BrokerRecord(id="b1", life=2)) == 1
            finally:
                postgres.start()
            assert any("postgresql://" in fault for fault in all.nodes[1].faults)
            store = all.nodes[1]._replicas
            async with asyncio.timeout(10):
                while (await store.own(["b1"])).get("b1", BrokerRecord(id="b1")).life != 2:
                    await asyncio.sleep(0.05)

    run(scenario())


def test_a_copy_that_was_left_behind_is_neither_read_nor_written_over_the_newest(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        patient = DatabaseTiming(sweep=60.0)
        async with world(hosts, layout, *files(tmp_path, "a", "b", "c"), timing=patient) as all:
            await all.fill(all.client())
            holders = all.holders()["b1"]
            old = next(node for node in all.nodes if node.id not in holders)
            stale = BrokerRecord(id="b1", life=99, version=0, writer="zz")
            assert await old._replicas.keep((stale,))
            near = DatabaseClient([(old.host, old.port)])
            assert (await near.brokers(["b1"]))["b1"].life == 1
            held = next(node for node in all.nodes if node.id == holders[0])
            with contextlib.closing(sqlite3.connect(held._store.name.removeprefix("sqlite:"))) as file:
                file.execute("DELETE FROM brokers WHERE id = 'b1'")  # it has missed a write
                file.commit()
            writer = DatabaseClient([(held.host, held.port)])
            assert await writer.put_broker(BrokerRecord(id="b1", life=5)) == 2
            assert {(await all.client(n).brokers(["b1"]))["b1"].life for n in range(3)} == {5}

    run(scenario())


def test_a_database_that_was_away_gets_what_it_missed_before_it_answers(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        stores = files(tmp_path, "a", "b")
        async with world(hosts, layout, *stores) as all:
            client = all.client()
            await all.fill(client)
            await all.nodes[1].stop()
            await client.put_broker(BrokerRecord(id="b1", life=7))
            await client.put_rules(PAPER, OPEN)
            async with DatabaseNode(
                "d2", store_of(stores[1]), Configuration(hosts), layout, timing=QUICK
            ) as back:
                await until(lambda: len(back._metadata.alive) == 2)
                again = DatabaseClient([(back.host, back.port)])
                assert (await again.brokers(["b1"]))["b1"].life == 7
                assert len((await again.rules()).rules) == 4

    run(scenario())


def test_without_one_metadata_server_all_continues_and_without_any_what_is_known_is_answered(
    layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with Ensemble(3) as servers, world(servers.hosts, layout, *files(tmp_path, "a", "b")) as all:
            client = all.client(seconds=20.0)
            await all.fill(client)
            servers.nodes[await servers.leader()].kill()
            found = await client.request(delete("b4", "b3", source="b2", destination="b6"))
            assert isinstance(found, Grant)
            await client.release(found.id)
            assert isinstance(await client.put_rules(PAPER, OPEN), RuleSet)
            assert await client.put_broker(BrokerRecord(id="new")) == 2
            for server in servers.nodes:
                server.kill()
            await until(lambda: not any(node._metadata.fresh for node in all.nodes))
            assert len(await client.brokers()) == 10
            assert (await client.rules()).version == 1
            denied = await all.client(seconds=0.3).request(delete("b4", "b3"), patience=0.1)
            assert isinstance(denied, Denied)
            assert "no answer" in denied.reason

    run(scenario())


def test_a_killed_process_of_a_database_is_passed_over_by_its_clients(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    command = [
        *(sys.executable, "-m", "regraft.heal.database", "--id", "d0", "--zookeeper", hosts),
        *("--root", layout.root, "--store", f"sqlite:{tmp_path / 'zero.db'}", "--guarded"),
    ]

    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert process.stdout is not None
            try:
                said = json.loads(await asyncio.to_thread(process.stdout.readline))
                await until(lambda: "d0" in all.nodes[0]._metadata.alive)
                others = [(each.host, each.port) for each in all.nodes]
                client = DatabaseClient([(said["host"], said["port"]), *others])
                await all.fill(client)
                assert any("d0" in holders for holders in all.holders().values())
                process.kill()
                assert len(await client.brokers()) == 9
                assert await client.put_broker(BrokerRecord(id="b0", life=3)) == 2
                assert isinstance(await client.request(delete("b4", "b3")), Grant)
            finally:
                process.kill()
                process.wait()

    run(scenario())


# Grants


def test_overlapping_requests_are_granted_in_order_of_arrival_whichever_database_is_asked(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        patient = DatabaseTiming(grant=30.0, sweep=5.0, lost=5.0, check=0.05)
        async with world(hosts, layout, *files(tmp_path, "a", "b"), timing=patient) as all:
            one, two = all.client(0), all.client(1)
            await all.fill(one)
            first = await one.request(delete("b4", "b3", source="b2", destination="b6"))
            assert isinstance(first, Grant)
            assert [(each.id, each.life) for each in first.members] == [(f"b{i}", 1) for i in range(2, 7)]
            assert (first.epoch, first.suspects) == (4, ("b4",))
            joined = await two.request(delete("b4", "b5", source="b2", destination="b6"))
            assert joined == first  # the same crash, seen by another
            order: list[str] = []

            async def wait(client: DatabaseClient, target: str, asker: str) -> None:
                found = await client.request(delete(target, asker))
                assert isinstance(found, Grant)
                order.append(target)
                await asyncio.sleep(0.02)
                await client.release(found.id)

            waiting = []
            for client, target, asker in [(two, "b5", "b6"), (one, "b3", "b2"), (two, "b2", "b1")]:
                waiting.append(asyncio.create_task(wait(client, target, asker)))
                await until(lambda: len(all.nodes[0]._answers.granting._queue.entries) == len(waiting) + 1)
            await asyncio.sleep(0.05)
            assert order == []
            await one.release(first.id)
            await asyncio.gather(*waiting)
            assert order == ["b5", "b3", "b2"]

    run(scenario())


def test_a_grant_that_is_never_given_back_makes_way(hosts: str, layout: Layout, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a")) as all:
            client = all.client()
            first = await client.request(delete("b4", "b3"))
            second = await client.request(delete("b5", "b6"))
            assert isinstance(first, Grant)
            assert isinstance(second, Grant)
            assert "was not given back in 1 s" in all.nodes[0].faults[-1]

    run(scenario())


def test_what_cannot_be_granted_is_denied_with_the_reason(hosts: str, layout: Layout, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a")) as all:
            client = all.client()
            assert await client.request(delete("x", "b1")) == Denied("'x' is no broker of the overlay")
            held = await client.request(delete("b4", "b3"))
            assert isinstance(held, Grant)
            late = await client.request(delete("b5", "b6"), patience=0.2)
            assert isinstance(late, Denied)
            assert "no grant in 0.2 s: waits for 1-delete-b4" in late.reason

    run(scenario())


def test_a_crash_is_healed_from_the_request_to_the_new_tree(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    """All parts together: database, election, rules, limits, repair, log. Messages are delivered directly."""
    overlay = Topology.of(LINE)

    def choose(effect: Choose) -> tuple[Intent, ...]:
        dead = effect.grant.target
        event = Event(name="deleteBrokerRequest", broker=dead)
        return react(
            Facts(overlay, (event,), dead=frozenset({dead})), check(parse(PAPER_RULES), OPEN)
        ).intents

    def elect(grant: Grant) -> list[Act]:
        managers = {
            each.id: Elections(each.id, each.life) for each in grant.members if each.id != grant.target
        }
        acts: list[Act] = []
        waiting: list[tuple[str, Effect]] = [
            (grant.asker, each) for each in managers[grant.asker].begin(grant, 0.0)
        ]
        while waiting:
            name, effect = waiting.pop(0)
            match effect:
                case Send() if effect.to in managers:
                    heard = managers[effect.to].receive(name, effect.message, 0.0)
                    waiting += [(effect.to, each) for each in heard]
                case Choose():
                    done = managers[name].chosen(effect.election, effect.view, choose(effect), 0.0)
                    waiting += [(name, each) for each in done]
                case Act():
                    acts.append(effect)
        return acts

    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            client = all.client()
            await all.fill(client)
            grant = await client.request(delete("b4", "b3", source="b2", destination="b6"))
            assert isinstance(grant, Grant)
            (act,) = elect(grant)
            assert act.decision == (Delete(broker="b4", rule="deleteBrokerRules"),)
            found = join(overlay, ["b4"])
            assert isinstance(found, Join)
            assert repaired(overlay, ["b4"], found).neighbours["b3"] == {"b2", "b5"}
            log = Adaptation(id=grant.id, kind=grant.kind, cause="no answer", at=1.0, intents=act.decision)
            await client.release(grant.id, log)
            assert (await client.adaptations())[0].intents == act.decision
            assert all.nodes[0]._answers.granting._queue.entries == ()

    run(scenario())


# Rules and adaptations


def test_rules_are_versioned_and_followed_while_they_change(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            one, two = all.client(0), all.client(1)
            seen = []

            async def follow() -> None:
                async for checked in two.follow_rules():
                    seen.append((checked.version, len(checked.rules)))

            following = asyncio.create_task(follow())
            await until(lambda: seen == [(0, 0)])
            first = await one.put_rules(PAPER, OPEN)
            assert isinstance(first, RuleSet)
            await until(lambda: seen == [(0, 0), (1, 4)])
            name = "addBrokerRules"
            changed = await one.put_rules({name: PAPER[name].replace("do ", "priority 4; do ")}, {})
            assert isinstance(changed, RuleSet)
            assert [(rule.name == name, rule.version) for rule in changed.rules] == [
                *((False, 1), (True, 2), (False, 1), (False, 1))
            ]
            await until(lambda: seen[-1] == (2, 4))
            only = await two.put_rules({name: PAPER[name]}, {}, instead=True)
            assert isinstance(only, RuleSet)
            assert (only.version, len(only.rules)) == (3, 1)
            following.cancel()

    run(scenario())


def test_an_invalid_rule_is_not_stored(hosts: str, layout: Layout, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a")) as all:
            client = all.client()
            bad = await client.put_rules({"x": PAPER["addBrokerRules"].replace("addBroker(", "explode(")}, {})
            assert isinstance(bad, Denied)
            assert bad.reason.startswith("x:4:19: unknown action 'explode'")
            assert await client.put_rules(PAPER, {}) == Denied(
                "taskTransferRules:5:36: `User Defined` is still open: define it when storing"
            )
            assert (await client.rules()).version == 0

    run(scenario())


def test_two_clients_that_store_rules_at_once_do_not_overwrite_each_other(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            outcomes = await asyncio.gather(
                *(
                    all.client(n % 2).put_rules({name: text}, OPEN)
                    for n, (name, text) in enumerate(PAPER.items())
                )
            )
            stored = [each for each in outcomes if isinstance(each, RuleSet)]
            rules = await all.client().rules()
            assert rules.version == len(stored) == len(rules.rules) >= 1
            assert all_refused(outcomes)

    def all_refused(outcomes: list[RuleSet | Denied]) -> bool:
        return all("the rules are at version" in each.reason for each in outcomes if isinstance(each, Denied))

    run(scenario())


def test_adaptations_are_written_down_everywhere_and_the_newest_comes_first(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        stores = files(tmp_path, "a", "b")
        async with world(hosts, layout, *stores) as all:
            client = all.client()
            for number in range(3):
                log = Adaptation(
                    id=f"{number}-delete-b4",
                    kind="delete",
                    cause="b4 did not answer",
                    at=float(number),
                    rules=("deleteBrokerRules",),
                    leader="b2",
                    intents=(Delete(broker="b4"),),
                    timeout_ms=30,
                )
                await client.release(log.id, log)
            found = await client.adaptations(2)
            assert [each.id for each in found] == ["2-delete-b4", "1-delete-b4"]
            assert found[0].intents == (Delete(broker="b4"),)
        for store in stores:
            with contextlib.closing(sqlite3.connect(store.removeprefix("sqlite:"))) as file:
                assert file.execute("SELECT count(*) FROM adaptations").fetchone() == (3,)

    run(scenario())


# Garbage


def test_garbage_in_a_store_is_refused_and_replaced_from_a_peer(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            client = all.client()
            await all.fill(client)
            with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as file:
                file.execute("UPDATE brokers SET record = '{\"id\": 5}', version = 0 WHERE id = 'b1'")
                file.commit()
            assert (await client.brokers(["b1"]))["b1"].port == 1
            assert any("broker 'b1': holds no BrokerRecord" in fault for fault in all.nodes[0].faults)
            assert (await all.nodes[0]._replicas.own(["b1"]))["b1"].port == 1

    run(scenario())


def test_a_database_that_answers_garbage_is_refused_with_the_reason_and_another_is_asked(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"\x00\x00\x00\x03xyz")
        await writer.drain()

    async def huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff\xff\xff\xff")
        await writer.drain()
        await reader.read()

    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            await all.fill(all.client())
            for liar in (garbage, huge):
                server = await asyncio.start_server(liar, "127.0.0.1", 0)
                port = server.sockets[0].getsockname()[1]
                alone = DatabaseClient([("127.0.0.1", port)], 1.0)
                with pytest.raises(DatabasesAway, match=r"not a message|a frame of 4294967295 bytes"):
                    await alone.brokers()
                client = DatabaseClient([("127.0.0.1", port), (all.nodes[0].host, all.nodes[0].port)], 1.0)
                assert len(await client.brokers()) == 9
                server.close()

    run(scenario())


def test_a_caller_that_sends_garbage_is_told_and_others_are_served(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a")) as all:
            node = all.nodes[0]
            for data in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{}", b"GET / HTTP/1.0\r\n\r\n"):
                reader, writer = await asyncio.open_connection(node.host, node.port)
                writer.write(data)
                writer.write_eof()
                await reader.read()
                writer.close()
            assert await all.client().brokers() == {}
            assert len(node.faults) == 3
            with pytest.raises(DatabasesAway, match="its state must be one of"):
                await all.client().put_broker(BrokerRecord(id="b1", state="mad"))

    run(scenario())


def test_metadata_that_is_garbage_is_reported_and_what_was_known_is_kept(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a")) as all:
            await all.coord.set(layout.topology, b"{garbage", -1)
            await until(lambda: any("does not hold a Current" in fault for fault in all.nodes[0].faults))
            assert isinstance(await all.client().request(delete("b4", "b3")), Grant)

    run(scenario())


# Addresses and stores


def test_databases_are_found_in_the_metadata_the_closest_first(
    hosts: str, layout: Layout, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with world(hosts, layout, *files(tmp_path, "a", "b")) as all:
            client = await DatabaseClient.found(all.coord, layout, "r2")
            assert [each.port for each in client._connections] == [all.nodes[1].port, all.nodes[0].port]
            assert (await running_databases(all.coord, f"{layout.root}/heal"))["d1"].region == "r1"
        async with await Coord.connect(hosts) as coord:
            with pytest.raises(BadInput, match="no destination database is running"):
                await DatabaseClient.found(coord, layout)

    run(scenario())


def test_a_database_that_hangs_is_given_up_in_time() -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(60), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DatabaseAway, match=r"no answer in 0\.05 s"):
            await DatabaseConnection("127.0.0.1", port).call(GetBrokers(), 0.05)
        server.close()
        with pytest.raises(DatabaseAway, match=r"refused|Connect"):
            await DatabaseConnection("127.0.0.1", 1).call(GetBrokers(), 1.0)

    run(scenario())


@pytest.mark.parametrize("url", ["", "sqlite:", "mysql://x", "postgresql://h:port/x"])
def test_a_store_that_is_not_known_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="store: "):
        store_of(url)
    with pytest.raises(BadInput, match="no address is known"):
        DatabaseClient([])


def test_stores_that_cannot_be_opened_say_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "text.db").write_text("not a database, but text that is long enough to be looked at " * 20)

    async def scenario() -> None:
        for url in (
            f"sqlite:{tmp_path}/file/x.db",
            f"sqlite:{tmp_path}/text.db",
            "postgresql://u@127.0.0.1:1/x",
        ):
            store = store_of(url)
            with pytest.raises(StoreFailed, match=r"sqlite:|postgresql://127\.0\.0\.1:1/x: "):
                await store.open()
            await store.close()

    run(scenario())
