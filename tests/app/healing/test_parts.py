"""Parts of the adaptation manager without processes: judging, replaying, writing down, being told."""

import asyncio
import socket
from collections.abc import Coroutine
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regraft.app.healing.acts import Acts
from regraft.app.healing.events import EventChecker
from regraft.app.healing.facts import Interpreter, Judged
from regraft.app.healing.log import Log
from regraft.app.healing.removals import Removals, claim
from regraft.app.healing.settings import NodeSettings, from_json, reaching, to_json
from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.broker.io.configuration import Tls
from regraft.coord import Configuration, Conflict, Digest, Layout, Node
from regraft.coord.typed import encode
from regraft.heal.database.client import DatabasesAway
from regraft.heal.database.records import Adaptation
from regraft.heal.detection import Detector, Evidence, Suspect, Timing
from regraft.heal.election import Act, Learned
from regraft.heal.grant import Grant, Member, Request
from regraft.heal.limits import RemovalLimits
from regraft.heal.monitor import Overload
from regraft.heal.ownership import Owner
from regraft.heal.rules import SEED_RULES, check, parse
from regraft.heal.wire import Cause
from regraft.model import Topology
from regraft.model.facts import Event
from regraft.model.intents import Delete, Intent, Migrate

LINE = Topology.of(pairwise(["b0", "b1", "b2", "b3", "b4"]))
RULES = check(parse(SEED_RULES), {"User Defined": 3.0})
GRANT = Grant(
    id="1-delete-b2",
    kind="delete",
    asker="b1",
    target="b2",
    members=tuple(map(Member, LINE.ids)),
    suspects=("b2",),
)
CRASH = Event(name="deleteBrokerRequest", broker="b2", arguments={"suspected": True})
CAUSE = Cause(election=GRANT.id, cause="b2 does not answer", event=CRASH, timeout_ms=30.0, vote_ms=5.0)


