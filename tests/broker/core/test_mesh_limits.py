"""What one peer can do to a broker of a mesh: what it stores and remembers is bounded, faults are told."""

import pytest

from regraft.broker.core.effects import Close, Effect, Send, Store
from regraft.broker.core.mesh import MeshBroker, MeshSettings
from regraft.broker.core.mesh_outbox import MOST_BYTES
from regraft.protocol import events
from regraft.protocol.messages import (
    AnyMessage,
    Bye,
    ClientHello,
    Confirm,
    Flood,
    InPlace,
    LinkHello,
    Positions,
    Refused,
    Run,
    Subscribe,
    Update,
    Withdraw,
)
from regraft.protocol.names import NAME_BYTES
from regraft.wire.numbered import Wire

SOON = MeshSettings(patience=0.0)
SUBSCRIBED = events.encode([{}, {"s1": "topic = 'red'"}])
"""A session as it is stored."""


def stores(effects: list[Effect]) -> list[str]:
    """Of sessions: that the broker has a topic is remembered as well."""
    keys = [effect.key for effect in effects if isinstance(effect, Store)]
    return [key for key in keys if not key.startswith("topic/")]


def test_a_session_is_stored_once_for_all_that_comes_together() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [], [])], 0.0)
    many = [Subscribe(f"s{number}", "topic = 'red'") for number in range(50)]
    assert stores(broker.received(1, many, 0.0)) == ["session/s"]
    assert stores(broker.received(1, [Withdraw("s1"), Withdraw("s2")], 0.0)) == ["session/s"]
    assert len(broker.sessions.all["@s"].subscriptions) == 48


def test_withdrawing_what_is_unknown_stores_nothing_and_is_answered() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [], [])], 0.0)
    effects = broker.received(1, [Withdraw("unknown")], 0.0)
    assert effects == [Send(1, InPlace("unknown"))]


def test_a_session_that_ended_is_not_stored_again() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [], [])], 0.0)
    effects = broker.received(1, [Subscribe("s1", "topic = 'red'"), Bye()], 0.0)
    assert [effect for effect in effects if isinstance(effect, Store)] == [Store("session/s", None)]


EVENT = events.encode(events.Event({"topic": "red"}))
LONG = events.encode(events.Event({"topic": "red"}, bytes(events.EVENT_BYTES)))
POISON = events.encode([{"topic": "red", "q": "z" * 5000}, 7])


def closed_because(effects: list[Effect]) -> str:
    return next((effect.reason for effect in effects if isinstance(effect, Close)), "")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Run("s#1", [], [], 0), "at least one"),
        (Run("s#1", [2, 1], [EVENT, EVENT], 0), "ascend"),
        (Run("s#1", [0], [EVENT], 0), "ascend"),
        (Run("s#1", [1, 2], [EVENT], 0), "one for each event"),
        (Run("s#1", [2**64 - 1], [EVENT], 0), "numbers end"),
        (Run("other#1", [1], [EVENT], 0), "not a publisher"),
        (Run("s#1/red", [1], [EVENT], 0), "not a publisher"),
        (Run("s#" + "1" * 300, [1], [EVENT], 0), "not a publisher"),
        (Run("s#1", [1], [LONG], 0), "one is longer"),
        (Confirm("p#1/red", [1] * 5000), "ranges are allowed"),
    ],
)
def test_a_client_that_breaks_a_rule_is_closed_with_the_reason(message: AnyMessage, reason: str) -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [("a1", "topic = 'red'")], [])], 0.0)
    effects = broker.received(1, [message] * 1000, 0.0)
    assert reason in closed_because(effects)
    assert len(effects) == 2
    assert broker.tick(1.0) == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Flood("p#1/red", 0, 0, [4, 3], [EVENT, EVENT], 0), "ascend"),
        (Flood("p#1/red", -5, 0, [4], [EVENT], 0), "ascend"),
        (Flood("p#1/red", 4, 0, [4], [EVENT], 0), "ascend"),
        (Flood("p#1/red", 0, 0, [2**64 - 1], [EVENT], 0), "numbers end"),
        (Flood("p#1/red", 0, 0, [], [], 0), "at least one"),
        (Flood("p#1/red", 0, 0, [1], [EVENT, EVENT], 0), "one number for each"),
        (Flood("p#1", 0, 0, [1], [EVENT], 0), "name of a stream"),
        (Flood("p/red", 0, 0, [1], [EVENT], 0), "name of a stream"),
        (Flood("p" * 300 + "#1/red", 0, 0, [1], [EVENT], 0), "at most"),
        (Flood("p#1/red", 0, 0, [1], [LONG], 0), "one is longer"),
        (Flood("p#1/red", 0, 0, [1], [b"\xc1"], 0), "no event"),
        (Flood("p#1/red", 0, 0, [1], [POISON], 0), "no event"),
        (Positions([("red", "1")], [("red", 1, [])]), "name of a stream"),
        (Positions([("red", "1")], [("p#1/red", -2, [])]), "not between"),
        (Positions([("red", "1")], [("p#1/red", 1, [2**64 - 1])]), "not between"),
    ],
)
def test_a_neighbour_that_breaks_a_rule_is_closed_and_nothing_is_kept(
    message: AnyMessage, reason: str
) -> None:
    broker = MeshBroker("b", ["a"], SOON)
    broker.received(2, [ClientHello("s", [], [("s1", "topic = 'red'")])], 0.0)
    broker.received(1, [LinkHello("a", 1)], 0.0)
    assert reason in closed_because(broker.received(1, [message], 0.0))
    assert not broker.flooding.streams.by_name
    assert closed_because(broker.tick(1.0)) == ""


