"""Shifts under traffic: whatever the order of events, nothing is lost, repeated or reordered, and the
tables end up as if the overlay had always been like this; an abort leaves everything as it was.
"""

from collections.abc import Callable, Iterable
from itertools import count
from random import Random
from typing import TypeAlias

import pytest
from tests.broker.core.overlay import (
    ENDLESS,
    Links,
    Overlay,
    advertiser,
    come,
    leave,
    move,
    publish_one,
    subscriber,
)

from regraft.broker.core import Broker, Change, Effect, Hangup, Send, shift
from regraft.model import BadInput
from regraft.protocol import events
from regraft.protocol.messages import ClientHello, Welcome

FILTERS = ["x > 2", "x > 5", "x <= 3", "TRUE", "x > 1 AND x < 7", "k = 'a'"]

Published: TypeAlias = list[tuple[str, dict[str, events.Value]]]
"""The publishing client, and the attributes; `n` counts."""


def random_tree(random: Random, size: int) -> Links:
    return [(f"b{random.randrange(at)}", f"b{at}") for at in range(1, size)]


def a_shift(random: Random, links: Links, number: int) -> Change | None:
    """Some i–j that becomes i–k."""
    i, j = random.choice(links)[:: random.choice((1, -1))]
    others = [a if b == j else b for a, b in links if j in (a, b) and i not in (a, b)]
    return shift(f"c{number}", i, j, random.choice(others)) if others else None


def populate(overlay: Overlay, random: Random) -> dict[str, list[str]]:
    names = sorted(overlay.brokers)
    wanted = {}
    for at in range(4):
        wanted[f"s{at}"] = random.sample(FILTERS, 2)
        client = overlay.client(f"s{at}", random.choice(names))
        for text in wanted[f"s{at}"]:
            client.subscribe(text)
        overlay.say(f"s{at}")
    for at in range(2):
        overlay.client(f"p{at}", random.choice(names)).advertise("TRUE")
        overlay.say(f"p{at}")
    overlay.run()
    return wanted


def publish(overlay: Overlay, random: Random, published: Published) -> None:
    for name in ("p0", "p1"):
        batch = []
        for _ in range(random.randrange(4)):
            event: dict[str, events.Value] = {
                "x": random.randrange(9),
                "k": random.choice("ab"),
                "n": len(published),
            }
            published.append((name, event))
            batch.append(events.encode(events.Event(event)))
        overlay.clients[name].publish(batch, 0)
        overlay.say(name)


def check(overlay: Overlay, wanted: dict[str, list[str]], published: Published) -> None:
    """Every subscriber has received exactly what matches, in each publisher's order."""
    from regraft.filters import parse

    for name, texts in wanted.items():
        filters = [parse(text) for text in texts]
        for publisher in ("p0", "p1"):
            due = [e["n"] for p, e in published if p == publisher and any(f.matches(e) for f in filters)]
            got = [n for p, _, n in overlay.delivered[name] if p == f"{publisher}#1"]
            assert got == due, (name, publisher)
    assert all(overlay.clients[name].unacknowledged == 0 for name in ("p0", "p1"))
    assert all(not list(broker.forwarding.store) for broker in overlay.brokers.values())


@pytest.mark.parametrize("seed", range(150))
def test_shifts_under_traffic_lose_repeat_and_reorder_nothing(seed: int) -> None:
    random = Random(seed)
    links = random_tree(random, random.randrange(3, 8))
    overlay = Overlay(links, seed)
    wanted = populate(overlay, random)
    published: Published = []
    for number in range(4):
        change = a_shift(random, links, number)
        if change is None:
            continue
        publish(overlay, random, published)
        overlay.run(random.randrange(20))
        overlay.change(change)
        publish(overlay, random, published)
        overlay.run(random.choice((10, ENDLESS)))
        while not {(name, change.id, "ready") for name in change.brokers} <= set(overlay.reports):
            assert overlay.step() or overlay.call()
        if random.random() < 0.3:
            for name in change.brokers:
                overlay.do(name, overlay.brokers[name].abort(change.id))
            expected = "aborted"
        else:
            for name in random.sample([change.i, change.k], 2):
                overlay.do(name, overlay.brokers[name].commit(change.id))
                overlay.run(random.randrange(10))
            links = [link for link in links if set(link) != {change.i, change.j}] + [(change.i, change.k)]
            expected = "done"
        publish(overlay, random, published)
        overlay.run()
        assert {(name, change.id, expected) for name in change.brokers} <= set(overlay.reports)
    publish(overlay, random, published)
    overlay.run()
    check(overlay, wanted, published)


