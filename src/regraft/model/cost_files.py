"""Action costs C_a in a file (IPITT §V): by operation, and for single actions.

    {"shift": 1, "append": 4, "actions": [{"action": ["shift", "b1", "b2", "b3"], "cost": 7}]}

Costs are whole numbers. An operation or action that the file does not mention costs 1. So an unknown name is
refused, not ignored: a mistyped operation would silently cost 1.
"""

from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import a_list, a_whole_number, an_object, brief, only, required
from regraft.model.files import read_json
from regraft.model.limits import ActionCosts
from regraft.model.plan import Action
from regraft.model.plan_files import ARGUMENTS, action_from

MOST = 1_000_000_000
"""Above this, sums of costs could leave the range in which the solvers count exactly."""


def read_costs(path: str | Path) -> ActionCosts:
    return read_json(path, costs_from)


def costs_from(document: Any) -> ActionCosts:
    whole = an_object(document, "")
    by_operation: dict[str, int] = {}
    for key, value in whole.items():
        if key in ARGUMENTS:
            by_operation[key] = a_whole_number(value, key, 0, MOST)
        elif key != "actions":
            raise BadInput(brief(key), f"unknown operation; known are {', '.join(ARGUMENTS)}, and 'actions'")
    by_action: dict[Action, int] = {}
    for index, item in enumerate(a_list(whole.get("actions", []), "actions")):
        place = f"actions[{index}]"
        only(an_object(item, place), ("action", "cost"), place)
        action = action_from(required(item, "action", place), f"{place}.action")
        if action in by_action:
            raise BadInput(place, f"the cost of {action} is given twice")
        by_action[action] = a_whole_number(required(item, "cost", place), f"{place}.cost", 0, MOST)
    return ActionCosts(by_action, by_operation)