@pytest.mark.parametrize("event", [b"\xc1", POISON], ids=["no event", "data are no bytes"])
def test_what_is_no_event_is_refused_at_the_first_broker(event: bytes) -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [("a1", "topic = 'red'")], [("s1", "topic = 'red'")])], 0.0)
    effects = broker.received(1, [Run("s#1", [1, 2], [event, EVENT], 0)], 0.0)
    refused = [
        each.message for each in effects if isinstance(each, Send) and isinstance(each.message, Refused)
    ]
    assert [(each.about, "not an event" in each.reason) for each in refused] == [("s#1#1", True)]
    assert [each.message for each in effects if isinstance(each, Send) and isinstance(each.message, Run)] == [
        Run("s#1/red", [2], [EVENT], 0)
    ]


def test_names_have_a_limit() -> None:
    broker = MeshBroker("b", [], SOON)
    assert "bytes" in closed_because(broker.received(1, [ClientHello("s" * (NAME_BYTES + 1), [], [])], 0.0))
    broker.received(2, [ClientHello("s", [], [])], 0.0)
    (refused,) = broker.received(2, [Subscribe("s1", f"topic = '{'t' * (NAME_BYTES + 1)}'")], 0.0)
    assert isinstance(refused, Send)
    assert isinstance(refused.message, Refused)
    assert "topic's name" in refused.message.reason


def test_of_a_client_two_lives_are_remembered() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [("a1", "topic = 'red'")], [])], 0.0)
    broker.received(1, [Run(f"s#{life}", [1], [EVENT], 0) for life in range(1, 100)], 0.0)
    assert len(broker.sessions.publishing._publishing) == 2
    assert len(broker.flooding.streams.by_name) == 2


def numbered(number: int) -> bytes:
    return events.encode(events.Event({"topic": "red"}, b"%d" % number))


def ready_broker(settings: MeshSettings) -> MeshBroker:
    """A subscriber of red on connection 2, and a neighbour that knows the topic on connection 1."""
    broker = MeshBroker("b", ["a"], settings)
    broker.received(2, [ClientHello("s", [], [("s1", "topic = 'red'")])], 0.0)
    broker.received(1, [LinkHello("a", 1), Update(subscriptions=[("red", "1")], all_subscriptions=True)], 0.0)
    broker.received(1, [Positions([("red", "1")])], 0.0)
    return broker


