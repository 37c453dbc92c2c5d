"""When a topic is in place in a mesh that was not designed for it, and what brokers do that others need."""

from collections.abc import Callable

import msgspec
import pytest
from tests.broker.core.test_mesh import RING, SOON, Wires, event
from tests.diagrams import assert_drawn

from regraft.broker.core import mesh_membership
from regraft.broker.core.change import Change
from regraft.broker.core.effects import Report, Store
from regraft.broker.core.mesh import MeshBroker, MeshSettings
from regraft.broker.core.mesh_connected import is_connected
from regraft.broker.core.mesh_interest import MeshInterest, MeshLink
from regraft.broker.core.mesh_roster import Rosters, TopicState
from regraft.client.core import Acknowledged, Placed, Waits
from regraft.model import BadInput
from regraft.protocol.messages import ClientHello, Flood, Known, Positions, Roster, Run, Update

APART = "topic 'new' is not connected among a, c: no links lead from a to c over brokers that have it"


def tick(wires: Wires, *times: float) -> None:
    for now in times:
        for name, broker in wires.brokers.items():
            wires.do(name, broker.tick(now))


def subscriber(wires: Wires, broker: str, topic: str = "new") -> str:
    name = f"s{broker}"
    wires.client(name, broker).subscribe(f"topic = '{topic}'")
    wires.say(name)
    return name


def publisher(wires: Wires, broker: str, advertises: str = "topic = 'new'") -> str:
    name = f"p{broker}"
    wires.client(name, broker).advertise(advertises)
    wires.say(name)
    return name


def test_a_client_not_connected_waits_and_is_told_why_and_nothing_is_acknowledged() -> None:
    wires = Wires(*RING)
    subscriber(wires, "a")
    subscriber(wires, "c")
    publisher(wires, "a")
    wires.publish("pa", "new", 1)
    tick(wires, 1.0, 3.0, 4.0)
    assert len(wires.saw("sa", Placed)) == 1
    assert [each.reason for each in wires.saw("sc", Waits)] == [APART]  # type: ignore[union-attr]
    assert [each.reason for each in wires.saw("pa", Waits)] == [APART]  # type: ignore[union-attr]
    assert not wires.saw("sc", Placed)
    assert not wires.saw("pa", Acknowledged)


def test_what_waited_is_delivered_when_a_broker_between_has_the_topic() -> None:
    wires = Wires(*RING)
    for name in "ac":
        subscriber(wires, name)
    publisher(wires, "a")
    wires.publish("pa", "new", 1)
    subscriber(wires, "b")
    assert [wires.received(f"s{name}") for name in "abc"] == [[b"1"]] * 3
    assert wires.saw("pa", Acknowledged) == [Acknowledged(1)]


def test_what_waited_is_delivered_when_a_link_is_added() -> None:
    wires = Wires(*RING)
    for name in "ac":
        subscriber(wires, name)
    publisher(wires, "a")
    wires.publish("pa", "new", 1)
    for one, other in (("a", "c"), ("c", "a")):
        wires.do(one, wires.brokers[one].link(other))
    wires.join("a", "c")
    assert wires.received("sc") == [b"1"]
    assert wires.saw("pa", Acknowledged) == [Acknowledged(1)]


def test_a_newcomer_that_is_not_connected_does_not_stop_those_that_are() -> None:
    wires = Wires(*RING, ("d", "e"))
    for name in "ab":
        subscriber(wires, name)
    publisher(wires, "a")
    wires.publish("pa", "new", 1)
    subscriber(wires, "e")
    wires.publish("pa", "new", 2, 3)
    assert wires.received("sb") == [b"1", b"2", b"3"]
    assert wires.saw("pa", Acknowledged)[-1] == Acknowledged(3)
    assert not wires.saw("se", Placed)
    assert not wires.received("se")


