"""What peers may and may not do, message by message."""

import pytest

from regraft.broker.core import Broker, BrokerSettings, Close, Effect, Send, Store
from regraft.broker.core.mesh import MeshBroker
from regraft.protocol import events
from regraft.protocol.messages import (
    VERSION,
    AnyMessage,
    Bye,
    Claim,
    ClientHello,
    Confirm,
    LinkHello,
    Refused,
    Run,
    Settled,
    Subscribe,
    Update,
    Withdraw,
)


def hello(name: str = "c", visit: int = 1) -> ClientHello:
    return ClientHello(name, [], [], visit)


def refusals(effects: list[Effect]) -> list[str]:
    messages = [effect.message for effect in effects if isinstance(effect, Send)]
    return [message.reason for message in messages if isinstance(message, Refused)]


@pytest.mark.parametrize("core", [Broker, MeshBroker])
def test_nothing_is_heard_after_a_goodbye_not_even_a_hello(core: type[Broker] | type[MeshBroker]) -> None:
    broker = core("b0", ["b1"])
    effects = broker.received(1, [hello(), Bye(), LinkHello("b1", 1), hello("other")], 0.0)
    assert any(isinstance(effect, Close) for effect in effects)
    assert not any(isinstance(effect, Send) and isinstance(effect.message, LinkHello) for effect in effects)
    assert broker.received(1, [LinkHello("b1", 1)], 0.0) == []


def test_a_broker_that_has_been_replaced_is_not_taken_back_by_its_neighbours() -> None:
    """It may not know yet: of two with one id, the one with the higher life is right."""
    broker = Broker("b0", ["b1"], BrokerSettings(fenced=True))
    broker.received(1, [LinkHello("b1", 1)], 0.0)
    broker.received(2, [LinkHello("b1", 2)], 1.0)
    effects = broker.received(3, [LinkHello("b1", 1)], 2.0)
    assert effects == [Close(3, "'b1' has been replaced by a deputy")]
    assert broker.forwarding.links["b1"].connection == 2


@pytest.mark.parametrize("core", [Broker, MeshBroker])
def test_nothing_is_heard_after_a_fault(core: type[Broker] | type[MeshBroker]) -> None:
    broker = core("b0", ["b1"])
    effects = broker.received(1, [Subscribe("s1", "TRUE"), hello()], 0.0)
    assert refusals(effects) == ["Subscribe: a connection begins with a hello"]
    assert broker.received(1, [hello()], 0.0) == []


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([LinkHello("b9", 1)], "hello: 'b9' is not a neighbour of 'b0'"),
        (
            [ClientHello("c", [], [], 1, version=VERSION + 1)],
            f"hello: protocol version {VERSION + 1}, this broker speaks {VERSION}",
        ),
        ([hello(), hello()], "hello: comes once, at the beginning"),
        ([hello(), Update()], "Update: not a message that this peer may send"),
        ([hello("a#b")], "hello: a client's name has 1 to 255 bytes, and no '#' or '/'"),
        ([hello(), Run("other#1", [1], [b""], 0)], "run: 'other#1' is not a publisher of this client"),
        (
            [hello(), Run("c#1", [2, 1], [b"", b""], 0)],
            "run: numbers must ascend from 1, one for each event, and at least one",
        ),
        (
            [hello(), Run("c#1", [1, 2], [bytes(events.EVENT_BYTES), bytes(events.EVENT_BYTES + 1)], 0)],
            f"run: an event may have {events.EVENT_BYTES} bytes, one is longer",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused_with_the_rule(said: list[AnyMessage], reason: str) -> None:
    assert refusals(Broker("b0", ["b1"]).received(1, said, 0.0)) == [reason]


def test_a_neighbour_can_not_take_the_filters_of_a_client() -> None:
    broker = Broker("b0", ["b1"])
    broker.received(1, [ClientHello("c", [], [("s1", "TRUE")], 1)], 0.0)
    broker.received(2, [LinkHello("b1", 1)], 0.0)
    effects = broker.received(2, [Update(subscriptions=[("b0/c/s1", "FALSE")])], 0.0)
    assert refusals(effects) == ["subscription 'b0/c/s1': belongs to @c, not to b1"]


def test_a_session_is_stored_once_however_much_a_client_says_at_once() -> None:
    broker = Broker("b0", [])
    subscribes = [Subscribe(f"s{at}", f"x > {at}") for at in range(50)]
    said: list[AnyMessage] = [hello(), *subscribes, *[Withdraw("q")] * 50]
    assert len([effect for effect in broker.received(1, said, 0.0) if isinstance(effect, Store)]) == 1


@pytest.mark.parametrize(("visit", "asks"), [(2, False), (3, True)])
def test_other_brokers_are_asked_for_a_session_if_the_client_may_have_been_there_since(
    visit: int, asks: bool
) -> None:
    broker = Broker("b0", ["b1"])
    broker.received(1, [LinkHello("b1", 1), Update(all_advertisements=True, all_subscriptions=True)], 0.0)
    broker.received(2, [hello()], 0.0)
    broker.closed(2, 1.0)
    effects = broker.received(3, [ClientHello("c", [], [], visit, home="b0")], 2.0)
    asked = [each for each in effects if isinstance(each, Send) and isinstance(each.message, Claim)]
    assert [each.connection for each in asked] == ([1] if asks else [])


def test_who_has_not_answered_is_asked_again_and_all_are_told_that_the_client_is_alive() -> None:
    broker = Broker("b0", ["x", "y"])
    for connection, name in ((1, "x"), (2, "y")):
        broker.received(connection, [LinkHello(name, 1)], 0.0)

    def asked(effects: list[Effect]) -> list[tuple[int, bool]]:
        sends = [each for each in effects if isinstance(each, Send)]
        return [(each.connection, each.message.answered) for each in sends if isinstance(each.message, Claim)]

    assert asked(broker.received(3, [ClientHello("c", [], [], 3, home="x")], 0.0)) == [(1, False), (2, False)]
    assert asked(broker.tick(0.9)) == []
    assert asked(broker.tick(1.1)) == [(1, True), (2, True), (1, False), (2, False)]


def test_confirmations_of_what_was_never_sent_change_nothing() -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello()], 0.0)
    assert broker.received(1, [Confirm("p#1", [1, 5, 7]), Confirm("p#1", [9, 2])], 0.0) == []


