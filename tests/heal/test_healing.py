"""Brokers die for good, two at once, in mid-transformation, or live on behind a partition: they are replaced
and nothing is lost, repeated or reordered; the overlay ends as a tree of the living.

`scripts/bench soak --healing --seeds 5000` runs more of them.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from regraft.broker.core.broker import Broker
from regraft.broker.core.lease import Lease
from regraft.broker.core.relink import Relink
from regraft.testing import owned_node
from regraft.testing.healing import heal
from regraft.testing.owned_node import OwnedNode

SEEDS = 300
GROUP = 20


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_nothing_is_lost_and_the_living_are_a_tree(first: int) -> None:
    outcomes = [heal(seed) for seed in range(first, first + GROUP)]
    assert [(each.seed, each.violation) for each in outcomes if each.violation] == []
    faults = sum((each.faults for each in outcomes), Counter[str]())
    assert {"death", "deputy", "partition", "crash", "ZooKeeper away"} <= faults.keys()


def test_brokers_agree_which_way_is_downstream_after_a_shift() -> None:
    """What came from i, then from elsewhere, then from k comes from k: two brokers waited for each other."""
    assert heal(326).violation == ""


def test_a_seed_always_gives_the_same_run() -> None:
    assert heal(7).hash == heal(7).hash


# Mistakes that somebody could make


def has_no_lease(patch: pytest.MonkeyPatch) -> None:
    """A broker that is cut off goes on answering its clients."""
    patch.setattr(Lease, "admitted", lambda self, connection, messages, now: messages)


def trusts_its_session_too_long(patch: pytest.MonkeyPatch) -> None:
    """The lease is longer than the session after which a deputy may begin."""
    patch.setattr(owned_node, "SURE", 5 * owned_node.SESSION)


def welcomes_any_life(patch: pytest.MonkeyPatch) -> None:
    """A broker that has been replaced is taken back by its neighbours."""
    hello = Broker._link_hello

    def welcome(self: Broker, connection, said):  # type: ignore[no-untyped-def]
        self._lives.clear()
        hello(self, connection, said)

    patch.setattr(Broker, "_link_hello", welcome)


def begins_with_nothing(patch: pytest.MonkeyPatch) -> None:
    """A deputy does not read the journal."""
    take = OwnedNode.take

    def forgetful(self: OwnedNode) -> None:
        take(self)
        self.owner.values = {}

    patch.setattr(OwnedNode, "take", forgetful)


def serves_clients_apart(patch: pytest.MonkeyPatch) -> None:
    """A broker that has not been appended yet takes clients."""
    patch.setattr(Relink, "set_apart", lambda self, apart: None)


@pytest.mark.parametrize(
    ("plant", "first"),
    [
        (has_no_lease, 85),
        (trusts_its_session_too_long, 85),
        (welcomes_any_life, 0),
        (begins_with_nothing, 0),
        (serves_clients_apart, 0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`first`: one seed in a hundred or so catches such a bug; those before it are left out to save time."""
    plant(monkeypatch)
    assert any(heal(seed).violation for seed in range(first, first + SEEDS))
