"""Plans as values: actions, steps, what is proven about them, and the 'no' that replaces them.

The file format is the public one: `{"kind", "initial", "goal", "steps", "planner", "bounds",
"sha256"}`. `sha256` covers everything that the deployer acts on (kind, initial, goal, steps), so that what is
executed is what was approved.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from regraft.model.topology import Kind


class Action(NamedTuple):
    """One operation on named brokers, e.g. `Action("shift", ("b4", "b2", "b1"))`.

    | operation | arguments | means |
    |---|---|---|
    | shift | i, j, k | link i-j becomes i-k; j-k is there and stays (the guard) |
    | append | i, j | new broker i is linked to j |
    | detach | i, j | leaf broker i is unlinked from j and leaves |
    | link | i, j | mesh: the link i-j is added |
    | unlink | i, j | mesh: the link i-j is removed |
    """

    operation: str
    brokers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operation}({', '.join(self.brokers)})"


Step = tuple[Action, ...]
"""Actions that may run at the same time, in any order."""


class Bounds(NamedTuple):
    """Proven lower bounds on any plan for the same task and limits, over all actions.

    The second objective's bound holds among plans that are best in the first: when steps are
    minimised first, `actions` bounds the plans with as few steps as this one.
    """

    steps: int
    actions: int


class Proof(NamedTuple):
    """What a solver proved when it was given only the actions of the set `over`."""

    over: str
    steps: int
    actions: int


@dataclass(frozen=True)
class Plan:
    """A frozen sequence of steps from one topology to another, each named by its sha256."""

    kind: Kind
    initial: str
    goal: str
    steps: tuple[Step, ...]
    planner: str
    bounds: Bounds
    proof: Proof | None = None

    @property
    def actions(self) -> int:
        return sum(len(step) for step in self.steps)

    @property
    def optimal(self) -> bool:
        """Steps and actions both meet their proven lower bounds."""
        return (len(self.steps), self.actions) == self.bounds

    @cached_property
    def sha256(self) -> str:
        acted_on = {
            key: value for key, value in self.as_json().items() if key in ("kind", "initial", "goal", "steps")
        }
        text = json.dumps(acted_on, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The document without its own hash; `plan_files` adds it."""
        return {
            "kind": self.kind,
            "initial": self.initial,
            "goal": self.goal,
            "steps": [[[action.operation, *action.brokers] for action in step] for step in self.steps],
            "planner": self.planner,
            "bounds": self.bounds._asdict(),
            "proof": self.proof._asdict() if self.proof else None,
        }


@dataclass(frozen=True)
class Infeasible:
    """No plan: `limit` names the limit that is in the way, `where` the broker or link.

    `proven` tells "there is none" from "none was found within the limits".
    """

    reason: str
    limit: str | None = None
    where: str | None = None
    proven: bool = False
