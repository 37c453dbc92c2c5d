"""Whatever the planner, the task and the limits: the plan passes the replay and keeps what it claims.

`make_plan` replays what it returns; here the replay is called once more, so that these tests do not
depend on that. The trees are small because IPITT's integer program is one of the planners.
"""

from random import Random
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regraft.model import Infeasible, Limits, Plan, Topology
from regraft.model.limits import Minimise
from regraft.plan import PLANNERS, make_plan
from regraft.plan.verify import verify
from regraft.plan.watch import Watch
from regraft.testing.trees import changed_tree, joins_and_leaves, named, random_tree, tree_pairs

EVERY = pytest.mark.parametrize("planner", sorted(PLANNERS))
ALWAYS_PLAN = {"fast", "exact"}
FEW = settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
WITH_MOVES = frozenset({"shift", "append", "detach", "move"})


def checked(
    pair: tuple[Topology, Topology], planner: str, limits: Limits, seconds: float = 0.2
) -> Plan | Infeasible:
    """The planner's answer; if it is a plan, it has been replayed."""
    answer = make_plan(*pair, limits, planner, Watch(seconds))
    if isinstance(answer, Plan):
        verify(answer, *pair, limits)
        assert answer.bounds.steps <= len(answer.steps)
        assert answer.bounds.actions <= answer.actions
        assert answer.planner == planner
    return answer


def has_plan(pair: tuple[Topology, Topology], planner: str, limits: Limits) -> bool:
    """A plan; from the baselines also 'none found', as long as they do not claim that there is none."""
    answer = checked(pair, planner, limits)
    return isinstance(answer, Plan) or (planner not in ALWAYS_PLAN and not answer.proven)


@EVERY
@FEW
@given(pair=tree_pairs(6))
def test_two_trees_on_the_same_brokers_always_have_a_plan(
    planner: str, pair: tuple[Topology, Topology]
) -> None:
    assert has_plan(pair, planner, Limits())


@EVERY
@FEW
@given(pair=joins_and_leaves(6))
def test_brokers_may_join_and_leave(planner: str, pair: tuple[Topology, Topology]) -> None:
    assert has_plan(pair, planner, Limits())


@EVERY
@FEW
@given(pair=joins_and_leaves(6), minimise=st.sampled_from(get_args(Minimise)))
def test_every_minimise_has_a_plan(planner: str, pair: tuple[Topology, Topology], minimise: Minimise) -> None:
    assert has_plan(pair, planner, Limits(minimise=minimise))


@EVERY
@FEW
@given(pair=joins_and_leaves(6), room=st.integers(0, 2))
def test_a_degree_limit_is_kept_or_named(planner: str, pair: tuple[Topology, Topology], room: int) -> None:
    most = max(len(near) for tree in pair for near in tree.neighbours.values())
    answer = checked(pair, planner, Limits(max_degree=most + room))
    if isinstance(answer, Infeasible):
        assert answer.limit == "max-degree" or not answer.proven


@EVERY
@FEW
@given(pair=tree_pairs(6))
def test_exclusive_steps_always_have_a_plan(planner: str, pair: tuple[Topology, Topology]) -> None:
    assert has_plan(pair, planner, Limits(exclusive=True))


@EVERY
@FEW
@given(pair=tree_pairs(6), exclusive=st.booleans())
def test_moves_may_be_allowed(planner: str, pair: tuple[Topology, Topology], exclusive: bool) -> None:
    assert has_plan(pair, planner, Limits(operations=WITH_MOVES, exclusive=exclusive))


@settings(max_examples=15)
@given(pair=tree_pairs(8))
def test_the_exact_planner_needs_no_more_steps_than_the_fast_one(pair: tuple[Topology, Topology]) -> None:
    exact, fast = checked(pair, "exact", Limits(), seconds=10), checked(pair, "fast", Limits())
    assert isinstance(exact, Plan)
    assert isinstance(fast, Plan)
    assert len(exact.steps) <= len(fast.steps)


@pytest.mark.parametrize("size", [30, 150])
@pytest.mark.parametrize("limits", [Limits(), Limits(minimise="actions"), Limits(exclusive=True)])
def test_the_fast_planner_plans_for_larger_trees(size: int, limits: Limits) -> None:
    rng = Random(size)
    tree = random_tree(size, rng)
    pair = named(tree, size), named(changed_tree(tree, 0.2, rng), size)
    assert isinstance(checked(pair, "fast", limits), Plan)