def test_a_client_that_confirms_nothing_is_disconnected_where_that_is_wished() -> None:
    broker = Broker("b0", [], BrokerSettings(slow_seconds=5.0))
    broker.received(1, [ClientHello("p", [("a1", "TRUE")], [], 1), Settled()], 0.0)
    broker.received(2, [ClientHello("s", [], [("s1", "TRUE")], 1), Settled()], 0.0)
    event = events.encode(events.Event({}))
    effects = broker.received(1, [Run("p#1", [1], [event], 0)], 1.0)
    assert not any(isinstance(effect, Send) and isinstance(effect.message, Confirm) for effect in effects)
    assert refusals(broker.tick(4.0)) == []
    effects = broker.tick(6.0)
    assert refusals(effects) == ["too slow: nothing confirmed for 6 s; the session has ended"]
    assert Send(1, Confirm("p#1", [1, 1], 0)) in effects
    assert {effect.connection for effect in effects if isinstance(effect, Close)} == {2}


def test_a_client_that_never_settles_does_not_hold_up_the_others() -> None:
    broker = Broker("b0", [], BrokerSettings(settle_seconds=5.0))
    broker.received(1, [ClientHello("p", [("a1", "TRUE")], [], 1)], 0.0)
    assert refusals(broker.tick(6.0)) == ["hello: not followed in time by what was unconfirmed, and Settled"]


def test_what_is_left_of_an_earlier_visit_is_not_sent_to_where_the_publisher_is_now() -> None:
    """The brokers there get it from the publisher, who sends it again."""
    broker = Broker("b0", ["x", "y"])
    for connection, name in ((1, "x"), (2, "y")):
        filters = {"advertisements": [(f"{name}/q/a1", "TRUE")], "subscriptions": [(f"{name}/s/s1", "TRUE")]}
        all_of_it = Update(**filters, all_advertisements=True, all_subscriptions=True)  # type: ignore[arg-type]
        broker.received(connection, [LinkHello(name, 1), all_of_it, Settled()], 0.0)

    def sent(connection: int, seq: int, visit: int) -> list[tuple[int, list[int]]]:
        run = Run("p#1", [seq], [events.encode(events.Event({}))], 0, visit)
        effects = broker.received(connection, [run], 1.0)
        sends = [each for each in effects if isinstance(each, Send)]
        return [(each.connection, each.message.seqs) for each in sends if isinstance(each.message, Run)]

    assert sent(1, 1, visit=1) == [(2, [1])]
    assert sent(2, 3, visit=2) == [(1, [3])]
    assert sent(1, 2, visit=1) == []


def test_what_is_observed_is_what_was_published_carried_and_delivered() -> None:
    broker = Broker("b0", ["x"], BrokerSettings(observe=True))
    wanted = Update(subscriptions=[("x/s/s1", "TRUE")], all_advertisements=True, all_subscriptions=True)
    broker.received(1, [LinkHello("x", 1), wanted, Settled()], 0.0)
    broker.received(2, [ClientHello("p", [("a1", "TRUE")], [], 1), Settled()], 0.0)
    broker.received(3, [ClientHello("s", [], [("s1", "TRUE")], 1), Settled()], 0.0)
    broker.received(1, [Update(placed_advertisements=["b0/p/a1"], placed_subscriptions=["b0/s/s1"])], 0.0)
    broker.received(2, [Run("p#1", [1], [events.encode(events.Event({}))], 0, 1)], 1.0)
    broker.received(3, [Confirm("p#1", [1, 1])], 2.0)
    facts = [(fact.kind, fact.source, fact.to, fact.under) for fact in broker.forwarding.facts]
    assert facts == [
        ("publication", "@p", "", None),
        ("hop", "@p", "x", None),
        ("delivery", "@p", "@s", None),
    ]
