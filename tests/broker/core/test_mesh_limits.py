"""What one peer can do to a broker of a mesh: what it stores and remembers is bounded, faults are told."""

import pytest

from regraft.broker.core.effects import Close, Effect, Send, Store
from regraft.broker.core.mesh import MeshBroker, MeshSettings
from regraft.broker.core.sessions import NAME_BYTES
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
    Withdraw,
)

SOON = MeshSettings(patience=0.0)


def stores(effects: list[Effect]) -> list[str]:
    return [effect.key for effect in effects if isinstance(effect, Store)]


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
        (Positions([("red", "1")], [("p#1/red", -1, [])]), "not between"),
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
    assert len(broker.sessions._publishing) == 2
    assert len(broker.flooding.streams.by_name) == 2
