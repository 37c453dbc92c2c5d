"""Budgets of shifts: every way can be carried out, saves what it says, and small budgets are used best."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from tests.design.ocbr_cases import plain_cost, problems, random_problem

from regraft.design.ocbr import Design, Effort, Problem, propose_tree
from regraft.design.ocbr.budget import within_degree
from regraft.model import BadInput, Ends, Topology, ends
from regraft.model.traffic import TrafficClass


def walked(before: Topology, design: Design) -> Topology:
    """The tree after every shift of the way; building it checks each tree in between."""
    links = set(before.by_ends)
    for each in design.way.exchanges:
        for action in each.shifts:
            i, j, k = action.brokers
            assert action.operation == "shift"
            assert {ends(i, j), ends(j, k)} <= links
            links = (links - {ends(i, j)}) | {ends(i, k)}
            Topology.of(links, before.ids)
        assert each.added in links
        assert each.removed not in links
    return Topology.of(links, before.ids)


def best_within(problem: Problem, before: Topology, shifts: int) -> float:
    """Every tree of possible links that this many shifts lead to, whatever links are there in between."""
    reached: set[frozenset[Ends]] = {frozenset(before.by_ends)}
    fresh = set(reached)
    for _ in range(shifts):
        grown = set()
        for links in fresh:
            tree = Topology.of(links, before.ids)
            for j in tree.ids:
                near = tree.neighbours[j]
                grown |= {links - {ends(i, j)} | {ends(i, k)} for i in near for k in near if i != k}
        fresh = grown - reached
        reached |= fresh
    allowed = [links for links in reached if problem.open or links <= problem.link_cost.keys()]
    return min(plain_cost(problem, Topology.of(links, before.ids)) for links in allowed)


@settings(max_examples=50, deadline=None)
@given(problems(largest=7))
def test_the_shifts_lead_from_the_tree_before_to_the_design(case: tuple[Problem, Topology]) -> None:
    problem, before = case
    design = propose_tree(problem, before)
    assert walked(before, design).sha256 == design.topology.sha256
    assert design.before.total - design.way.saves == pytest.approx(design.cost.total)
    assert design.way.shifts == sum(len(each.shifts) for each in design.way.exchanges)


@pytest.mark.parametrize("seed", range(12))
def test_one_shift_is_the_best_shift_and_few_are_near_the_best(seed: int) -> None:
    problem, before = random_problem(6, 12, seed, open=bool(seed % 2))
    for budget in (0, 1, 2, 3):
        design = propose_tree(problem, before, budget=budget, effort=Effort(moves=20_000), seed=seed)
        best = best_within(problem, before, budget)
        assert design.way.shifts <= budget
        assert design.cost.total >= best - 1e-6
        assert design.cost.total <= best * (1 if budget < 2 else 1.05) + 1e-6


def test_more_shifts_never_cost_more_and_enough_of_them_reach_the_best() -> None:
    problem, before = random_problem(14, 60, 5)
    costs = [propose_tree(problem, before, budget=budget).cost.total for budget in (0, 2, 5, 10, 100)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == pytest.approx(plain_cost(problem, before))
    assert costs[-1] == pytest.approx(propose_tree(problem, before).cost.total)
    assert costs[0] > costs[1] > costs[-1]


def test_what_saves_nothing_is_left_as_it_is() -> None:
    """Two brokers exchange everything; moving the others saves nothing, so they stay."""
    _, before = random_problem(10, 0, 3)
    leaves = sorted(id for id in before.ids if len(before.neighbours[id]) == 1)[:2]
    traffic = [TrafficClass(frozenset(leaves), 5.0)]
    design = propose_tree(Problem.of(before, traffic, beta=0.0), before)
    assert len(design.way.exchanges) <= 1
    assert ends(*leaves) in design.topology.by_ends or not design.way.exchanges


def test_a_budget_needs_a_tree_to_start_from() -> None:
    problem, before = random_problem(5, 4, 1)
    with pytest.raises(BadInput, match="budget"):
        propose_tree(problem, None, budget=3)
    with pytest.raises(BadInput, match="budget"):
        propose_tree(problem, before, budget=-1)


def test_exchanges_are_made_as_far_as_degrees_allow() -> None:
    chain = Topology.of(pairwise("abcdef"))
    wanted = [(("b", "c"), ("a", "c")), (("c", "d"), ("a", "d")), (("d", "e"), ("a", "e"))]
    found = within_degree(chain, wanted, 2)
    assert max(map(len, found.neighbours.values())) <= 2
    loose = within_degree(chain, wanted, 9)
    assert {("a", "c"), ("a", "d"), ("a", "e")} <= set(loose.by_ends)
