"""Interest that changes while brokers crash: what is acknowledged reaches all clients told 'in place'."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest
from tests.broker.core.mesh_changing import Changing
from tests.broker.core.mesh_simulation import simulate

from regraft.broker.core.mesh_membership import Membership
from regraft.broker.core.mesh_placing import MeshPlacing
from regraft.broker.core.mesh_roster import Rosters, TopicState

SEEDS = 300
TOGETHER = 20
"""Seeds in one test: a test for each would take longer to report than to run."""


@pytest.mark.parametrize("first", range(0, SEEDS, TOGETHER))
def test_what_is_acknowledged_reaches_all_that_were_told_in_place(first: int) -> None:
    outcomes = {seed: simulate(seed, Changing) for seed in range(first, first + TOGETHER)}
    assert {seed: each.violation for seed, each in outcomes.items() if each.violation} == {}
    assert sum(each.deliveries for each in outcomes.values()) > 0
    assert sum(each.faults["crash"] for each in outcomes.values()) > 0


# Planted mistakes


def publish_wherever_ready(self: MeshPlacing, topic: str) -> bool:
    return self.membership.interest.may_publish(topic, self.subscribed(topic))


def placed_wherever_ready(self: MeshPlacing, topic: str, strictly: bool, owed: Any) -> bool:
    """In place when the neighbours have answered, whether or not anything leads to the others."""
    ready = self.membership.interest.is_ready(topic)
    return ready and (not owed.publishes or publish_wherever_ready(self, topic))


def ask_nobody(self: Rosters, number: int, members: Any) -> list[str]:
    """What is said counts as known at once."""
    return []


def leave_at_once(self: Membership, topic: str) -> None:
    """Without its own clients a broker passes nothing on, even if others need that."""
    self._become(topic, TopicState.LEAVING)
    self._said[topic] = 0
    with patch.object(self.connected, "lacking", lambda topic: ""):
        self._decide(topic)


Broken = tuple[type, str, Callable[..., Any]]
BUGS: dict[str, tuple[list[Broken], int]] = {
    "acknowledge_early": (
        [(MeshPlacing, "_done", placed_wherever_ready), (MeshPlacing, "usable", publish_wherever_ready)],
        0,
    ),
    "ask_nobody": ([(Rosters, "unaware", ask_nobody)], 129),
    "leave_at_once": ([(Membership, "leave", leave_at_once)], 100),
}
"""With a seed shortly before the first that was seen to notice it, to be quick."""


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> Iterator[int]:
    patches, first = BUGS[request.param]
    with ExitStack() as planted:
        for owner, method, mistake in patches:
            planted.enter_context(patch.object(owner, method, mistake))
        yield first


@pytest.mark.parametrize("broken", BUGS, indirect=True)
def test_a_planted_bug_is_caught(broken: int) -> None:
    assert any("lost" in simulate(seed, Changing).violation for seed in range(broken, broken + 200))