def test_a_broker_that_others_need_passes_a_topic_on_when_its_own_clients_have_gone() -> None:
    wires = Wires(("a", "b"), ("b", "c"))
    for name in "abc":
        subscriber(wires, name)
    publisher(wires, "a")
    client = wires.clients["sb"]
    client.withdraw(next(iter(client.subscriptions)))
    wires.say("sb")
    wires.publish("pa", "new", 1)
    assert wires.brokers["b"].membership.states["new"] is TopicState.RELAY
    assert wires.received("sc") == [b"1"]
    assert wires.received("sb") == []
    assert wires.saw("pa", Acknowledged) == [Acknowledged(1)]
    client = wires.clients["sc"]
    client.withdraw(next(iter(client.subscriptions)))
    wires.say("sc")
    assert not wires.brokers["b"].membership.states
    assert not wires.brokers["c"].membership.states
    assert not wires.brokers["b"].interest.own


def test_a_broker_that_no_other_needs_leaves_a_topic_with_its_last_client() -> None:
    wires = Wires(*RING)
    for name in "ab":
        subscriber(wires, name)
    client = wires.clients["sb"]
    client.withdraw(next(iter(client.subscriptions)))
    wires.say("sb")
    assert not wires.brokers["b"].membership.states
    assert all("b" not in each.rosters.members["new"] for each in wires.brokers.values())


def test_nothing_is_kept_for_a_neighbour_that_leaves_a_topic_while_it_is_away() -> None:
    """Others say that it has the topic, and that it has left it."""
    wires = Wires(*RING)
    wires.cut("a", "b")
    for name in "acdb":
        subscriber(wires, name)
    publisher(wires, "a")
    wires.publish("pa", "new", 1)
    kept = wires.brokers["a"].flooding.streams
    assert wires.received("sb") == [b"1"]
    assert kept.bytes > 0
    client = wires.clients["sb"]
    client.withdraw(next(iter(client.subscriptions)))
    wires.say("sb")
    assert kept.bytes == 0


def test_a_filter_that_takes_the_place_of_another_is_in_place_at_once() -> None:
    wires = Wires(*RING)
    subscriber(wires, "a")
    subscriber(wires, "b")
    client = wires.clients["sb"]
    for name in "ac":
        wires.cut("b", name)
    client.withdraw(next(iter(client.subscriptions)))
    again = client.subscribe("topic = 'new' AND x > 1")
    number = next(number for who, number in wires.ends if who == "sb")
    at, there = wires.ends["sb", number]
    wires.do(at, wires.brokers[at].received(there, client.take(), 0.0))
    assert Placed(again) in wires.saw("sb", Placed)


def test_a_broker_that_joins_a_topic_waits_for_one_of_its_brokers_that_is_away() -> None:
    wires = Wires(*RING)
    subscriber(wires, "a")
    for name in "bd":
        wires.cut("a", name)
    subscriber(wires, "b")
    tick(wires, 1.0, 3.0)
    assert "brokers have not answered: a" in str(wires.saw("sb", Waits))
    wires.join("a", "b")
    tick(wires, 5.0)
    assert len(wires.saw("sb", Placed)) == 1


def test_k_connected_is_asked_for_where_it_was_promised() -> None:
    wires = Wires(*RING, settings=MeshSettings(patience=0.0, connected=2))
    for name in "abc":
        subscriber(wires, name)
    tick(wires, 1.0, 3.0)
    assert "topic 'new' is not 2-connected among a, b, c" in str(wires.saw("sc", Waits))
    subscriber(wires, "d")
    assert all(wires.saw(f"s{name}", Placed) for name in "abcd")


def test_an_advertisement_need_not_name_topics() -> None:
    wires = Wires(*RING)
    subscriber(wires, "b")
    publisher(wires, "a", "TRUE")
    wires.publish("pa", "new", 1)
    assert wires.received("sb") == [b"1"]
    assert wires.saw("pa", Acknowledged) == [Acknowledged(1)]
    assert "c" not in {to for _, to, message in wires.carried if isinstance(message, Flood)}


def test_the_states_of_a_topic_are_drawn_as_they_are() -> None:
    assert_drawn(mesh_membership.__doc__, mesh_membership.TOPIC_STATES)


def test_a_link_that_a_topic_needs_is_not_taken_away() -> None:
    wires = Wires(*RING)
    for name in "ab":
        subscriber(wires, name)
    broker = wires.brokers["a"]
    with pytest.raises(BadInput, match="topic 'new' would no longer be connected without it"):
        broker.prepare(Change("1", "unlink", ("a", "b")))
    broker.prepare(Change("2", "unlink", ("a", "d")))
    assert broker.stages() == {"2": "ready"}