class Watched(Overlay):
    """Notes who is told to try a neighbour no longer."""

    def __init__(self, links: Links, seed: int) -> None:
        self.hung_up: list[tuple[str, str]] = []
        super().__init__(links, seed)

    def do(self, name: str, effects: Iterable[Effect]) -> None:
        effects = list(effects)
        self.hung_up += [(name, each.neighbour) for each in effects if isinstance(each, Hangup)]
        super().do(name, effects)


@pytest.mark.parametrize("aborted", [True, False])
def test_who_is_a_neighbour_no_longer_is_called_no_longer(aborted: bool) -> None:
    overlay = Watched([("a", "b"), ("b", "c")], 1)
    overlay.change(Change("x", "shift", ("a", "b", "c")))
    overlay.run()
    assert overlay.hung_up == []
    for name in "abc":
        broker = overlay.brokers[name]
        overlay.do(name, broker.abort("x") if aborted else broker.commit("x"))
    overlay.run()
    assert set(overlay.hung_up) == ({("a", "c"), ("c", "a")} if aborted else {("a", "b"), ("b", "a")})
    left = {name: set(broker.forwarding.links) for name, broker in overlay.brokers.items()}
    assert left["a"] == ({"b"} if aborted else {"c"})


@pytest.mark.parametrize("seed", range(40))
def test_an_abort_leaves_the_tables_of_before(seed: int) -> None:
    random = Random(seed)
    links = random_tree(random, random.randrange(3, 8))
    overlay = Overlay(links, seed)
    wanted = populate(overlay, random)
    published: Published = []
    before = overlay.tables()
    change = a_shift(random, links, 0)
    if change is None:
        return
    overlay.change(change)
    overlay.run(random.randrange(30))
    publish(overlay, random, published)
    for name in random.sample(list(change.brokers), 3):
        overlay.do(name, overlay.brokers[name].abort(change.id))
        overlay.run(random.randrange(5))
    overlay.run()
    assert overlay.tables() == before
    check(overlay, wanted, published)


@pytest.mark.parametrize("seed", range(40))
def test_after_a_shift_the_advertisements_are_those_of_an_overlay_that_was_always_so(seed: int) -> None:
    random = Random(seed)
    links = random_tree(random, random.randrange(3, 8))
    change = a_shift(random, links, 0)
    if change is None:
        return
    overlay = Overlay(links, seed)
    state = random.getstate()
    populate(overlay, random)
    overlay.change(change)
    overlay.run()
    for name in (change.i, change.k):
        overlay.do(name, overlay.brokers[name].commit(change.id))
    overlay.run()
    after = [link for link in links if set(link) != {change.i, change.j}] + [(change.i, change.k)]
    fresh = Overlay(after, seed)
    random.setstate(state)
    populate(fresh, random)
    assert {name: {n: t[0] for n, t in sides.items()} for name, sides in overlay.tables().items()} == {
        name: {n: t[0] for n, t in sides.items()} for name, sides in fresh.tables().items()
    }


@pytest.mark.parametrize("seed", range(100))
def test_a_client_that_moves_while_a_link_is_moved_loses_nothing(seed: int) -> None:
    random = Random(seed)
    overlay = Overlay([("a", "b"), ("b", "c"), ("a", "d"), ("c", "e")], seed)
    homes = random.sample("abcde", 2)
    published: Published = []
    change = shift("c0", *random.choice(["abc", "cba"]))
    client = overlay.client("s", homes[0])
    client.subscribe("TRUE")
    overlay.say("s")
    for name in ("p0", "p1"):
        overlay.client(name, random.choice("abcde")).advertise("TRUE")
        overlay.say(name)
    overlay.run()
    events_of: list[Callable[[], None]] = [
        lambda: move(overlay, client, *homes),
        lambda: overlay.change(change),
    ]
    for event in random.sample(events_of, 2):
        publish(overlay, random, published)
        overlay.run(random.randrange(30))
        event()
    while not {(name, "c0", "ready") for name in "abc"} <= set(overlay.reports):
        assert overlay.step() or overlay.call()
    for name in random.sample([change.i, change.k], 2):
        overlay.do(name, overlay.brokers[name].commit("c0"))
        publish(overlay, random, published)
        overlay.run(random.randrange(15))
    for now in range(1, 15):  # claims are repeated now and then
        overlay.run()
        for name, broker in overlay.brokers.items():
            overlay.do(name, broker.tick(now * 1.5))
    overlay.run()
    check(overlay, {"s": ["TRUE"]}, published)


