"""Clients at one broker: hellos, filters, windows, publications, and what is stored of them."""

from typing import Any

import pytest

from regraft.broker.core import Broker, BrokerSettings, Close, Effect, Send, Store
from regraft.broker.core.forwarding import GIVE_UP_AFTER, GIVE_UP_FOR
from regraft.broker.core.peers import Session
from regraft.broker.core.sessions import FEW_FILTERS, FILTER_BYTES, MOST_WINDOW
from regraft.protocol import events
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    Bye,
    ClientHello,
    Confirm,
    InPlace,
    LinkHello,
    Refused,
    Run,
    Settled,
    Subscribe,
    Welcome,
    Withdraw,
)


def hello(name: str = "c", visit: int = 1, **more: Any) -> ClientHello:
    fields: dict[str, Any] = {"advertisements": [], "subscriptions": []}
    return ClientHello(name, **{**fields, **more}, visit=visit)


def sent(effects: list[Effect], to: int = 1) -> list[AnyMessage]:
    return [each.message for each in effects if isinstance(each, Send) and each.connection == to]


def closed(effects: list[Effect]) -> list[tuple[int, str]]:
    return [(each.connection, each.reason) for each in effects if isinstance(each, Close)]


def stored(effects: list[Effect]) -> dict[str, bytes | None]:
    return {each.key: each.value for each in effects if isinstance(each, Store)}


def run(first: int, *attributes: dict[str, Any]) -> Run:
    encoded = [events.encode(events.Event(each)) for each in attributes]
    return Run("p#1", list(range(first, first + len(encoded))), encoded, 0)


def session(broker: Broker, name: str = "c") -> Session:
    return broker.forwarding.sessions[f"@{name}"]


def test_the_number_of_a_connection_that_has_ended_may_be_used_again() -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello(), Bye()], 0.0)
    assert broker.received(1, [hello()], 0.0) == []
    broker.closed(1, 0.0)
    assert Welcome("b0", 4096, False) in sent(broker.received(1, [hello(visit=2)], 0.0))


def test_only_who_dials_says_hello_first() -> None:
    broker = Broker("b1", ["b0", "b2"])
    assert broker.opened(1) == []
    assert broker.opened(2, "b2") == [Send(2, LinkHello("b1", 1))]
    assert LinkHello("b1", 1) in sent(broker.received(1, [LinkHello("b0", 1)], 0.0))
    assert LinkHello("b1", 1) not in sent(broker.received(2, [LinkHello("b2", 1)], 0.0), 2)


def test_a_client_that_was_here_before_is_known() -> None:
    broker = Broker("b0", [], BrokerSettings(window=7))
    assert sent(broker.received(1, [hello()], 0.0)) == [Welcome("b0", 7, False)]
    effects = broker.received(2, [hello(visit=2)], 1.0)
    assert closed(effects) == [(1, "the client has connected anew")]
    assert sent(effects, 2) == [Welcome("b0", 7, True)]
    assert broker.received(1, [Subscribe("s", "TRUE")], 1.0) == [], "its earlier connection is heard no more"
    assert session(broker).subscriptions == {}
    effects = broker.received(3, [hello(visit=1)], 2.0)
    assert [each.reason for each in sent(effects, 3) if isinstance(each, Refused)] == [
        "hello: 'c' has connected anew since"
    ]
    assert session(broker).connection == 2
    assert sent(broker.received(4, [hello(visit=2)], 3.0), 4) == [Welcome("b0", 7, True)]


@pytest.mark.parametrize(
    ("asked", "given"), [(0, 1), (1, 1), (5, 5), (MOST_WINDOW, MOST_WINDOW), (10**9, MOST_WINDOW)]
)
def test_a_client_may_choose_its_window_within_limits(asked: int, given: int) -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello(window=asked)], 0.0)
    assert session(broker).window == given


def test_the_filters_of_a_hello_replace_those_that_were_known() -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello(subscriptions=[("s1", "a = 1"), ("s2", "a = 2")])], 0.0)
    wanted = [("s2", "a = 3"), ("s3", "a = 4")]
    effects = broker.received(2, [hello(visit=2, subscriptions=wanted, advertisements=[("a1", "TRUE")])], 0.0)
    assert session(broker).subscriptions == dict(wanted)
    assert session(broker).advertisements == {"a1": "TRUE"}
    assert {each.id for each in sent(effects, 2) if isinstance(each, InPlace)} == {"s2", "s3", "a1"}
    assert set(broker.tables.subscriptions) == {"b0/c/s2", "b0/c/s3"}
    assert set(broker.tables.advertisements) == {"b0/c/a1"}