def delivered(effects: list[Effect]) -> list[int]:
    runs = [each.message for each in effects if isinstance(each, Send) and isinstance(each.message, Run)]
    return [seq for run in runs for seq in run.seqs]


def pass_through(broker: MeshBroker, stream: str, now: float) -> None:
    """One publication of the stream comes and is let go."""
    broker.received(1, [Flood(stream, 0, 0, [1], [EVENT], 0), Confirm(stream, [1, 1])], now)
    broker.received(2, [Confirm(stream, [1, 1])], now)


def test_quiet_streams_are_forgotten_when_there_are_too_many() -> None:
    broker = ready_broker(MeshSettings(patience=0.0, streams=100, idle_seconds=5.0))
    for number in range(2000):
        pass_through(broker, f"client-{number}#1/red", number / 100)
        broker.tick(number / 100)
    assert len(broker.flooding.streams.by_name) <= 100 + 5 * 100 + 1
    broker.tick(100.0)
    assert len(broker.flooding.streams.by_name) == 90
    assert sum(map(len, broker.flooding.streams.by_topic.values())) == 90


@pytest.mark.parametrize("noticed", [True, False])
def test_a_client_that_is_back_gets_again_what_it_has_not_confirmed_though_it_filled_the_window(
    noticed: bool,
) -> None:
    """`noticed`: the end of its earlier connection, before the new one."""
    broker = ready_broker(SOON)
    hello = ClientHello("w", [], [("s1", "topic = 'red'")], window=1)
    broker.received(3, [hello], 0.0)
    floods = [Flood("p#1/red", seq - 1, 0, [seq], [numbered(seq)], 0) for seq in (1, 2)]
    effects = broker.received(1, floods, 0.0)
    assert delivered([each for each in effects if isinstance(each, Send) and each.connection == 3]) == [1]
    if noticed:
        broker.closed(3, 1.0)
    assert delivered(broker.received(4, [hello], 2.0)) == [1]
    assert delivered(broker.received(4, [Confirm("p#1/red", [1, 1])], 3.0)) == [2]


def test_a_stream_of_which_something_is_kept_is_not_forgotten() -> None:
    broker = ready_broker(MeshSettings(patience=0.0, streams=10, idle_seconds=5.0))
    broker.received(1, [Flood("kept#1/red", 0, 0, [1], [EVENT], 0)], 0.0)
    for number in range(20):
        pass_through(broker, f"client-{number}#1/red", 1.0)
    broker.tick(100.0)
    assert "kept#1/red" in broker.flooding.streams.by_name
    assert len(broker.flooding.streams.by_name) == 9


def test_a_forgotten_stream_goes_on_in_order_where_it_shows_up_again() -> None:
    broker = ready_broker(MeshSettings(patience=1.0, streams=0, idle_seconds=5.0))
    pass_through(broker, "p#1/red", 0.0)
    broker.tick(10.0)
    assert not broker.flooding.streams.by_name
    seven, six = (Flood("p#1/red", seq - 1, 0, [seq], [numbered(seq)], 0) for seq in (7, 6))
    assert delivered(broker.received(1, [seven], 20.0)) == []
    assert delivered(broker.received(1, [six], 20.5)) == []
    assert delivered(broker.tick(21.0)) == [6, 7]


def test_an_answer_that_is_partial_says_nothing_of_streams_it_does_not_mention() -> None:
    broker = MeshBroker("c", ["a", "b"], SOON, stored={"session/s": SUBSCRIBED})
    red = Update(subscriptions=[("red", "1")], all_subscriptions=True)
    for connection, name in ((1, "a"), (2, "b")):
        broker.received(connection, [LinkHello(name, 1), red], 0.0)
    broker.received(1, [Positions([("red", "1")], partial=True)], 0.0)
    broker.received(2, [Positions([("red", "1")], [("p#1/red", 7, [7])])], 0.0)
    assert broker.flooding.streams.by_name["p#1/red"].position == 7