@pytest.mark.parametrize("seed", range(150))
def test_links_that_break_during_a_shift_delay_it_and_lose_nothing(seed: int) -> None:
    random = Random(seed)
    links = random_tree(random, random.randrange(3, 8))
    overlay = Overlay(links, seed)
    wanted = populate(overlay, random)
    published: Published = []
    change = a_shift(random, links, 0)
    if change is None:
        return
    concerned = [(change.i, change.j), (change.j, change.k), (change.i, change.k)]
    overlay.change(change)
    publish(overlay, random, published)
    overlay.run(random.randrange(40))
    overlay.reset(*random.choice(concerned))
    overlay.run()
    for name in random.sample([change.i, change.k], 2):
        overlay.run(random.choice((0, 10, ENDLESS)))
        overlay.do(name, overlay.brokers[name].commit(change.id))
        publish(overlay, random, published)
        for _ in range(2):
            overlay.run(random.randrange(25))
            overlay.reset(*random.choice(concerned))
    overlay.run()
    assert {(name, change.id, "done") for name in change.brokers} <= set(overlay.reports)
    publish(overlay, random, published)
    overlay.run()
    check(overlay, wanted, published)


def carry_out(overlay: Overlay, change: Change) -> None:
    for name in overlay.random.sample([change.i, change.k], 2):
        overlay.do(name, overlay.brokers[name].commit(change.id))
        overlay.run(overlay.random.randrange(10))
    overlay.run()
    assert {(name, change.id, "done") for name in change.brokers} <= set(overlay.reports)


@pytest.mark.parametrize("seed", range(40))
def test_a_subscription_made_during_a_shift_is_in_place_when_its_publishers_know(seed: int) -> None:
    """The advertisement comes to j from k, and not from i any more: in between nobody seemed to publish for
    the subscription, so that it was called in place before k had even heard of it."""
    overlay = Overlay([("i", "j"), ("j", "k")], seed)
    publisher = advertiser(overlay, "p", "i")
    overlay.run()
    change = shift("c0", "i", "j", "k")
    overlay.change(change)
    overlay.run()
    subscriber(overlay, "s", "j", "TRUE")
    for name in ("i", "k"):
        overlay.run(overlay.random.randrange(6))
        overlay.do(name, overlay.brokers[name].commit("c0"))
    while "s" not in overlay.placed:
        assert overlay.step() or overlay.call()
    publish_one(overlay, publisher, 1, x=0)
    overlay.run()
    assert overlay.delivered["s"] == [("p#1", 1, 1)]


@pytest.mark.parametrize("seed", range(20))
def test_what_comes_from_the_subtree_now_does_not_go_back_there(seed: int) -> None:
    """Its publisher was elsewhere before, so that k has it of two visits, and from two neighbours. k sent it
    to i, as if it still came from the first: i took k for its way, and confirmed without waiting for k."""
    overlay = Overlay([("i", "j"), ("j", "k"), ("k", "a")], seed)
    subscriber(overlay, "near", "i", "TRUE")
    away = subscriber(overlay, "away", "k", "TRUE")
    publisher = advertiser(overlay, "p", "a")
    advertiser(overlay, "other", "a")  # so that k knows what is wanted at i
    overlay.run()
    leave(overlay, away, "k")
    publish_one(overlay, publisher, 1, x=0)
    overlay.run()
    move(overlay, publisher, "a", "i")
    overlay.run()
    overlay.change(shift("c0", "i", "j", "k"))
    overlay.run()
    carry_out(overlay, shift("c0", "i", "j", "k"))
    assert publisher.unacknowledged == 1
    come(overlay, away, "k")
    overlay.run()
    assert publisher.unacknowledged == 0
    assert overlay.delivered["away"] == overlay.delivered["near"] == [("p#1", 1, 1)]


@pytest.mark.parametrize("seed", range(20))
def test_what_j_has_forgotten_reaches_the_subtree_before_what_k_has_from_it(seed: int) -> None:
    """j held the first for i alone, and crashed; k has the second, also from where the publisher was."""
    overlay = Overlay([("i", "j"), ("j", "k"), ("k", "a"), ("j", "d")], seed)
    far = subscriber(overlay, "far", "i", "TRUE")
    subscriber(overlay, "near", "k", "x = 1")
    away = subscriber(overlay, "away", "k", "x = 2")
    publisher = advertiser(overlay, "p", "a")
    overlay.run()
    leave(overlay, far, "i")
    leave(overlay, away, "k")
    publish_one(overlay, publisher, 1, x=1)
    publish_one(overlay, publisher, 2, x=2)
    overlay.run()
    move(overlay, publisher, "a", "d")
    overlay.run()
    change = shift("c0", "i", "j", "k")
    overlay.do("j", overlay.brokers["j"].prepare(change))
    overlay.restart("i")
    for name in ("i", "k"):
        overlay.do(name, overlay.brokers[name].prepare(change))
    come(overlay, far, "i")
    overlay.run()
    overlay.restart("j")
    overlay.do("j", overlay.brokers["j"].commit("c0"))
    carry_out(overlay, change)
    come(overlay, away, "k")
    overlay.run()
    assert overlay.delivered["far"] == [("p#1", 1, 1), ("p#1", 2, 2)]
    assert publisher.unacknowledged == 0


