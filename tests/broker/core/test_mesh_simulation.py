"""Meshes under faults: nothing lost, repeated or reordered; and mistakes on purpose do not go unnoticed."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from tests.broker.core.mesh_simulation import simulate

from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_interest import MeshLink
from regraft.broker.core.mesh_streams import Copy, Stream
from regraft.protocol.messages import Flood

SEEDS = 20


@pytest.mark.parametrize("seed", range(SEEDS))
def test_fewer_than_k_failures_lose_repeat_and_reorder_nothing(seed: int) -> None:
    outcome = simulate(seed)
    assert outcome.violation == ""
    assert outcome.publications > 0


def test_one_seed_is_one_run() -> None:
    assert simulate(3).hash == simulate(3).hash


# Mistakes that somebody could make

arrive = Flooding.arrive


def acknowledge_at_once(self: Flooding, copy: Copy, wanting: set[str]) -> bool:
    """The publisher is told before anybody else keeps the publication."""
    return True


def confirm_on_receipt(self: Flooding, flood: Flood, link: MeshLink) -> None:
    """A neighbour is told that we need nothing before our subscribers have it."""
    arrive(self, flood, link)
    self._confirmed.setdefault(link.name, []).extend((flood.stream, -1, seq) for seq in flood.seqs)


def trust_earlier_lives(self: Flooding, link: MeshLink, topics: Any) -> None:
    """A neighbour that was restarted is believed to have what it had."""


def let_go_in_any_order(self: Flooding, stream: Stream) -> None:
    """What is kept of a stream gets holes."""
    wanting = self.interest.wanting(stream.topic)
    for copy in list(stream.copies.values()):
        if copy.passed and not copy.local and wanting <= copy.done:
            self._tell(copy, wanting)
            self.streams.release(copy)
            self._acknowledge(copy, wanting)


BUGS: list[tuple[type, str, Callable[..., Any], int]] = [
    (Flooding, "_safe", acknowledge_at_once, 57),
    (Flooding, "arrive", confirm_on_receipt, 10),
    (Flooding, "renew", trust_earlier_lives, 3),
    (Flooding, "_release", let_go_in_any_order, 1),
]
"""With the first seed that was seen to notice it: the search begins there, to be quick."""


@pytest.mark.parametrize(
    ("owner", "method", "broken", "first"), BUGS, ids=[bug.__name__ for *_, bug, _ in BUGS]
)
def test_a_planted_bug_is_caught(owner: type, method: str, broken: Callable[..., Any], first: int) -> None:
    with patch.object(owner, method, broken):
        assert any(simulate(seed).violation for seed in range(first, first + 200))