def test_a_link_has_come_when_it_is_connected_and_is_gone_at_once() -> None:
    wires = Wires(("a", "b"), ("b", "c"))
    a, c = wires.brokers["a"], wires.brokers["c"]
    for broker in (a, c):
        broker.prepare(Change("1", "link", ("a", "c")))
        broker.commit("1")
    assert [broker.stages() for broker in (a, c)] == [{"1": "committed"}] * 2
    wires.join("a", "c")
    assert [broker.stages() for broker in (a, c)] == [{}] * 2
    a.prepare(Change("2", "unlink", ("a", "c")))
    a.commit("2")
    assert a.stages() == {}


def test_a_change_of_links_that_is_aborted_leaves_them_and_makes_way_for_another() -> None:
    a = Wires(("a", "b"), ("b", "c")).brokers["a"]
    a.prepare(Change("1", "link", ("a", "c")))
    with pytest.raises(BadInput, match="another change concerns the same link"):
        a.prepare(Change("2", "link", ("a", "c")))
    assert Report("1", "aborted") in a.abort("1")
    assert (a.stages(), set(a.interest.links)) == ({}, {"b"})
    assert Report("2", "ready") in a.prepare(Change("2", "link", ("a", "c")))
    a.commit("2")
    assert (a.stages(), set(a.interest.links)) == ({"2": "committed"}, {"b", "c"})
    with pytest.raises(BadInput, match="is being carried out and cannot be aborted any more"):
        a.abort("2")


def test_topics_on_which_a_client_has_published_are_the_brokers_after_a_restart_too() -> None:
    """The client's advertisement names none."""
    wires = Wires(*RING)
    subscriber(wires, "b")
    broker = wires.brokers["a"]
    advertised = broker.received(99, [ClientHello("p", [("a1", "TRUE")], [])], 0.0)
    published = broker.received(99, [Run("p#1", [1], [event("new", 1)], 0)], 0.0)
    stored = {each.key: each.value for each in (*advertised, *published) if isinstance(each, Store)}
    again = MeshBroker("a", ["b", "d"], SOON, 2, {key: value for key, value in stored.items() if value})
    assert set(again.interest.own) == {"new"}
    assert again.membership.states == {"new": TopicState.JOINING}


@pytest.mark.parametrize(
    ("k", "restored", "heard", "ready"),
    [
        (2, False, 1, False),
        (2, False, 2, True),
        (2, True, 2, False),
        (2, True, 3, True),
        (3, False, 1, True),
        (3, True, 1, False),
        (3, True, 2, True),
    ],
)
def test_k_minus_one_neighbours_may_be_away_when_a_topic_is_joined_and_one_less_after_a_restart(
    k: int, restored: bool, heard: int, ready: bool
) -> None:
    interest = MeshInterest("bcd", k, 0.0)
    interest.join("new", restored)
    for link in [*interest.links.values()][:heard]:
        link.connection = 1
        interest.heard(link, Update(subscriptions=[("new", "1")], all_subscriptions=True))
        interest.hear_positions(link, Positions([("new", interest.own["new"].mark)]))
    assert interest.newly_ready(1.0) == (["new"] if ready else [])


@pytest.mark.parametrize(
    ("k", "aware", "members", "missing"),
    [
        (3, "bc", "", []),
        (3, "b", "", ["c", "d", "e"]),
        (2, "bc", "", ["d", "e"]),
        (2, "bcd", "", []),
        (2, "bcd", "e", ["e"]),
        (9, "bc", "", []),
        (9, "b", "", ["c", "d", "e"]),
    ],
)
def test_fewer_than_k_and_less_than_half_may_not_know_our_roster(
    k: int, aware: str, members: str, missing: list[str]
) -> None:
    rosters = Rosters("a", 1, {name: MeshLink(name) for name in "bcde"}, k)
    for name in "bcde":
        rosters.heard(Roster(name, 1, 0, sorted({*"abcde"} - {name}), [], []), name)
    number = rosters.say({})
    rosters.known(Known("a", number, [*aware]))
    assert rosters.unaware(number, members) == missing


