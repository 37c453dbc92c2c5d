"""Plans are carried out while brokers, agents, deployers and ZooKeeper fail: nothing is lost, repeated or
reordered, and the links are those that the journal names.

`scripts/bench soak --transformations --seeds 5000` runs more of them.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from regraft.broker.core.relink import Relink
from regraft.broker.core.subtree_runs import SubtreeRuns
from regraft.broker.core.tables import Tables
from regraft.deploy import deployer_core
from regraft.deploy.agent_core import Agent
from regraft.deploy.states import ActionState
from regraft.testing.deployment import LAYOUT
from regraft.testing.script import random_script
from regraft.testing.transformation import Transformation, transform

SEEDS = 300
GROUP = 30


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_nothing_is_lost_and_the_links_are_those_of_the_journal(first: int) -> None:
    outcomes = [transform(seed) for seed in range(first, first + GROUP)]
    assert [(each.seed, each.violation) for each in outcomes if each.violation] == []
    faults = sum((each.faults for each in outcomes), Counter[str]())
    assert {"crash", "kill agent", "kill deployer", "ZooKeeper away", "session lost"} <= faults.keys()


def test_a_publisher_that_went_from_the_subtree_to_its_old_neighbour_reaches_the_subtree() -> None:
    """k cannot tell, by what is advertised, where such a publisher is; it was taken for one of the subtree,
    and what it had published was confirmed without that."""
    assert transform(4303).violation == ""


def test_a_seed_always_gives_the_same_run() -> None:
    assert transform(7).hash == transform(7).hash


def test_runs_end_in_every_way() -> None:
    ends = set()
    ways = {("done", False), ("done", True), ("failed", False), ("stopped", False)}
    for seed in range(40):
        simulation = Transformation(seed, random_script(Random(f"{seed}/script")))
        simulation.run()
        run = simulation.ensemble.nodes[LAYOUT.plan].record
        ends.add((getattr(run, "state", ""), getattr(run, "back", False)))
        if ways <= ends:
            break
    assert ways <= ends


# Planted bugs


def forgets_its_part(patch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered from prepare on."""
    patch.setattr(Relink, "_remember", lambda self, part: None)


def does_not_veil(patch: pytest.MonkeyPatch) -> None:
    """j continues to tell k what is behind i as if it were behind itself."""
    patch.setattr(Tables, "veil", lambda self, name, behind: None)
    patch.setattr(Tables, "unveil", lambda self, name: None)


def commits_alone(patch: pytest.MonkeyPatch) -> None:
    """An agent that is ready does not ask the others."""
    decide = Agent._decide

    def alone(self: Agent, path, known, view, changes, now):  # type: ignore[no-untyped-def]
        for name in known.doing.change.brokers:
            view.statuses = {**view.statuses, name: view.statuses[self.broker]}
        return decide(self, path, known, view, changes, now)

    patch.setattr(Agent, "_decide", alone)


def does_not_wait_for_all(patch: pytest.MonkeyPatch) -> None:
    """The deployer continues before all brokers have finished a change."""
    patch.setattr(
        deployer_core,
        "_is_over",
        lambda doing, statuses: doing.state in (ActionState.COMMITTED, ActionState.ABORTED),
    )


def does_not_serve_the_subtree(patch: pytest.MonkeyPatch) -> None:
    """k does not send i what it holds for its subtree."""
    patch.setattr(SubtreeRuns, "add_target", lambda self, name, old: None)


def leaves_strays(patch: pytest.MonkeyPatch) -> None:
    """A broker that was told too late to prepare is never told that it is over."""
    patch.setattr(Agent, "_strays", lambda self, view: [])


PLANTS: list[tuple[Callable[[pytest.MonkeyPatch], None], int]] = [
    (forgets_its_part, 24),
    (does_not_veil, 4),
    (commits_alone, 3),
    (does_not_wait_for_all, 7),
    (does_not_serve_the_subtree, 3),
    (leaves_strays, 5),
]
"""With the first seed that reveals the bug: the search begins there, to be fast."""


@pytest.mark.parametrize(("plant", "first"), PLANTS, ids=[plant.__name__ for plant, _ in PLANTS])
def test_a_planted_bug_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert any(transform(seed).violation for seed in (first, *range(SEEDS)))