def run(scenario: Coroutine[Any, Any, Any]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(20):
            return await scenario

    return asyncio.run(limited())


class FakeCoord:
    """Knows of one presence, or of none, and of no component."""

    def __init__(self, alive: bool = True) -> None:
        self.alive = alive

    async def get(self, path: str) -> Node | None:
        return Node(b"", 0, 1, 1, 1) if self.alive else None

    async def children(self, path: str) -> list[str]:
        return []


def interpreter(owner: Owner, *, alive: bool = True, limits: RemovalLimits | None = None) -> Interpreter:
    parts: Any = SimpleNamespace(
        id="b1",
        coord=FakeCoord(alive),
        layout=Layout(),
        topology=LINE,
        databases=SimpleNamespace(rules=RULES),
        settings=SimpleNamespace(removals=limits or RemovalLimits()),
        whereabouts=SimpleNamespace(owners={"b2": owner}),
    )

    async def find(id: str) -> Owner:
        return owner

    parts.whereabouts.find = find
    watching: Any = SimpleNamespace(detector=Detector(), loads={}, own_load=None, refused=lambda *_: False)
    return Interpreter(parts, watching)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def judged(judge: Interpreter, reached: dict[str, bool]) -> Judged:
    async def reaches(member: str, broker: str, seconds: float) -> bool:
        return reached.get(member, False)

    return await judge.decide(GRANT, CAUSE, reaches)


def gone(port: int, by: str = "") -> Owner:
    return Owner(life=1, host="127.0.0.1", port=port, by=by)


def test_a_process_that_is_gone_is_deleted_by_the_rule() -> None:
    async def scenario() -> Judged:
        return await judged(interpreter(gone(free_port())), {})

    assert run(scenario()).intents == (Delete(broker="b2", rule="deleteBrokerRules"),)


@pytest.mark.parametrize(
    ("reached", "reason"), [({"b3": True}, "the link has failed"), ({}, "nothing shows that it is gone")]
)
def test_a_broker_whose_machine_answers_is_not_deleted(reached: dict[str, bool], reason: str) -> None:
    """Whoever reaches it shows that it is the link; if nobody does, it may be slow."""

    async def scenario() -> Judged:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            return await judged(interpreter(gone(server.sockets[0].getsockname()[1])), reached)

    found = run(scenario())
    assert found.intents == ()
    assert reason in found.reason


def test_a_broker_whose_session_has_ended_is_deleted_though_its_machine_answers() -> None:
    async def scenario() -> Judged:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await judged(interpreter(gone(port), alive=False), {})

    assert [type(each) for each in run(scenario()).intents] == [Delete]


def test_one_that_has_a_deputy_already_is_left_alone() -> None:
    async def scenario() -> Judged:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            return await judged(interpreter(gone(server.sockets[0].getsockname()[1], by="b3")), {})

    found = run(scenario())
    assert found.intents == ()
    assert "deputy at b3" in found.reason


def test_limits_count_what_was_decided_and_refuse_more() -> None:
    async def scenario() -> Judged:
        judge = interpreter(gone(free_port()), limits=RemovalLimits(removals=1))
        judge.learned(Learned("0-delete-b9", 0, "b0", (Delete(broker="b9"),)), crash=True)
        return await judged(judge, {})

    found = run(scenario())
    assert found.intents == ()
    assert "1 brokers were removed" in found.reason


def test_one_that_has_joined_again_is_not_missing() -> None:
    """Of five brokers four died and joined again: the fifth may go all the same, though b1 watched none."""

    async def scenario() -> Judged:
        judge = interpreter(gone(free_port()), limits=RemovalLimits(removals=100))
        for id in ("b0", "b1", "b3", "b4"):
            judge.learned(Learned(id, 0, "b0", (Delete(broker=id),)), crash=True)
        return await judged(judge, {})

    assert [type(each) for each in run(scenario()).intents] == [Delete]


def test_a_removal_that_was_decided_and_not_carried_out_does_not_count() -> None:
    """The components of b3 could not leave, so it stayed. It may be tried again."""

    async def scenario() -> None:
        judge = interpreter(gone(free_port()))
        judge.learned(Learned("1", 0, "b0", (Delete(broker="b3"),)), crash=False)
        assert (await judge.facts(())).removed == ()
        judge.learned(Learned("2", 0, "b0", (Delete(broker="b9"),)), crash=False)
        assert [each.broker for each in (await judge.facts(())).removed] == ["b9"]

    run(scenario())


def test_all_four_phases_are_written_down_when_the_database_is_back() -> None:
    written: list[tuple[str, Adaptation]] = []
    trouble = [1, 2]

    class Client:
        async def release(self, grant: str, adaptation: Adaptation) -> None:
            if trouble:
                trouble.pop()
                raise DatabasesAway("none answers")
            written.append((grant, adaptation))

    async def client() -> Client:
        return Client()

    async def scenario() -> None:
        log = Log(SimpleNamespace(id="b1", databases=SimpleNamespace(client=client)))  # type: ignore[arg-type]
        log.caused(CAUSE)
        act = Act(GRANT.id, 2, (Delete(broker="b2", rule="mine"),))
        log.elected(act)
        await log.release(GRANT, act, 12.5, [])

    run(scenario())
    ((grant, adaptation),) = written
    assert grant == GRANT.id
    assert (adaptation.timeout_ms, adaptation.vote_ms, adaptation.adaptation_ms) == (30.0, 5.0, 12.5)
    assert adaptation.election_ms > 0
    assert (adaptation.rules, adaptation.leader, adaptation.view) == (("mine",), "b1", 2)
    assert (adaptation.outcome, adaptation.cause) == ("done", "b2 does not answer")


def test_settings_come_through_as_they_are(tmp_path: Path) -> None:
    zookeeper = Configuration("127.0.0.1:2181", Digest("user", "password"), session_timeout=4.0)
    broker = BrokerConfiguration("b1", tls=Tls(tmp_path / "c.pem", tmp_path / "k.pem"), port=7000)
    settings = NodeSettings(
        broker,
        reaching(zookeeper, Layout("/elsewhere")),
        token="secret",
        timing=Timing(timer=0.05, adaptive=True),
        removals=RemovalLimits(removals=3),
        overload=Overload(cpu=0.5),
        traffic=tmp_path / "traffic.json",
    )
    again = from_json(to_json(settings))
    assert again == settings
    assert again.zookeeper.configuration == zookeeper
    assert again.layout == Layout("/elsewhere")
    assert "secret" not in repr(settings)


def test_a_deputy_is_driven_and_fenced_as_the_node_itself(tmp_path: Path) -> None:
    settings = NodeSettings(
        BrokerConfiguration("b1", port=7000, metrics=("127.0.0.1", 0), state=tmp_path),
        reaching(Configuration("127.0.0.1:2181"), Layout()),
    )
    own, deputy = settings.driven("b1", ("b0",), 7000), settings.driven("b2", ("b1", "b3"), 0)
    assert (own.port, deputy.port, own.state) == (7000, 0, None)
    assert (own.metrics, deputy.metrics) == (("127.0.0.1", 0), None)
    assert own.settings.fenced
    assert deputy.settings.fenced
    assert deputy.remembered
    assert own.control_token != deputy.control_token


class FakeDatabase:
    """Grants everything, after a moment; keeps what was asked for and given back."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.released: list[str] = []

    async def request(self, request: Request, patience: float) -> Grant:
        self.asked.append(request)
        await asyncio.sleep(0.01)
        return GRANT

    async def release(self, grant: str, adaptation: Adaptation | None = None) -> None:
        self.released.append(grant)


def checker(database: FakeDatabase) -> tuple[EventChecker, list[str], Any]:
    """An event checker of b1 whose elections begin and never end; what was begun, and its parts."""
    begun: list[str] = []
    owner = gone(1)
    parts: Any = SimpleNamespace(
        id="b1",
        topology=LINE,
        settings=SimpleNamespace(overload=Overload(), removals=RemovalLimits()),
        whereabouts=SimpleNamespace(owners={"b2": owner, "b4": gone(2, by="b3")}),
        connections=SimpleNamespace(send=lambda peer, message: None),
        begin=asyncio.create_task,
        databases=SimpleNamespace(rules=RULES),
    )

    async def client() -> FakeDatabase:
        return database

    async def find(id: str) -> Owner:
        return owner

    parts.databases.client = client
    parts.whereabouts.find = find
    watching: Any = SimpleNamespace(detector=Detector(), loads={})
    electing: Any = SimpleNamespace(
        begin=lambda grant: begun.append(grant.id), core=SimpleNamespace(life=0), suspect=None
    )
    return EventChecker(parts, watching, electing, interpreter(owner), Log(parts)), begun, parts


def test_the_group_is_asked_for_while_the_timer_runs_and_used_when_it_ends() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        events, begun, _ = checker(database)
        events.expect("b2")
        events.expect("b2")
        await asyncio.sleep(0.05)
        assert begun == [], "nobody is suspected yet"
        events.gone(Suspect("b2", Evidence.REFUSED, 0.03))
        await asyncio.sleep(0.05)
        assert begun == [GRANT.id]
        (asked,) = database.asked
        assert (asked.kind, asked.target, asked.asker) == ("delete", "b2", "b1")
        assert asked.suspects == ("b4",), "one that has a deputy can not vote"

    run(scenario())


def test_a_grant_that_was_asked_for_too_early_is_given_back() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        events, begun, _ = checker(database)
        events.expect("b2")
        events.back("b2")
        await asyncio.sleep(0.1)
        assert (begun, database.released) == ([], [GRANT.id])

    run(scenario())


def test_nobody_is_asked_about_a_broker_that_has_another_owner_by_then() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        events, begun, parts = checker(database)
        events.gone(Suspect("b2", Evidence.REFUSED, 0.03))
        parts.whereabouts.owners["b2"] = gone(3, by="b3")
        await asyncio.sleep(0.1)
        assert begun == []

    run(scenario())


def test_a_newcomer_is_put_where_fewest_links_are() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        events, _, parts = checker(database)
        parts.whereabouts.node_of = lambda id: "b3" if id == "b4" else id
        assert events.join("b9") == ""
        await asyncio.sleep(0.05)
        assert [(each.kind, each.target) for each in database.asked] == [("add", "b9")]
        assert events._place() == "b0", "b4 is a deputy's"
        parts.topology = None
        assert "not in the overlay" in events.join("b8")

    run(scenario())


FAILING = Event(
    name="migrateBrokerRequest",
    broker="b1",
    arguments={"max_input_rate": 1.0, "min_output_rate": 2.0},
)
RELIEVE = """type oblig relieve(target database, Broker<T> broker) {
subject AdaptationManager; on brokerOverloaded(); do database.moveClients(broker);}"""


def test_who_is_about_to_fail_lets_others_lead_because_it_is_deleted_in_the_end() -> None:
    """Rule 3 calls for rule 1, and nobody removes itself."""

    async def scenario() -> None:
        database = FakeDatabase()
        events, _, _ = checker(database)
        await events.happened(FAILING)
        await asyncio.sleep(0.05)
        assert [(each.kind, each.target) for each in database.asked] == [("delete", "b1")]

    run(scenario())


def test_relief_for_an_overload_does_not_hush_that_the_broker_fails() -> None:
    async def scenario() -> None:
        database = FakeDatabase()
        events, _, parts = checker(database)
        parts.databases.rules = check(parse(RELIEVE + SEED_RULES), {"User Defined": 3.0})
        for _ in range(2):
            await events.happened(Event(name="brokerOverloaded", broker="b1"))
        await events.happened(FAILING)
        await asyncio.sleep(0.05)
        assert [each.kind for each in database.asked] == ["shift", "delete"]

    run(scenario())


def test_a_leader_does_not_remove_itself_and_says_so() -> None:
    parts: Any = SimpleNamespace(id="b1", topology=LINE, hosting=SimpleNamespace(brokers={"b1": None}))
    nothing: Any = None
    acts = Acts(parts, nothing, nothing, nothing, nothing, nothing)
    assert "does not remove itself" in run(acts.carry_out(Delete(broker="b1"), crash=False))


@pytest.mark.parametrize(("reason", "asked"), [("b3 does not answer", 1), ("", 2)])
def test_a_broker_whose_components_could_not_leave_is_not_deleted(reason: str, asked: int) -> None:
    done: list[Intent] = []

    class Moves(Acts):
        async def carry_out(self, intent: Intent, *, crash: bool) -> str:
            done.append(intent)
            return reason

    nothing: Any = None
    parts: Any = SimpleNamespace(coord=FakeCoord(), layout=Layout())
    acts = Moves(parts, nothing, nothing, nothing, nothing, nothing)
    for components in (("chat",), ()):  # those that are named, or all
        done.clear()
        decision = (Migrate(source="b2", targets=("b3",), components=components), Delete(broker="b2"))
        reasons = run(acts.carry_out_all(decision, crash=False))
        assert len(done) == asked
        assert reasons == ([reason, "b2 stays: its components could not leave"] if reason else [])


class OneValue:
    """A ZooKeeper with one node; `others` write over it before our own writes."""

    def __init__(self, others: list[bytes]) -> None:
        self.node: Node | None = None
        self.others = others

    async def get(self, path: str) -> Node | None:
        return self.node

    async def create(self, path: str, data: bytes) -> None:
        await self._written(data, None)

    async def set(self, path: str, data: bytes, version: int) -> Node:
        return await self._written(data, version)

    async def _written(self, data: bytes, version: int | None) -> Node:
        if self.others:
            self.node = Node(self.others.pop(), (self.node.version if self.node else 0) + 1, 1, 1, 0)
            raise Conflict(Layout().root, "somebody was faster")
        self.node = Node(data, (version or 0) + 1, 1, 1, 0)
        return self.node


def test_living_brokers_are_counted_for_the_whole_overlay_whoever_removes_them() -> None:
    async def scenario() -> None:
        limits = RemovalLimits(window=60.0, healthy=1)
        quiet: Any = OneValue([])
        assert await claim(quiet, Layout(), "b1", limits, 100.0) == ""
        assert await claim(quiet, Layout(), "b1", limits, 101.0) == "", "a second leader does the same"
        assert "b7 lives, and b1 was removed" in await claim(quiet, Layout(), "b7", limits, 102.0)
        assert await claim(quiet, Layout(), "b7", limits, 161.0) == ""
        busy: Any = OneValue([encode(Removals(living={"b9": 100.0}))])
        assert "b9 was removed" in await claim(busy, Layout(), "b1", limits, 100.0)

    run(scenario())
