"""Plans in files: the public JSON format, with the hash that binds approval to execution.

Reading checks the shape of everything and that `sha256` is that of the content: a plan that was
edited after it was written is refused.
"""

import json
import re
from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import a_list, a_text, a_whole_number, an_id, an_object, brief, only, required
from regraft.model.files import read_json, write_text
from regraft.model.plan import Action, Bounds, Plan, Proof, Step
from regraft.model.topology import Kind
from regraft.model.topology_json import kind_from

ARGUMENTS = {"shift": 3, "append": 2, "detach": 2, "link": 2, "unlink": 2}
"""How many brokers each operation names."""
_OF_KIND = {"tree": {"shift", "append", "detach"}, "mesh": {"link", "unlink", "append", "detach"}}
_MOST = 2**53
_FIELDS = ("kind", "initial", "goal", "steps", "planner", "bounds", "proof", "sha256")


def read_plan(path: str | Path) -> Plan:
    """The plan in a file; `BadInput` names the field, or says that the content was changed."""
    return read_json(path, plan_from)


def plan_from(document: Any) -> Plan:
    whole = an_object(document, "")
    if "links" in whole and "steps" not in whole:
        raise BadInput("", "is a topology, not a plan")
    only(whole, _FIELDS)
    kind = kind_from(required(whole, "kind"), "kind")
    steps = a_list(required(whole, "steps"), "steps")
    plan = Plan(
        kind=kind,
        initial=_sha256(required(whole, "initial"), "initial"),
        goal=_sha256(required(whole, "goal"), "goal"),
        steps=tuple(_step(step, kind, f"steps[{index}]") for index, step in enumerate(steps)),
        planner=a_text(required(whole, "planner"), "planner"),
        bounds=Bounds(*_sizes(required(whole, "bounds"), "bounds")),
        proof=_proof(whole.get("proof")),
    )
    if _sha256(required(whole, "sha256"), "sha256") != plan.sha256:
        raise BadInput("sha256", "is not that of the content: the plan was changed after it was written")
    return plan


def write_plan(plan: Plan, path: str | Path) -> None:
    """One step per line, atomically."""
    write_text(Path(path), plan_text(plan))


def plan_text(plan: Plan) -> str:
    document = plan.as_json() | {"sha256": plan.sha256}
    lines = []
    for key, value in document.items():
        if key == "steps" and value:
            steps = ",\n    ".join(json.dumps(step, ensure_ascii=False) for step in value)
            lines.append(f'"steps": [\n    {steps}\n  ]')
        else:
            lines.append(f'"{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def action_from(item: Any, place: str) -> Action:
    """`["shift", "b4", "b2", "b1"]` as an action, with as many brokers as the operation takes."""
    operation, *brokers = a_list(item, place) or [None]
    if not isinstance(operation, str) or operation not in ARGUMENTS:
        raise BadInput(place, f"unknown operation {brief(operation)}; known are {', '.join(ARGUMENTS)}")
    if len(brokers) != ARGUMENTS[operation]:
        raise BadInput(place, f"{operation} takes {ARGUMENTS[operation]} brokers, not {len(brokers)}")
    return Action(operation, tuple(an_id(id, f"{place}[{index}]") for index, id in enumerate(brokers, 1)))


def _step(step: Any, kind: Kind, place: str) -> Step:
    actions = tuple(action_from(item, f"{place}[{index}]") for index, item in enumerate(a_list(step, place)))
    for index, action in enumerate(actions):
        if action.operation not in _OF_KIND[kind]:
            raise BadInput(f"{place}[{index}]", f"{action.operation} is not an operation on a {kind}")
    return actions


def _sha256(value: Any, place: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", a_text(value, place)):
        raise BadInput(place, "must be a sha256: 64 digits 0-9 and a-f")
    return str(value)


def _sizes(value: Any, place: str) -> tuple[int, int]:
    sizes = an_object(value, place)
    steps = a_whole_number(required(sizes, "steps", place), f"{place}.steps", 0, _MOST)
    return steps, a_whole_number(required(sizes, "actions", place), f"{place}.actions", 0, _MOST)


def _proof(value: Any) -> Proof | None:
    if value is None:
        return None
    over = a_text(required(an_object(value, "proof"), "over", "proof"), "proof.over")
    return Proof(over, *_sizes(value, "proof"))
