"""The exact planner on the reference instances: the optima that the published planner found.

`tests/data/README.md` says where they come from.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from regraft.model import Limits
from regraft.plan.exact import exact
from regraft.plan.problem import Found, Problem, pair
from regraft.plan.watch import Watch

INSTANCES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "itt_reference.jsonl").read_text().splitlines()
]


def least_actions(instance: dict[str, Any]) -> tuple[int, int] | None:
    """Steps and actions of the plan with the fewest actions, where the lengths that were solved decide it.

    A plan with fewer actions than the least of them has fewer steps than that, too.
    """
    by_length = {int(steps): actions for steps, actions in instance["ops_by_plan_length"].items()}
    least = min(by_length.values())
    if least - 1 > max(by_length):
        return None
    return min(steps for steps, actions in by_length.items() if actions == least), least


EACH = pytest.mark.parametrize("instance", INSTANCES, ids=[instance["id"] for instance in INSTANCES])


def proven(instance: dict[str, Any], limits: Limits) -> Found:
    init, target = (frozenset(pair(*link) for link in instance[name]) for name in ("init", "target"))
    problem = Problem(tuple(f"b{at}" for at in range(instance["n"])), init, target)
    found = exact(problem, limits, Watch(60))
    assert isinstance(found, Found)
    assert found.bounds == (len(found.steps), sum(map(len, found.steps)))
    return found


@EACH
def test_fewest_steps_and_then_fewest_actions_are_the_published_planners(instance: dict[str, Any]) -> None:
    assert proven(instance, Limits()).bounds == (instance["min_steps"], instance["ops_at_min_steps"])


@pytest.mark.parametrize(
    "instance", [pytest.param(one, id=one["id"]) for one in INSTANCES if least_actions(one) is not None]
)
def test_fewest_actions_are_the_published_planners(instance: dict[str, Any]) -> None:
    assert proven(instance, Limits(minimise="actions")).bounds == least_actions(instance)
