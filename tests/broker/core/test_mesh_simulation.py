"""Meshes under faults: nothing lost, repeated or reordered; and mistakes on purpose do not go unnoticed."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from tests.broker.core.mesh_simulation import simulate

from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_interest import Interest, MeshLink
from regraft.broker.core.mesh_streams import Copy, Stream
from regraft.broker.core.messages import Flood

SEEDS = 24


@pytest.mark.parametrize("seed", range(SEEDS))
def test_fewer_than_k_failures_lose_repeat_and_reorder_nothing(seed: int) -> None:
    outcome = simulate(seed)
    assert outcome.violation == ""
    assert outcome.publications > 0


def test_one_seed_is_one_run() -> None:
    assert simulate(3).hash == simulate(3).hash


# Mistakes that somebody could make

arrive, begins_after = Flooding.arrive, Interest.begins_after


def acknowledge_at_once(self: Flooding, copy: Copy, wanting: set[str]) -> bool:
    """The publisher is told before anybody else keeps the publication."""
    return True


def confirm_on_receipt(self: Flooding, flood: Flood, link: MeshLink) -> None:
    """A neighbour is told that we need nothing before our subscribers have it."""
    arrive(self, flood, link)
    self._confirmed.setdefault(link.name, []).append((flood.stream, flood.seqs[0], flood.seqs[-1]))


def pass_across_gaps(self: Flooding, stream: Stream) -> None:
    """Whatever arrives is delivered at once."""
    for copy in sorted(stream.next.values(), key=lambda each: each.seq):
        stream.position = max(stream.position or 0, copy.seq)
        self._pass(copy)
    stream.next.clear()


def trust_earlier_lives(self: Flooding, link: MeshLink, topics: Any) -> None:
    """A neighbour that was restarted is believed to have what it had."""


def begin_after_the_largest(self: Interest, topic: str, stream: str) -> int:
    """A broker that comes back skips what one neighbour no longer has."""
    promises = [link.promises.get(topic, {}).get(stream, 0) for link in self.links.values()]
    return max(promises, default=0)


def forget_predecessors(self: Stream, seq: int) -> int:
    """A first broker that comes back takes the first publication it sees for the first of its stream."""
    return self.order[-1] if self.order else self.position or 0


def let_go_in_any_order(self: Flooding, stream: Stream) -> None:
    """What is kept of a stream gets holes."""
    wanting = self.interest.wanting(stream.topic)
    for copy in list(stream.copies.values()):
        if copy.passed and not copy.local and wanting <= copy.done:
            self._tell(copy, wanting)
            self.streams.release(copy)
            self._acknowledge(copy, wanting)


BUGS: list[tuple[type, str, Callable[..., Any]]] = [
    (Flooding, "_safe", acknowledge_at_once),
    (Flooding, "arrive", confirm_on_receipt),
    (Flooding, "_advance", pass_across_gaps),
    (Flooding, "renew", trust_earlier_lives),
    (Interest, "begins_after", begin_after_the_largest),
    (Stream, "before", forget_predecessors),
    (Flooding, "_release", let_go_in_any_order),
]


@pytest.mark.parametrize(("owner", "method", "broken"), BUGS, ids=[bug.__name__ for *_, bug in BUGS])
def test_a_planted_bug_is_caught(owner: type, method: str, broken: Callable[..., Any]) -> None:
    with patch.object(owner, method, broken):
        assert any(simulate(seed).violation for seed in range(200))
