"""What is said about a plan follows from its bounds and from what was minimised."""

import pytest

from regraft.cli.plan_verdict import estimated_time, optimal, summary
from regraft.model import Action, ActionCosts, Bounds, Limits, Plan, Proof


def plan(*steps: int, bounds: tuple[int, int], proof: Proof | None = None) -> Plan:
    """A plan with these numbers of shifts in its steps."""
    shifts = tuple(tuple(Action("shift", (f"i{n}", "j", "k")) for n in range(size)) for size in steps)
    return Plan("tree", "", "", shifts, "exact", Bounds(*bounds), proof)


def test_a_step_takes_as_long_as_its_slowest_action() -> None:
    costs = ActionCosts(by_action={Action("shift", ("i1", "j", "k")): 7}, by_operation={"shift": 2})
    assert estimated_time(plan(1, 2, bounds=(2, 3)), Limits(costs=costs)) == (1 + 2) + (1 + 7)


@pytest.mark.parametrize(
    ("minimise", "said"),
    [
        (
            "steps",
            "no plan has fewer than 2 steps, none with 2 steps fewer than 2 actions (proven): gap 1 action",
        ),
        (
            "actions",
            "no plan has fewer than 2 actions, none with 3 actions fewer than 2 steps (proven): gap 1 action",
        ),
        ("cost", "no plan has fewer than 2 steps or 2 actions (proven): gap 1 action"),
    ],
)
def test_the_bound_of_the_second_objective_is_said_to_depend_on_the_first(minimise: str, said: str) -> None:
    limits = Limits(minimise=minimise)  # type: ignore[arg-type]
    assert said in summary(plan(1, 2, bounds=(2, 2)), limits, 0.5)


@pytest.mark.parametrize("minimise", ["cost", "time"])
def test_fewest_steps_and_actions_are_not_the_least_cost_if_another_action_is_cheaper(minimise: str) -> None:
    best = plan(1, 2, bounds=(2, 3))
    even = Limits(minimise=minimise, costs=ActionCosts(by_operation={"shift": 3}))  # type: ignore[arg-type]
    assert optimal(best, even)
    odd = ActionCosts(by_action={Action("shift", ("x", "y", "z")): 1}, by_operation={"shift": 3})
    uneven = Limits(minimise=minimise, costs=odd)  # type: ignore[arg-type]
    assert not optimal(best, uneven)
    assert f"the least {minimise} is not proven" in summary(best, uneven, 0.5)


def test_a_proof_over_a_smaller_set_of_actions_names_the_set() -> None:
    told = summary(plan(2, 2, bounds=(1, 3), proof=Proof("each-path", 2, 4)), Limits(), 0.5)
    assert "gap 1 step, 1 action; at least 2 steps, 4 actions with the actions of each-path" in told


def test_nothing_is_claimed_about_an_empty_plan() -> None:
    assert summary(plan(bounds=(0, 0)), Limits(), 0.0) == "0 steps, 0 actions; 0.00 s, planner exact"
