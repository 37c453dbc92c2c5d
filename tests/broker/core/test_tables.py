"""What neighbours are told, beside what the simulations of brokers show of it."""

from collections.abc import Callable

import pytest

from regraft.broker.core.sides import Side
from regraft.broker.core.tables import Tables
from regraft.filters import parse
from regraft.protocol.messages import Update

ALL = Update(advertisements=[("k/p/1", "x > 0")], all_advertisements=True, all_subscriptions=True)
RED = parse("x > 1")


class Counted(dict[str, Side]):
    """Counts how often all neighbours are iterated over."""

    walks = 0

    def items(self):  # type: ignore[no-untyped-def]
        self.walks += 1
        return super().items()


def test_a_neighbour_that_was_told_everything_costs_no_look_at_the_others() -> None:
    tables = Tables(f"n{number}" for number in range(100))
    tables.sides = sides = Counted(tables.sides)
    for side in sides.values():
        side.knows_advertisements = side.knows_subscriptions = True
    told = [tables.update(name) for name in sides]
    assert all(each is not None and each.all_advertisements and each.all_subscriptions for each in told)
    sides.walks = 0
    assert [tables.update(name) for name in sides] == [None] * 100
    assert sides.walks == 0
    sides["n7"].veil = "n8"  # what was said without a veil was not said with one
    assert tables.update("n7") is not None


def test_what_a_neighbour_withdraws_before_it_has_told_all_may_have_covered_something() -> None:
    """In its life before the neighbour had told of a subscription that covers all others behind it. In this
    one it has not heard of those again when the client withdraws it."""
    tables = Tables(["b0"])
    tables.heard("b0", Update(subscriptions=[("b0/s1/1", "TRUE")], all_subscriptions=True))
    tables.connected("b0")
    tables.heard("b0", Update(subscriptions=[("b0/s1/1", "TRUE")]))
    tables.heard("b0", Update(gone_subscriptions=["b0/s1/1"]))
    assert list(tables.subscriptions) == ["b0/s1/1"]  # publications for the hidden ones are kept
    tables.heard("b0", Update(subscriptions=[("b1/s0/1", "x > 4")], all_subscriptions=True))
    assert list(tables.subscriptions) == ["b1/s0/1"]
    tables.heard("b0", Update(gone_subscriptions=["b1/s0/1"]))
    assert not tables.subscriptions  # now it knows what it withdraws


def test_a_neighbour_that_is_removed_before_it_has_told_anything_holds_no_subscription_up() -> None:
    """A broker that is restarted while a neighbour is detached knows it, and never hears of it again."""
    tables = Tables(["b2", "x"])
    tables.connected("b2")
    told = Update(subscriptions=[("b1/s1/1", "x > 2")], all_advertisements=True, all_subscriptions=True)
    tables.heard("b2", told)
    first = tables.update("b2")
    assert first is None or not first.placed_subscriptions
    tables.remove_side("x")
    update = tables.update("b2")
    assert update is not None
    assert update.placed_subscriptions == ["b1/s1/1"]


CHANGES: dict[str, Callable[[Tables], object]] = {
    "advertise": lambda tables: tables.advertise("j/p/1", RED, "@p"),
    "advertise again": lambda tables: tables.advertise("k/p/1", parse("x > 0"), "k"),
    "unadvertise": lambda tables: tables.unadvertise("k/p/1"),
    "subscribe": lambda tables: tables.subscribe("j/t/1", RED, "@t"),
    "subscribe again": lambda tables: tables.subscribe("j/s/1", RED, "@s"),
    "unsubscribe": lambda tables: tables.unsubscribe("j/s/1"),
    "heard": lambda tables: tables.heard("i", ALL),
    "aware": lambda tables: tables.aware("i"),
    "learn": lambda tables: tables.learn("i"),
    "believe": lambda tables: tables.believe("i"),
    "connected": lambda tables: tables.connected("k"),
    "rename": lambda tables: tables.rename("k", "l"),
    "add_side": lambda tables: tables.add_side("l"),
    "take_over": lambda tables: tables.take_over("k", "i", {"k"}),
    "veil": lambda tables: tables.veil("i", "k"),
    "remove_side": lambda tables: tables.remove_side("k", successor="i"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_every_change_there_may_be_something_to_tell(change: Callable[[Tables], object]) -> None:
    tables = Tables(["i", "k"])
    tables.heard("k", ALL)
    tables.subscribe("j/s/1", RED, "@s")
    tables.has_news = False
    change(tables)
    assert tables.has_news


def test_when_the_veil_is_lifted_there_may_be_something_to_tell() -> None:
    tables = Tables(["i", "k"])
    tables.veil("i", "k")
    tables.has_news = False
    tables.unveil("i")
    assert tables.has_news
