"""Meshes under faults: nothing lost, repeated or reordered; and mistakes on purpose do not go unnoticed."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from tests.broker.core.mesh_latecomer import Latecomer
from tests.broker.core.mesh_simulation import simulate

from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_interest import MeshInterest, MeshLink
from regraft.broker.core.mesh_positions import StreamPositions
from regraft.broker.core.mesh_streams import Copy, Stream, topic_of
from regraft.protocol.messages import Flood, Positions

SEEDS = 20


@pytest.mark.parametrize("seed", range(SEEDS))
def test_fewer_than_k_failures_lose_repeat_and_reorder_nothing(seed: int) -> None:
    outcome = simulate(seed)
    assert outcome.violation == ""
    assert outcome.publications > 0


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_broker_that_comes_back_is_not_misled_by_a_neighbour_that_came_later(seed: int) -> None:
    outcome = simulate(seed, Latecomer)
    assert outcome.violation == ""
    assert outcome.publications > 0


PROGRAM = """
from tests.broker.core.mesh_latecomer import Latecomer
from tests.broker.core.mesh_simulation import simulate
print(*(run.hash for seed in (5, 6, 10, 12) for run in (simulate(seed), simulate(seed, Latecomer))))
"""


def test_one_seed_is_one_run_in_every_process() -> None:
    """Also where sets of names are in another order: a seed that failed elsewhere can be looked at."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    said = [run.communicate()[0] for run in runs]
    assert said[0] == said[1]
    assert len(set(said[0].split())) == 8


# Planted mistakes

arrive = Flooding.arrive
learn = StreamPositions.learn


def acknowledge_at_once(self: Flooding, copy: Copy, wanting: set[str]) -> bool:
    """The publisher is told before anybody else keeps the publication."""
    return True


def confirm_on_receipt(self: Flooding, flood: Flood, link: MeshLink) -> None:
    """A neighbour is told that we need nothing before our subscribers have it."""
    arrive(self, flood, link)
    for seq in flood.seqs:
        self.outbox.confirmed(link.name, flood.stream, -1, seq)


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


def pass_across_gaps(self: Flooding, stream: Stream) -> None:
    """What has come is passed on, whether or not what comes before it has."""
    if stream.position is not None:
        waiting = sorted(stream.next.values(), key=lambda copy: copy.seq)
        stream.next.clear()
        for copy in waiting:
            stream.position = max(stream.position, copy.seq)
            self._pass(copy)


def begin_after_the_largest(self: MeshInterest, topic: str, stream: str) -> int:
    """One neighbour that no longer has the beginning of a stream is believed, not the one that keeps it."""
    answers = [self.links[name].promises.get(topic, {}).get(stream, 0) for name in self.wanting(topic)]
    return max(answers, default=0)


def believe_the_first(self: MeshInterest, stream: str, sender: str) -> bool:
    """In a topic that began with us, a latecomer is believed, though others promised what comes before."""
    return self.own[topic_of(stream)].anew


def forget_predecessors(self: StreamPositions, message: Positions, link: MeshLink) -> None:
    """A first broker that comes back does not listen to what its publishers' last numbers were."""
    silent: list[tuple[str, int, list[int]]] = [(stream, base, []) for stream, base, _ in message.streams]
    learn(self, msgspec.structs.replace(message, streams=silent), link)


BUGS: list[tuple[type, str, Callable[..., Any], int]] = [
    (Flooding, "_safe", acknowledge_at_once, 57),
    (Flooding, "arrive", confirm_on_receipt, 10),
    (Flooding, "renew", trust_earlier_lives, 5),
    (Flooding, "_release", let_go_in_any_order, 12),
]
GAPS: list[tuple[type, str, Callable[..., Any], int]] = [
    (Flooding, "_advance", pass_across_gaps, 0),
    (MeshInterest, "begins_after", begin_after_the_largest, 0),
    (MeshInterest, "may_begin", believe_the_first, 1786),
    (StreamPositions, "learn", forget_predecessors, 0),
]
"""With the first seed that was seen to notice it: the search begins there, to be quick."""


@pytest.mark.parametrize(
    ("owner", "method", "broken", "first"), BUGS, ids=[bug.__name__ for *_, bug, _ in BUGS]
)
def test_a_planted_bug_is_caught(owner: type, method: str, broken: Callable[..., Any], first: int) -> None:
    with patch.object(owner, method, broken):
        assert any(simulate(seed).violation for seed in range(first, first + 200))


@pytest.mark.parametrize(
    ("owner", "method", "broken", "first"), GAPS, ids=[bug.__name__ for *_, bug, _ in GAPS]
)
def test_a_bug_with_gaps_is_caught(owner: type, method: str, broken: Callable[..., Any], first: int) -> None:
    with patch.object(owner, method, broken):
        assert any("lost" in simulate(seed, Latecomer).violation for seed in range(first, first + 200))