def test_a_broker_that_restarts_after_a_shift_knows_its_new_neighbours() -> None:
    overlay = Overlay([("a", "b"), ("b", "c")], 0)
    overlay.change(shift("c0", "a", "b", "c"))
    overlay.run()
    for name in ("a", "c"):
        overlay.do(name, overlay.brokers[name].commit("c0"))
    overlay.run()
    again = Broker("a", ["b"], life=2, stored=overlay.stored["a"])
    assert list(again.tables.sides) == ["c"]
    assert list(Broker("a", ["d"], life=2, stored=overlay.stored["a"]).tables.sides) == ["d"]


def test_a_broker_that_forgot_the_subtree_waits_until_its_new_neighbour_counts_it() -> None:
    """j is told of the commit before k: what k calls all by then leaves the subtree out."""
    overlay = Overlay([("i", "j"), ("j", "k")], 0)
    overlay.client("p", "i").advertise("TRUE")
    overlay.say("p")
    overlay.change(shift("c0", "i", "j", "k"))
    overlay.run()
    overlay.restart("j")
    j = overlay.brokers["j"]
    overlay.do("j", j.commit("c0"))
    overlay.run()
    assert overlay.brokers["k"].forwarding.links["j"].connection is not None
    assert [side.knows_advertisements for side in j.tables.sides.values()] == [False]
    assert j.relink.stages() == {"c0": "committed"}
    for name in ("i", "k"):
        overlay.do(name, overlay.brokers[name].commit("c0"))
    overlay.run()
    assert [side.knows_advertisements for side in j.tables.sides.values()] == [True]
    assert [entry.client for entry in j.tables.sides["k"].advertisements.values()] == ["p"]
    assert {(name, "c0", "done") for name in "ijk"} <= set(overlay.reports)


def test_only_a_broker_in_the_overlay_serves_clients_also_after_a_restart() -> None:
    overlay = Overlay([("a", "b"), ("b", "c")], 0)

    connections = count(1000)

    def served(broker: Broker) -> bool:
        effects = broker.received(next(connections), [ClientHello("s", [], [], 1)], 0.0)
        return any(isinstance(each, Send) and isinstance(each.message, Welcome) for each in effects)

    for operation, after in (("detach", False), ("append", True)):
        change = Change(operation, operation, ("c", "b"))
        for name in "bc":
            overlay.do(name, overlay.brokers[name].prepare(change))
        overlay.run()
        for name in "bc":
            overlay.do(name, overlay.brokers[name].commit(change.id))
        overlay.run()
        again = Broker("c", ["b"], life=2, stored=overlay.stored["c"])
        assert [served(broker) for broker in (overlay.brokers["c"], again)] == [after, after]
    assert served(overlay.brokers["b"])


def test_a_change_that_does_not_fit_the_links_is_refused() -> None:
    overlay = Overlay([("a", "b"), ("b", "c")], 0)
    for name, change in (
        ("a", shift("c1", "a", "c", "b")),
        ("a", shift("c1", "a", "b", "b")),
        ("x", shift("c1", "a", "b", "c")),
    ):
        with pytest.raises(BadInput):
            overlay.brokers.get(name, overlay.brokers["a"]).prepare(
                change if name != "x" else shift("c1", "z", "c", "a")
            )
    with pytest.raises(BadInput, match="not a change that this broker takes part in"):
        overlay.brokers["a"].commit("c9")


def test_a_change_that_is_not_ready_can_not_be_committed() -> None:
    overlay = Overlay([("a", "b"), ("b", "c")], 0)
    overlay.do("a", overlay.brokers["a"].prepare(shift("c1", "a", "b", "c")))
    with pytest.raises(BadInput, match="not ready"):
        overlay.brokers["a"].commit("c1")


def test_a_change_that_is_being_carried_out_can_not_be_aborted() -> None:
    overlay = Overlay([("a", "b"), ("b", "c")], 0)
    overlay.change(shift("c1", "a", "b", "c"))
    overlay.run()
    overlay.brokers["a"].commit("c1")
    with pytest.raises(BadInput, match="is being carried out and cannot be aborted any more"):
        overlay.brokers["a"].abort("c1")
