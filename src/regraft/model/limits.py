"""What a user may ask of a plan: what is minimised, and within which limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regraft.model.plan import Action

Minimise = Literal["steps", "actions", "time", "cost"]
TREE_OPERATIONS = ("shift", "append", "detach", "move")
DEFAULT_OPERATIONS = frozenset({"shift", "append", "detach"})


@dataclass(frozen=True)
class ActionCosts:
    """C_a of IPITT §V, in whole numbers: by exact action, else by operation, else 1."""

    by_action: Mapping[Action, int] = field(default_factory=dict)
    by_operation: Mapping[str, int] = field(default_factory=dict)

    def of(self, action: Action) -> int:
        return self.by_action.get(action, self.by_operation.get(action.operation, 1))


@dataclass(frozen=True)
class Limits:
    """Limits that every plan keeps; the planners must respect them and `verify` checks them.

    `max_degree` holds during the whole transformation, in whatever order the actions of a step
    run: degree before the step plus links added in the step. `exclusive` forbids that a broker takes part in
    two actions of one step. `operations` are those that a planner may use; a plan holds a `move` as the
    shifts that carry it out.
    """

    minimise: Minimise = "steps"
    operations: frozenset[str] = DEFAULT_OPERATIONS
    max_degree: int | None = None
    exclusive: bool = False
    costs: ActionCosts = ActionCosts()
    time_limit: float = 2.0
    threads: int = 2
    seed: int = 0