def test_many_filters_are_put_into_the_tables_one_by_one_before_the_hello() -> None:
    broker = Broker("b0", [])
    few = hello(subscriptions=[(f"s{at}", f"a = {at}") for at in range(FEW_FILTERS)])
    assert list(broker.sessions.expecting(few, 0.0)) == []
    half = FEW_FILTERS // 2 + 1
    many = hello(
        advertisements=[(f"a{at}", f"a = {at}") for at in range(half)],
        subscriptions=[(f"s{at}", f"a = {at}") for at in range(half)],
    )
    steps = broker.sessions.expecting(many, 0.0)
    next(steps)
    assert list(session(broker).advertisements) == ["a0"]
    assert len(list(steps)) == 2 * half - 1
    assert len(session(broker).subscriptions) == half
    assert sent(broker.received(1, [many], 0.0))[0] == Welcome("b0", 4096, False)


def test_expected_filters_stop_when_the_client_has_connected_anew() -> None:
    broker = Broker("b0", [])
    old = hello(subscriptions=[(f"s{at}", f"a = {at}") for at in range(20)])
    steps = broker.sessions.expecting(old, 0.0)
    next(steps)
    broker.received(1, [hello(visit=2)], 0.0)
    assert list(steps) == []
    assert session(broker).subscriptions == {}


def test_a_client_may_have_so_many_filters_and_so_many_bytes_of_them() -> None:
    broker = Broker("b0", [], BrokerSettings(filters_per_client=2))
    said: list[AnyMessage] = [hello(), *(Subscribe(f"s{at}", f"a = {at}") for at in range(3))]
    effects = broker.received(1, [*said, Subscribe("s1", "a = 9"), Advertise("a1", "TRUE")], 0.0)
    assert [each for each in sent(effects) if isinstance(each, Refused)] == [
        Refused("s2", "a client may have 2 filters, this is one more")
    ]
    assert session(broker).subscriptions == {"s0": "a = 0", "s1": "a = 9"}
    assert session(broker).advertisements == {"a1": "TRUE"}


def test_the_filters_of_a_client_have_so_many_bytes_in_all() -> None:
    def of(bytes: int) -> str:
        """A filter of so many bytes, which has half as many letters."""
        return "a = '" + "ü" * ((bytes - 6) // 2) + "'"

    broker = Broker("b0", [])
    most = FILTER_BYTES // 128
    first = [Subscribe(f"s{at}", of(most)) for at in range(64)]
    effects = broker.received(1, [hello(), *first, *(Advertise(f"a{at}", of(most)) for at in range(63))], 0.0)
    effects += broker.received(1, [Advertise("a63", of(most - 2)), Subscribe("last", "b")], 0.0)
    assert not [each for each in sent(effects) if isinstance(each, Refused)]
    effects = broker.received(1, [Subscribe("more", "bc")], 0.0)
    assert Refused("more", f"a client's filters may have {FILTER_BYTES} bytes in all") in sent(effects)


def test_a_filter_that_is_none_is_refused_and_changes_nothing() -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello(), Subscribe("s", "a = 1")], 0.0)
    effects = broker.received(1, [Subscribe("s", "a =")], 0.0)
    (refused,) = [each for each in sent(effects) if isinstance(each, Refused)]
    assert refused.about == "s"
    assert session(broker).subscriptions == {"s": "a = 1"}
    assert stored(effects) == {}


def test_what_is_withdrawn_is_told_to_be_in_place_whatever_it_was() -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello(subscriptions=[("s", "a = 1")], advertisements=[("a", "TRUE")])], 0.0)
    for id in ("s", "a", "unknown"):
        assert InPlace(id) in sent(broker.received(1, [Withdraw(id)], 0.0))
    assert (session(broker).subscriptions, session(broker).advertisements) == ({}, {})
    assert (broker.tables.subscriptions, broker.tables.advertisements) == ({}, {})