def test_long_positions_go_in_parts_and_are_believed_when_the_last_has_come() -> None:
    broker = ready_broker(SOON)
    for number in range(20_000):
        broker.flooding.streams.open(f"client-{number}#1/red", 5)
    answers = broker.positions.answers(broker.interest.links["a"], ["red"])
    assert len(answers) > 1
    assert [answer.last for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert all(len(Wire().frame([answer])) < 2 * MOST_BYTES for answer in answers)
    other = MeshBroker("c", ["b"], SOON)
    other.received(2, [ClientHello("s", [], [("s1", "topic = 'red'")])], 0.0)
    other.received(1, [LinkHello("b", 1), Update(subscriptions=[("red", "1")], all_subscriptions=True)], 0.0)
    for answer in answers[:-1]:
        other.received(1, [answer], 0.0)
    assert not other.interest.is_ready("red")
    other.received(1, [answers[-1]], 0.0)
    assert {stream.position for stream in other.flooding.streams.on("red")} == {5}
    assert len(other.flooding.streams.by_name) == 20_000


def test_positions_on_several_topics_go_together_as_far_as_they_fit() -> None:
    broker = ready_broker(SOON)
    for topic, streams in (("x", 1), ("green", 6000), ("blue", 6000), ("y", 1)):
        broker.received(2, [Subscribe(f"s-{topic}", f"topic = '{topic}'")], 0.0)
        here = Positions([(topic, broker.interest.own[topic].mark)])
        broker.received(1, [Update(subscriptions=[(topic, "1")]), here], 0.0)
        for number in range(streams):
            broker.flooding.streams.open(f"client-{number}#1/{topic}", 5)
    answers = broker.positions.answers(broker.interest.links["a"], ["x", "green", "blue", "y"])
    assert [[name for name, _ in answer.topics] for answer in answers] == [["x", "green"], ["blue", "y"]]
    assert all(len(Wire().frame([answer])) < MOST_BYTES for answer in answers)


def test_what_goes_on_without_a_predecessor_comes_after_what_is_there() -> None:
    broker = ready_broker(MeshSettings(patience=1.0, streams=0, idle_seconds=5.0))
    pass_through(broker, "p#1/red", 0.0)
    broker.tick(10.0)
    known = Flood("p#1/red", 1, 0, [2], [numbered(2)], 0)
    begun_anew = [Flood("p#1/red", 0, 0, [seq], [numbered(seq)], 0) for seq in (3, 5)]
    broker.received(1, [known, *begun_anew], 20.0)
    assert delivered(broker.tick(21.0)) == [2, 3, 5]


def test_a_topic_that_began_with_us_does_not_make_a_latecomer_believed() -> None:
    """Neighbours that are away have promised what comes before: it is waited for."""
    broker = MeshBroker("c", ["a", "b", "w"], SOON)
    broker.received(9, [ClientHello("s", [], [("s1", "topic = 'red'")])], 0.0)
    red = Update(subscriptions=[("red", "1")], all_subscriptions=True)
    for connection, name in ((1, "a"), (2, "b")):
        asking = Positions([("red", "1")], known=False)
        broker.received(connection, [LinkHello(name, 1), red, asking], 0.0)
    broker.received(3, [LinkHello("w", 1), Update(all_subscriptions=True), Positions([("red", "1")])], 0.0)
    broker.tick(1.0)
    assert broker.interest.own["red"].anew
    for connection in (1, 2):
        broker.received(connection, [Positions([("red", "1")])], 1.0)
        broker.closed(connection, 2.0)
    late = Positions([("red", "1")], [("p#1/red", 5, [5, 6])])
    six = Flood("p#1/red", 5, 0, [6], [numbered(6)], 0)
    assert delivered(broker.received(3, [red, late, six], 3.0)) == []
    everything = Flood("p#1/red", 0, 0, [*range(1, 7)], [numbered(seq) for seq in range(1, 7)], 0)
    back: list[AnyMessage] = [
        LinkHello("a", 1),
        red,
        Positions([("red", "1")], [("p#1/red", 0, [5, 6])]),
        everything,
    ]
    assert delivered(broker.received(4, back, 4.0)) == [*range(1, 7)]
