"""Numbers of the loop for Prometheus: name without prefix → (counter or gauge, help, value)."""

from collections.abc import Mapping

from regraft.loop.state import State
from regraft.serve import views as v

Metrics = Mapping[str, tuple[str, str, float]]


def metrics(
    state: State, snapshot: v.SnapshotView | None, decided: Mapping[str, int], steps: int, now: float
) -> Metrics:
    """`decided`: how many decisions of each kind there were since the start."""
    found: dict[str, tuple[str, str, float]] = {
        "steps_total": ("counter", "Events that the loop has taken.", steps),
        "degraded": ("gauge", "1 while a part fails and the loop only observes.", bool(state.failing)),
        "paused": ("gauge", "1 while somebody has paused it.", state.paused is not None),
        "deploying": ("gauge", "1 while a plan is carried out.", state.phase == "deploying"),
        "proposal_waiting": (
            "gauge",
            "1 while a proposal waits.",
            state.proposal is not None and not state.proposal.observed,
        ),
        "windows_judged_total": ("counter", "Windows judged.", decided.get("judged", 0)),
        "proposals_total": ("counter", "Plans proposed.", decided.get("proposed", 0)),
        "deployments_total": ("counter", "Plans carried out.", decided.get("deployed", 0)),
        "deployments_failed_total": (
            "counter",
            "Runs that did not reach their goal.",
            decided.get("failed", 0),
        ),
        "failures_total": ("counter", "Times that a part has failed.", decided.get("degraded", 0)),
    }
    if state.epoch is not None:
        found["topology_epoch"] = ("gauge", "Of the topology.", state.epoch)
    if snapshot is not None:
        found |= _of_window(snapshot, now)
    return {name: (kind, help, float(value)) for name, (kind, help, value) in found.items()}


def _of_window(snapshot: v.SnapshotView, now: float) -> dict[str, tuple[str, str, float]]:
    found: dict[str, tuple[str, str, float | None]] = {
        "measure_seconds": ("gauge", "That the last measurement took.", snapshot.seconds),
        "window_age_seconds": ("gauge", "Since the last measured window ended.", now - snapshot.end),
        "window_publications": ("gauge", "Publications of the last window.", snapshot.publications),
        "window_deliveries": ("gauge", "Deliveries of the last window.", snapshot.deliveries),
        "routing_cost": ("gauge", "Of the last window.", snapshot.numbers.get("routing_cost")),
        "latency_p99_ms": ("gauge", "Of deliveries in the last window.", snapshot.p99_ms),
    }
    return {name: (kind, help, value) for name, (kind, help, value) in found.items() if value is not None}