def test_a_broker_that_comes_back_has_the_filters_of_its_clients() -> None:
    before = Broker("b0", [])
    wanted: dict[str, Any] = {"subscriptions": [("s", "a = 1")], "advertisements": [("a", "b = 2")]}
    kept = stored(before.received(1, [hello(visit=4, **wanted), Settled()], 0.0))
    after = Broker("b0", [], stored={key: value for key, value in kept.items() if value is not None}, life=1)
    again = session(after)
    assert (again.subscriptions, again.advertisements) == ({"s": "a = 1"}, {"a": "b = 2"})
    assert (again.visit, again.broken, again.connection) == (4, 4, None)
    assert set(after.tables.subscriptions) == {"b0/c/s"}
    assert set(after.tables.advertisements) == {"b0/c/a"}
    assert sent(after.received(1, [hello(visit=5, **wanted)], 1.0))[0] == Welcome("b0", 4096, True)


def test_a_goodbye_ends_the_session_and_removes_what_was_stored() -> None:
    broker = Broker("b0", [])
    broker.received(1, [hello(subscriptions=[("s", "a = 1")])], 0.0)
    effects = broker.received(1, [Bye()], 0.0)
    assert stored(effects) == {"session/c": None}
    assert broker.forwarding.sessions == {}
    assert broker.tables.subscriptions == {}


def pair(settings: BrokerSettings = BrokerSettings(), **of_subscriber: Any) -> Broker:  # noqa: B008 — frozen
    """A publisher (connection 1) and a subscriber (connection 2) that wants x = 1."""
    broker = Broker("b0", [], settings)
    broker.received(1, [hello("p", advertisements=[("a", "TRUE")]), Settled()], 0.0)
    broker.received(2, [hello("s", subscriptions=[("s", "x = 1")], **of_subscriber), Settled()], 0.0)
    return broker


def numbers(effects: list[Effect], to: int = 2) -> list[int]:
    return [seq for each in sent(effects, to) if isinstance(each, Run) for seq in each.seqs]


def test_a_run_is_cut_where_its_targets_change() -> None:
    broker = pair()
    wanted = [{"x": 1}, {"x": 1}, {"x": 2}, {"x": 1}, {"x": 3}, {"x": 2}]
    effects = broker.received(1, [run(1, *wanted)], 0.0)
    assert numbers(effects) == [1, 2, 4]
    assert Confirm("p#1", [3, 3, 5, 6], 0) in sent(effects), "nobody wants these"
    assert Confirm("p#1", [1, 2], 0) in sent(broker.received(2, [Confirm("p#1", [1, 2])], 0.0))
    assert Confirm("p#1", [4, 4], 0) in sent(broker.received(2, [Confirm("p#1", [4, 4])], 0.0))


def test_a_client_is_sent_no_more_than_its_window() -> None:
    broker = pair(window=2)
    assert numbers(broker.received(1, [run(1, *[{"x": 1}] * 5)], 0.0)) == [1, 2]
    assert numbers(broker.received(2, [Confirm("p#1", [1, 1])], 0.0)) == [3]
    assert numbers(broker.received(2, [Confirm("p#1", [2, 3])], 0.0)) == [4, 5]


def test_only_what_was_advertised_is_routed_and_the_rest_is_refused() -> None:
    broker = Broker("b0", [])
    wanted = [("a", "x < 3"), ("b", "x > 7")]
    broker.received(1, [hello("p", advertisements=wanted), Settled()], 0.0)
    broker.received(2, [hello("s", subscriptions=[("s", "x > 0")]), Settled()], 0.0)
    effects = broker.received(1, [run(1, {"x": 1}, {"x": 5}, {"x": 9}, {"y": 1})], 0.0)
    assert numbers(effects) == [1, 3]
    assert [each for each in sent(effects) if isinstance(each, Refused)] == [
        Refused("p#1#2", "not advertised"),
        Refused("p#1#4", "not advertised"),
    ]


def test_the_cache_of_routes_learns_little_where_all_events_differ() -> None:
    broker = pair()
    at = 0

    def cached(count: int) -> int:
        nonlocal at
        for _ in range(count // 32):
            broker.received(1, [run(at + 1, *({"x": 2, "y": at + each} for each in range(32)))], 0.0)
            at += 32
        return len(broker.forwarding._heads["@p"].ways)

    assert cached(32) == 32
    assert cached(64) == GIVE_UP_AFTER - 1, "the miss that is counted first is not the first that is learned"
    assert cached(GIVE_UP_FOR - 96 - 32) == GIVE_UP_AFTER - 1
    assert cached(128) > GIVE_UP_AFTER
