"""The result of a run: when each action happened, how long it took, and what canaries saw meanwhile.

The file format (`as_json`) is public. Times are seconds since 1970, durations seconds, latencies
milliseconds.
"""

from dataclasses import asdict, dataclass
from typing import Any

from regraft.model.topology import Topology


@dataclass(frozen=True)
class ActionOutcome:
    """One action. `seconds` are from its beginning, with all attempts, until all brokers had finished it."""

    step: int
    action: tuple[str, ...]
    changes: int
    """How many changes of links the action consists of."""
    state: str
    attempts: int
    """How many attempts its last change took."""
    begun: float | None
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True)
class StepOutcome:
    """One step. `queue_bytes` is what the brokers that took part held at its beginning."""

    step: int
    actions: int
    seconds: float | None
    queue_bytes: int | None = None
    most_queue_bytes: int | None = None

    @property
    def queue_growth(self) -> int | None:
        if self.queue_bytes is None or self.most_queue_bytes is None:
            return None
        return self.most_queue_bytes - self.queue_bytes


@dataclass(frozen=True)
class CanaryOutcome:
    """Numbered events that were sent through the overlay while it changed, counted at every subscriber."""

    publisher: str
    subscribers: tuple[str, ...]
    published: int
    delivered: int
    lost: int
    duplicated: int
    reordered: int
    p50_ms: float | None
    p99_ms: float | None

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.reordered)


@dataclass(frozen=True)
class Outcome:
    """How one run ended. `goal`: whether the topology is the one that the run was to reach."""

    run: str
    plan: str
    back: bool
    state: str
    reason: str
    seconds: float
    steps: tuple[StepOutcome, ...]
    actions: tuple[ActionOutcome, ...]
    canaries: CanaryOutcome | None
    no_canaries: str
    """Why there were no canaries; empty if there were."""
    epoch: int
    topology: Topology
    goal: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "plan": self.plan,
            "back": self.back,
            "state": self.state,
            "reason": self.reason,
            "seconds": round(self.seconds, 6),
            "steps": [asdict(step) | {"queue_growth": step.queue_growth} for step in self.steps],
            "actions": [asdict(action) for action in self.actions],
            "canaries": asdict(self.canaries) if self.canaries else None,
            "no_canaries": self.no_canaries,
            "epoch": self.epoch,
            "goal": self.goal,
            "sha256": self.topology.sha256,
            "topology": {
                "kind": self.topology.kind,
                "brokers": list(self.topology.ids),
                "links": [list(link.ends) for link in self.topology.links],
            },
        }