def test_a_broker_that_has_not_heard_of_all_others_does_not_say_what_it_knows() -> None:
    """It has forgotten what it said before a restart: an earlier answer may have been taken for its word."""
    link = MeshLink("b")
    rosters = Rosters("a", 1, {"b": link}, 2)
    rosters.heard(Roster("b", 5, 0, ["a", "c"], [], []), "b")
    link.told_all = True
    assert (rosters.take_known(), rosters.informed, rosters.unknown()) == ([], False, ["c"])
    rosters.heard(Roster("c", 7, 0, ["b"], [], []), "b")
    assert rosters.take_known() == [("b", Known("b", 5, ["a"])), ("b", Known("c", 7, ["a"]))]
    assert (rosters.take_known(), rosters.informed) == ([], True)


def test_only_a_roster_with_a_higher_number_is_news() -> None:
    rosters = Rosters("a", 1, {"b": MeshLink("b")}, 2)
    news = [rosters.heard(Roster("b", number, 0, ["a"], [], []), "b") for number in (2, 2, 1, 3)]
    assert news == [True, False, False, True]
    assert not rosters.heard(Roster("a", 10**9, 0, ["b"], [], []), "b"), "it is our own, of an earlier life"


def test_a_filter_that_is_withdrawn_waits_no_longer() -> None:
    wires = Wires(*RING)
    subscriber(wires, "a")
    subscriber(wires, "c")
    client = wires.clients["sc"]
    client.withdraw(next(iter(client.subscriptions)))
    wires.say("sc")
    tick(wires, 1.0, 3.0, 4.0)
    assert not wires.saw("sc", Waits)


def test_every_change_of_interest_is_counted() -> None:
    """What was concluded from it before no longer holds."""
    interest = MeshInterest(["b"], 2, 0.0)
    link = interest.links["b"]
    link.connection = 1
    steps: list[Callable[[], object]] = [
        lambda: interest.join("new", restored=False),
        lambda: interest.heard(link, Update(subscriptions=[("new", "1")], all_subscriptions=True)),
        lambda: interest.hear_positions(link, Positions([("new", interest.own["new"].mark)])),
        lambda: interest.newly_ready(1.0),
        lambda: interest.heard_elsewhere(link, {"new": "1", "other": "1"}),
        lambda: interest.heard_elsewhere(link, {}),
        lambda: interest.drop("new"),
        lambda: interest.unlink(link),
    ]
    for step in steps:
        before = interest.changes
        step()
        assert interest.changes > before


def test_after_a_restart_what_was_in_place_is_so_and_what_waited_waits() -> None:
    session = msgspec.msgpack.encode([{}, {"s1": "topic = 'new'", "s2": "topic = 'late'"}])
    stored = {
        "session/s": session,
        "topic/new": b"placed",
        "topic/late": b"joined",
        "topic/relayed": b"settled",
        "topic/idle": b"joined",
    }
    broker = MeshBroker("a", ["b", "d"], SOON, 2, stored)
    assert broker.membership.states == {
        "new": TopicState.PLACED,
        "late": TopicState.JOINING,
        "relayed": TopicState.RELAY,
        "idle": TopicState.IDLE,
    }


@pytest.mark.parametrize(
    ("links", "level", "connected"),
    [
        ("", 1, True),
        ("ab", 1, True),
        ("ab cd", 1, False),
        ("ab bc", 1, True),
        ("ab bc", 2, False),
        ("ab bc ca", 2, True),
        ("ab bc cd da", 2, True),
        ("ab bc cd da", 3, False),
        ("ab bc cd da ac bd", 3, True),
        ("ab bc cd de ea ac bd ce da eb", 4, True),
    ],
)
def test_how_connected_a_graph_is(links: str, level: int, connected: bool) -> None:
    graph: dict[str, set[str]] = {name: set() for name in links.replace(" ", "")}
    for pair in links.split():
        graph[pair[0]].add(pair[1])
        graph[pair[1]].add(pair[0])
    assert is_connected(graph, level) is connected
